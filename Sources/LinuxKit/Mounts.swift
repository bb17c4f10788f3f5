// Mounts by descriptor: a tree that was cloned from one place is given its attributes while it
// is nowhere, and then attached in one step, so no path is walked twice and no state in between
// can be seen.
internal import CLinux
internal import Glibc

/// What a mount, unlike the file system in it, may have for itself.
public struct MountAttributes: OptionSet, Hashable, Sendable {
  /// The bits, as in mount_setattr(2); the first four are mount(2)'s too.
  public let rawValue: UInt64

  /// Attributes by their bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Nothing in it can be changed.
  public static let readOnly = Self(rawValue: CLINUX_MOUNT_ATTR_RDONLY)
  /// Set-id bits and file capabilities have no effect.
  public static let noSetID = Self(rawValue: CLINUX_MOUNT_ATTR_NOSUID)
  /// Device nodes cannot be opened.
  public static let noDevices = Self(rawValue: CLINUX_MOUNT_ATTR_NODEV)
  /// Nothing can be executed, or mapped for it.
  public static let noExec = Self(rawValue: CLINUX_MOUNT_ATTR_NOEXEC)
  /// Reading does not change the time of access.
  public static let noAccessTime = Self(rawValue: CLINUX_MOUNT_ATTR_NOATIME)
  /// Each read changes the time of access.
  public static let strictAccessTime = Self(rawValue: CLINUX_MOUNT_ATTR_STRICTATIME)
  /// Reading a directory does not change its time of access.
  public static let noDirectoryAccessTime = Self(rawValue: CLINUX_MOUNT_ATTR_NODIRATIME)
  /// Symbolic links are not followed.
  public static let noSymlinkFollowing = Self(rawValue: CLINUX_MOUNT_ATTR_NOSYMFOLLOW)

  /// All that say when reading changes the time of access; without any of them it is relatime.
  ///
  /// They exclude each other, so a change must clear all.
  public static let accessTimes = Self(rawValue: CLINUX_MOUNT_ATTR_ATIME)
}

/// What mount(2) may be asked for, as its MS_ flags.
public struct MountFlags: OptionSet, Sendable {
  /// The bits, as in mount(2).
  public let rawValue: UInt64

  /// Flags by their bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Nothing in it can be changed.
  public static let readOnly = Self(rawValue: CLINUX_MS_RDONLY)
  /// Nothing can be executed, or mapped for it.
  public static let noExecution = Self(rawValue: CLINUX_MS_NOEXEC)
  /// Each write is on the disk before it returns.
  public static let synchronous = Self(rawValue: CLINUX_MS_SYNCHRONOUS)
  /// Each change of a directory is on the disk before it returns.
  public static let synchronousDirectories = Self(rawValue: CLINUX_MS_DIRSYNC)
  /// Reading does not change the time of access.
  public static let noAccessTime = Self(rawValue: CLINUX_MS_NOATIME)
  /// Times reach the disk late.
  public static let lazyTimes = Self(rawValue: CLINUX_MS_LAZYTIME)
}

/// Which mount a file is in, and in which file system.
public struct MountIdentity: Hashable, Sendable {
  /// The mount's number, as in mountinfo.
  public let mount: UInt64
  /// The file system.
  public let device: DeviceNumber

  /// Looks at an open file, without asking its file system.
  public init(_ file: borrowing Descriptor) throws(Errno) {
    self = try Self.of(directory: file.rawValue, path: "", following: true)
  }

  /// Looks at what a path leads to, without asking its file system for more than the names.
  public init(path: String) throws(Errno) {
    self = try Self.of(directory: AT_FDCWD, path: path, following: true)
  }

  private init(mount: UInt64, device: DeviceNumber) {
    self.mount = mount
    self.device = device
  }

  private static func of(
    directory: CInt, path: String, following: Bool
  ) throws(Errno) -> MountIdentity {
    var (mount, major, minor) = (UInt64(0), UInt32(0), UInt32(0))
    try retrying {
      clinux_mount_identity(directory, path, following ? 1 : 0, &mount, &major, &minor)
    }
    return MountIdentity(mount: mount, device: DeviceNumber(major: major, minor: minor))
  }
}

/// A mount tree that is attached nowhere; it vanishes with its owner.
public struct MountTree: ~Copyable {
  private let descriptor: Descriptor

  private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// A copy of the part of a mount that begins at the open `directory`, without the mounts on it.
  public static func clone(_ directory: borrowing Descriptor) throws(Errno) -> MountTree {
    let raw = directory.rawValue
    let flags = CLINUX_OPEN_TREE_CLONE | UInt32(AT_EMPTY_PATH)
    return MountTree(Descriptor(owning: try retrying { clinux_open_tree(raw, "", flags) }))
  }

  /// Gives and takes attributes, and cuts the tree off from the propagation of its original.
  public borrowing func change(
    setting set: MountAttributes = [], clearing clear: MountAttributes = []
  ) throws(Errno) {
    // Without this the copy would be the original's peer: what is unmounted in one would vanish
    // from the other.
    try setAttributes(descriptor, set, clear, CLINUX_MS_PRIVATE)
  }

  /// Attaches the tree on top of an open directory.
  public consuming func attach(on directory: borrowing Descriptor) throws(Errno) {
    let (tree, target) = (descriptor.rawValue, directory.rawValue)
    try retrying { clinux_move_mount(tree, target) }
  }
}

extension Descriptor {
  /// Gives attributes to the mount that this directory is the root of, and takes others.
  ///
  /// Throws EINVAL if it is not the root of a mount.
  public borrowing func changeMount(
    setting set: MountAttributes = [], clearing clear: MountAttributes = []
  ) throws(Errno) {
    try setAttributes(self, set, clear, 0)
  }
}

private func setAttributes(
  _ mount: borrowing Descriptor, _ set: MountAttributes, _ clear: MountAttributes,
  _ propagation: UInt64
) throws(Errno) {
  let raw = mount.rawValue
  try retrying { clinux_mount_setattr(raw, 0, set.rawValue, clear.rawValue, propagation) }
}

/// How to unmount.
public struct UnmountFlags: OptionSet, Sendable {
  /// The bits, as in umount2(2).
  public let rawValue: CInt

  /// Flags by their bits.
  public init(rawValue: CInt) { self.rawValue = rawValue }

  /// Now from the tree of names, and in truth when nobody uses it any more.
  public static let detach = Self(rawValue: CLINUX_MNT_DETACH)
  /// Cuts the connection to whoever serves it: what is under way fails.
  public static let force = Self(rawValue: CLINUX_MNT_FORCE)
}

/// Unmounts what is on top at `path`, whose last component is not followed.
///
/// Throws EBUSY if it is in use, and EINVAL if it is not a mount point.
public func unmount(_ path: [UInt8], _ flags: UnmountFlags = []) throws(Errno) {
  try path.withCPath { path throws(Errno) in
    _ = try retrying { clinux_umount2(path, flags.rawValue | CLINUX_UMOUNT_NOFOLLOW) }
  }
}
