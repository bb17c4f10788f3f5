// What the kernel refuses by the mounts of a view, before the daemon is asked: no rule can allow
// it, and nothing of it is logged.
//
// The order of these questions is the kernel's: the directories on the way are looked up first,
// then come the checks of the mount, and only then what is at the path.

import Paths

/// Why the kernel refuses by itself.
public enum MountRefusal: Sendable, CaseIterable {
  /// Outside of the bundle the view is mounted noexec.
  case noExecution
  /// The bundle's mount is read-only.
  case readOnly
  /// The bundle is a mount point.
  case mountPoint
  /// The bundle is a mount of its own, and no name moves from one mount to another.
  case otherMount

  /// The errno's name.
  public var errnoName: String {
    switch self {
    case .noExecution: "EACCES"
    case .readOnly: "EROFS"
    case .mountPoint: "EBUSY"
    case .otherMount: "EXDEV"
    }
  }

  /// Why, in words that stand alone.
  public var reason: String {
    switch self {
    case .noExecution: "outside of the bundle the view is mounted noexec"
    case .readOnly: "the bundle's mount is read-only"
    case .mountPoint: "the bundle is a mount point"
    case .otherMount: "the bundle is a mount of its own"
    }
  }
}

extension PolicyEngine {
  /// How the kernel refuses what is asked, before the policy is; nil where it does not.
  ///
  /// `isNoExec` says whether the view is mounted noexec: root's views are, and all inside of
  /// `sandboxfs run`, unless `executesBesidesBundles`.
  public func refusalByMount(of question: Question, isNoExec: Bool) -> MountRefusal? {
    let paths = [question.path] + (question.secondPath.map { [$0] } ?? [])
    guard paths.allSatisfy({ explainHiddenDirectory(above: $0) == nil }) else { return nil }
    let first = place(of: question.path)
    let isHidden = self[zone(of: question.path)].flags.contains(.hidden)
    switch question.operation {
    case .lookup, .readAttributes, .list, .read: return nil
    case .exec: return !isHidden && isNoExec && first == .outside ? .noExecution : nil
    case .write, .append, .setattr: return !isHidden && first != .outside ? .readOnly : nil
    case .create: return first == .inside ? .readOnly : nil
    case .remove: return first.refusalOfRemoval
    case .rename, .exchange, .link:
      guard let second = question.secondPath.map(place) else { return first.refusalOfRemoval }
      return question.operation == .link
        ? refusalOfLinking(first, second, isHidden) : refusalOfMoving(first, second, isHidden)
    }
  }

  private func refusalOfMoving(
    _ first: BundlePlace, _ second: BundlePlace, _ isHidden: Bool
  ) -> MountRefusal? {
    guard (first == .inside) == (second == .inside) else { return .otherMount }
    if first == .inside { return .readOnly }
    guard !isHidden else { return nil }
    return first == .root || second == .root ? .mountPoint : nil
  }

  private func refusalOfLinking(
    _ first: BundlePlace, _ second: BundlePlace, _ isHidden: Bool
  ) -> MountRefusal? {
    guard !isHidden else { return nil }
    if second == .inside { return .readOnly }
    return first == .outside ? nil : .otherMount
  }

  private func place(of path: ViewPath) -> BundlePlace {
    let flags = self[zone(of: path)].flags
    guard flags.contains(.bundle) else { return .outside }
    return flags.contains(.structural) ? .root : .inside
  }
}

/// Where a path is, as seen from the bundle.
private enum BundlePlace {
  case outside, root, inside

  var refusalOfRemoval: MountRefusal? {
    switch self {
    case .outside: nil
    case .root: .mountPoint
    case .inside: .readOnly
    }
  }
}
