// A view that is mounted, as who asked for it gets to know it.
public import LinuxKit

/// A mounted view.
public struct MountedView: Equatable, Sendable {
  /// The canonical path of its root.
  public let target: [UInt8]
  /// Its file system: all mounts of one container have the same.
  public let device: DeviceNumber
  /// What its daemon has said of itself.
  public let status: DaemonStatus
  /// Its daemon.
  public var daemon: Int32 { status.pid }
  /// Whether this is the container's first mount, for which the daemon was started.
  public let isFirst: Bool
  /// What is wrong although it is mounted, such as that umount(8) will not know of its bundle.
  public let remark: MountError?
  /// What one should know of the bundle's seal; nil if it is as it was installed, or nobody asked.
  public internal(set) var sealWarning: String?
}
