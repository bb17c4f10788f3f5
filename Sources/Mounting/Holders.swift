// Who keeps a view from being unmounted.
internal import LinuxKit
internal import Paths

/// The processes that use a view.
enum Holders {
  /// Those that use one of these mounts, as far as the caller may look.
  static func ofMounts(_ mounts: [MountEntry]) -> [RunningProcess] {
    guard let device = mounts.first?.device else { return [] }
    let ids = Set(mounts.map(\.id))
    // The number of one that was unmounted meanwhile may be that of a stranger's.
    return find(device) { ids.contains($0.mount) && $0.device == device }
  }

  /// Those that use a file system, through whatever mount.
  static func ofFileSystem(_ device: DeviceNumber) -> [RunningProcess] {
    find(device) { $0.device == device }
  }

  /// `123 (bash), 456 (vim)`: at most eight of them.
  ///
  /// The caller itself, whose input or output may be there, is called so.
  static func list(_ processes: [RunningProcess]) -> String {
    let own = RunningProcess.current.pid
    let shown = processes.prefix(8).map { process in
      let remark = process.pid == own ? ", this command" : ""
      return "\(process.pid) (\(process.name.printable)\(remark))"
    }
    let more = processes.count - shown.count
    return shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  private static func find(
    _ device: DeviceNumber, where isMeant: (MountIdentity) -> Bool
  ) -> [RunningProcess] {
    RunningProcess.all().filter { $0.uses(where: isMeant, mapping: device) }
  }
}
