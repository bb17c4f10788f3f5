// What statx(2) says about a file.
public import Glibc

/// The kind of a file.
public enum FileKind: Sendable, CaseIterable {
  /// A regular file.
  case regular
  /// A directory.
  case directory
  /// A symbolic link.
  case symbolicLink
  /// A named pipe.
  case fifo
  /// A Unix socket.
  case socket
  /// A character device.
  case characterDevice
  /// A block device.
  case blockDevice

  /// The kind in a mode's upper bits; nil for bits that no Linux file has.
  public init?(mode: UInt32) {
    let kind: mode_t = mode & S_IFMT
    switch kind {
    case S_IFREG: self = .regular
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .symbolicLink
    case S_IFIFO: self = .fifo
    case S_IFSOCK: self = .socket
    case S_IFCHR: self = .characterDevice
    case S_IFBLK: self = .blockDevice
    default: return nil
    }
  }
}

/// The attributes of a file, of the link itself where it is one.
public struct FileStatus: Equatable, Sendable {
  /// The kind of the file.
  public var kind: FileKind
  /// The twelve permission bits.
  public var permissions: UInt32
  /// The owner.
  public var ownerUID: UInt32
  /// The group.
  public var ownerGID: UInt32
  /// The apparent size.
  public var byteCount: Int64
  /// What it takes on the disk, in bytes.
  public var allocatedByteCount: Int64
  /// How many names it has.
  public var linkCount: UInt32
  /// The inode's number, the device and the mount: what a file is, whatever its name.
  public var identity: FileIdentity
  /// The last access, in seconds and nanoseconds since 1970.
  public var accessed: timespec
  /// The last change of the contents.
  public var modified: timespec
  /// The last change of the contents or of an attribute, which nobody can set.
  public var changed: timespec
  /// The time of birth, 0 where the file system does not keep it.
  public var born: timespec

  /// The time of birth in nanoseconds since 1970, 0 where the file system does not keep it.
  public var bornNanoseconds: Int64 { born.nanoseconds }

  /// The last change of the contents, in seconds and nanoseconds since 1970.
  public var modifiedTime: (seconds: Int64, nanoseconds: UInt32) {
    (Int64(modified.tv_sec), UInt32(clamping: modified.tv_nsec))
  }

  /// Field by field.
  public static func == (left: Self, right: Self) -> Bool {
    left.kind == right.kind && left.permissions == right.permissions
      && left.ownerUID == right.ownerUID && left.ownerGID == right.ownerGID
      && left.byteCount == right.byteCount && left.linkCount == right.linkCount
      && left.allocatedByteCount == right.allocatedByteCount
      && left.identity == right.identity && left.accessed.isSame(as: right.accessed)
      && left.modified.isSame(as: right.modified) && left.changed.isSame(as: right.changed)
      && left.born.isSame(as: right.born)
  }
}

/// Which file it is: equal for two descriptors of the same file on the same mount.
public struct FileIdentity: Hashable, Sendable {
  /// The inode's number.
  public var inode: UInt64
  /// The device's number, major in the upper half.
  public var device: UInt64
  /// The mount's number, so that two mounts of one device differ.
  public var mount: UInt64
}

extension timespec {
  /// The time in nanoseconds since 1970, as far as 64 bits reach: to the years 1677 and 2262.
  public var nanoseconds: Int64 {
    let (seconds, isTooFar) = Int64(tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isBeyond) = seconds.addingReportingOverflow(Int64(tv_nsec))
    return isTooFar || isBeyond ? (tv_sec < 0 ? .min : .max) : sum
  }

  fileprivate func isSame(as other: timespec) -> Bool {
    tv_sec == other.tv_sec && tv_nsec == other.tv_nsec
  }

  fileprivate init(_ time: statx_timestamp) {
    self.init(tv_sec: Int(time.tv_sec), tv_nsec: Int(time.tv_nsec))
  }
}

extension FileStatus {
  init(_ raw: statx) throws(Errno) {
    guard let kind = FileKind(mode: UInt32(raw.stx_mode)) else { throw .inputOutput }
    self.init(
      kind: kind,
      permissions: UInt32(raw.stx_mode) & 0o7777,
      ownerUID: raw.stx_uid,
      ownerGID: raw.stx_gid,
      byteCount: Int64(clamping: raw.stx_size),
      // In units of 512 bytes.
      allocatedByteCount: Int64(clamping: raw.stx_blocks) * 512,
      linkCount: raw.stx_nlink,
      identity: FileIdentity(
        inode: raw.stx_ino,
        device: UInt64(raw.stx_dev_major) << 32 | UInt64(raw.stx_dev_minor),
        mount: raw.stx_mnt_id),
      accessed: timespec(raw.stx_atime),
      modified: timespec(raw.stx_mtime),
      changed: timespec(raw.stx_ctime),
      born: timespec(raw.stx_btime))
  }

  /// The attributes of `name` below a directory, or of the descriptor itself where `name` is empty.
  static func read(_ directory: CInt, _ name: UnsafePointer<CChar>) throws(Errno) -> FileStatus {
    var raw = statx()
    let flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH
    let mask = UInt32(STATX_BASIC_STATS) | UInt32(STATX_BTIME) | UInt32(STATX_MNT_ID)
    try retrying { statx(directory, name, flags, mask, &raw) }
    return try FileStatus(raw)
  }
}

extension Descriptor {
  /// The attributes of the open file.
  public borrowing func status() throws(Errno) -> FileStatus {
    try FileStatus.read(rawValue, "")
  }
}
