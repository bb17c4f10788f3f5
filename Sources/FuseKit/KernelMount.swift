// Mounting /dev/fuse by mount(2), for a process with CAP_SYS_ADMIN.
internal import Glibc
public import LinuxKit

/// The connection to the kernel before it is mounted, and the mount.
public enum KernelMount {
  /// The file system type that mount tables show.
  public static let type = "fuse.sandboxfs"

  /// Opens /dev/fuse and mounts it on `target`; the open device.
  ///
  /// nosuid, nodev and noexec are always set, `flags` are MS_* beyond them; whoever asked for the
  /// mount may lift noexec. The kernel checks
  /// permissions by modes and owners, and lets every user in.
  public static func mount(
    source: [UInt8], target: [UInt8], flags: UInt64
  ) throws(Errno) -> Descriptor {
    let device = try Descriptor.open("/dev/fuse", O_RDWR)
    let options =
      "fd=\(device.rawValue),rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
    let always = UInt64(MS_NOSUID | MS_NODEV | MS_NOEXEC)
    try mountFileSystem(
      type, source: source, target: target, flags: always | flags, options: options)
    return device
  }
}
