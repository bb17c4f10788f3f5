// What is mounted, for `sandboxfs status`.
public import LinuxKit

/// One mount of a view, as it is found on the machine.
public struct ViewReport: Equatable, Sendable {
  /// How a view's daemon is.
  public enum Health: String, Sendable {
    /// It answers.
    case answering
    /// It runs, and does not answer.
    case silent
    /// It is gone: every use of the view fails with ENOTCONN.
    case dead
  }

  /// The container's identifier, or what was given as the source if no daemon can be asked.
  public let identifier: [UInt8]
  /// Where the view is.
  public let target: [UInt8]
  /// Its file system: all mounts of one container have the same.
  public let device: DeviceNumber
  /// Its daemon; nil if it is gone, does not answer, or is another user's.
  public let daemon: Int32?
  /// What it says about itself; nil if it does not.
  public let status: DaemonStatus?
  /// Whether this mount can be written to.
  public let isReadOnly: Bool
  /// The bundle's mount; nil if there is none, as in a user's view.
  public let bundleTarget: [UInt8]?
  /// `intact` or `modified`, `absent` if the bundle has no seal; nil if no daemon can be asked.
  public let seal: [UInt8]?
  /// How the daemon is.
  public let health: Health
  /// How many messages about refusals the system's log did not take; nil if the daemon can't be
  /// asked.
  public let unsentCount: Int?
}

extension ViewMounts {
  /// All views that are mounted in the caller's namespace, in the order in which they were.
  public static func list() throws(MountError) -> [ViewReport] {
    let table = try readMountTable()
    let daemons = RunningDaemon.all()
    return table.entries.filter(\.isWholeView).map { entry in
      let daemon = daemons.first { $0.status?.device == entry.device }
      return ViewReport(
        identifier: daemon?.identifier ?? entry.source, target: entry.mountPoint,
        device: entry.device, daemon: daemon?.process.pid, status: daemon?.status,
        isReadOnly: entry.has("ro") || entry.superHas("ro"),
        bundleTarget: table.children(of: entry).first { $0.isBundle(of: entry) }?.mountPoint,
        seal: daemon?.status?.seal, health: health(of: entry, daemon),
        unsentCount: daemon?.status?.unsentCount)
    }
  }

  private static func health(of entry: MountEntry, _ daemon: RunningDaemon?) -> ViewReport.Health {
    if daemon?.status != nil { return .answering }
    // Another user's daemon cannot be asked, but the view can.
    return switch isDead(entry.mountPoint, withinMilliseconds: 1000) {
    case nil: .silent
    case true: .dead
    case false: .answering
    }
  }
}
