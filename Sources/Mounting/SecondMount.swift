// Each further mount of a container: a copy of its view's mount, wherever that is.
internal import Containers
internal import LinuxKit
internal import Paths

extension ViewMounts {
  /// Copies the view that a daemon serves to another place.
  ///
  /// nil if its view is mounted nowhere: then the daemon is about to end.
  static func mountAgain(
    _ status: DaemonStatus, _ configuration: ViewConfiguration, at target: MountTarget,
    _ settings: MountSettings
  ) throws(MountError) -> MountedView? {
    guard let original = try copyable(status, configuration, at: target, settings) else {
      return nil
    }
    try attachCopy(of: original, at: target, settings)
    do throws(MountError) {
      let view = try openView(status.device, at: target)
      let remark = try complete(view, configuration, at: target, settings, status)
      return MountedView(
        target: target.path, device: status.device, status: status, isFirst: false,
        remark: remark)
    } catch {
      target.takeDown(configuration)
      throw error
    }
  }

  /// The mount that a copy would be made of; nil if the view is mounted nowhere.
  ///
  /// Throws if there can't be a copy of it there.
  static func copyable(
    _ status: DaemonStatus, _ configuration: ViewConfiguration, at target: MountTarget,
    _ settings: MountSettings
  ) throws(MountError) -> Original? {
    if let here = try readMountTable().topmost(at: target.path), here.device == status.device {
      throw MountError(
        .failed, "\(configuration.identifier.printable) is already mounted at \(target.name)")
    }
    guard let original = try findView(status) else { return nil }
    if configuration.transport == .fusermount || status.isUsers {
      throw MountError(
        .failed,
        "\(configuration.identifier.printable) is already mounted at "
          + "\(original.entry.mountPoint.printable), and an ordinary user's view has one place: "
          + "unmount it first")
    }
    try checkFileSystem(original.entry, settings)
    return original
  }

  /// A mount of a view, and a process in whose namespace it is; nil for our own.
  struct Original {
    let entry: MountEntry
    let process: Int32?
  }

  /// A mount of the whole view: ours if there is one, else the daemon's or anybody's.
  static func findView(_ status: DaemonStatus) throws(MountError) -> Original? {
    try findMount(of: status) { $0.isWholeView }
  }

  /// A mount of a part of the view, which somebody has bound: from it there is no way to the whole.
  static func findPart(_ status: DaemonStatus) throws(MountError) -> Original? {
    try findMount(of: status) { !$0.isWholeView }
  }

  private static func findMount(
    of status: DaemonStatus, where isWanted: (MountEntry) -> Bool
  ) throws(MountError) -> Original? {
    func find(_ table: MountTable) -> MountEntry? {
      table.entries.last { $0.device == status.device && isWanted($0) }
    }
    if let entry = find(try readMountTable()) { return Original(entry: entry, process: nil) }
    for process in [status.pid] + RunningProcess.all().map(\.pid) {
      if let table = try? MountTable.read(of: process), let entry = find(table) {
        return Original(entry: entry, process: process)
      }
    }
    return nil
  }

  /// What holds for the whole file system cannot differ from mount to mount.
  private static func checkFileSystem(
    _ entry: MountEntry, _ settings: MountSettings
  ) throws(MountError) {
    let wishes: [(StaticString, Bool)] = [
      ("sync", settings.synchronous), ("dirsync", settings.synchronousDirectories),
      ("lazytime", settings.lazyTimes),
    ]
    for (option, isWished) in wishes where isWished && !entry.superHas(option) {
      throw MountError(
        .failed,
        "'\(option)' holds for all mounts of a container, and it is mounted without it at "
          + "\(entry.mountPoint.printable)")
    }
  }

  private static func attachCopy(
    of original: Original, at target: MountTarget, _ settings: MountSettings
  ) throws(MountError) {
    do throws(Errno) {
      let place = try Descriptor.place(target.path)
      if let process = original.process {
        try attach(copyFrom: original.entry, namespaceOf: process, settings, on: place)
      } else {
        try clone(original.entry, settings).attach(on: place)
      }
    } catch {
      throw MountError(
        .failed,
        "cannot bind the view from \(original.entry.mountPoint.printable) to \(target.name)", error)
    }
  }

  private static func attach(
    copyFrom entry: MountEntry, namespaceOf process: Int32, _ settings: MountSettings,
    on place: borrowing Descriptor
  ) throws(Errno) {
    let copy = Box()
    try withMountNamespace(of: process) { () throws(Errno) in
      copy.tree = try clone(entry, settings)
    }
    guard let tree = copy.tree.take() else { throw .stale }
    try tree.attach(on: place)
  }

  /// A copy of the mount at its place, if it is still there and nothing is mounted over it.
  private static func clone(
    _ entry: MountEntry, _ settings: MountSettings
  ) throws(Errno) -> MountTree {
    let root = try Descriptor.place(entry.mountPoint)
    guard try MountIdentity(root).device == entry.device else { throw .stale }
    let tree = try MountTree.clone(root)
    try tree.change(setting: settings.attributes, clearing: MountSettings.decided)
    return tree
  }

  /// Carries the tree out of the thread that made it.
  private final class Box {
    var tree: MountTree?
  }
}
