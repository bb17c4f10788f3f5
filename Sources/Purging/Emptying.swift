// Removing all that goes on an occasion when no process of the app lives: at exit, at a restore, or
// when a person wants everything to go that may.
public import LinuxKit
public import Policy

/// What stays where all else goes.
public enum SparedEntries: Sendable {
  /// Nothing.
  case none
  /// Regular files, and the directories that hold them.
  case files
}

extension Walker {
  /// Removes below this directory, the root of a container's data or of its view, all that its
  /// rules let go on one of the occasions, directories too; the number of entries that are gone.
  ///
  /// What always exists stays. Links are removed and never followed.
  @discardableResult
  public borrowing func removeWhatGoes(
    on occasions: PurgeOccasions, _ policy: PolicyEngine, sparing spared: SparedEntries = .none
  ) throws(Errno) -> Int {
    var total = 0
    while true {
      var emptying = Emptying(policy: policy, occasions: occasions, spared: spared)
      try visitTree(&emptying)
      total += emptying.removed
      // Some file systems skip entries when others vanish while they are read.
      if emptying.leftovers == 0 || emptying.removed == 0 { return total }
    }
  }
}

private struct Emptying: TreeVisitor {
  private let occasions: PurgeOccasions
  private let spared: SparedEntries
  private var place: ZonePath
  private(set) var removed = 0
  private(set) var leftovers = 0

  init(policy: PolicyEngine, occasions: PurgeOccasions, spared: SparedEntries) {
    self.spared = spared
    place = ZonePath(policy)
    self.occasions = occasions
  }

  private func goes(_ name: [UInt8]) -> Bool {
    let attributes = place.policy.attributes(of: place.zone(of: name))
    return !attributes.isStructural && !attributes.isBundle
      && !attributes.purge.isDisjoint(with: occasions) && place.names + [name] != CacheTag.path
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    do throws(Errno) {
      if entry.kind == .directory {
        let zone = place.zone(of: entry.name)
        let attributes = place.policy.attributes(of: zone)
        if attributes.isBundle { return false }
        let mayGo = !attributes.purge.isDisjoint(with: occasions)
        guard mayGo || !place.policy.isUniform(below: zone) else { return false }
        try directory.openUp(entry.name)
        return true
      }
      guard goes(entry.name), entry.kind != .regular || spared == .none else { return false }
      try directory.removeFile(entry.name)
      removed += 1
    } catch {
      // It is gone, or has become another kind, since the directory was read.
      if error != .noEntry, error != .notDirectory { throw error }
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    place.enter(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    place.leave()
    guard goes(name) else { return }
    do throws(Errno) {
      try parent.removeDirectory(name)
      removed += 1
    } catch {
      if error == .notEmpty { leftovers += 1 } else if error != .noEntry { throw error }
    }
  }
}
