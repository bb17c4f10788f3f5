// What the kernel says about an inode, in the form in which a request hands it on: a stat, and the
// time of birth, without a copy on the way.
public import CLinux
internal import Glibc

/// The attributes of a file, and when its inode was made.
public typealias InodeStatus = clinux_status
/// The attributes of a file as stat(2) has them.
public typealias FileAttributes = stat

extension InodeStatus {
  /// The status of an open descriptor, O_PATH included.
  @inline(__always)
  public static func of(_ descriptor: CInt) throws(Errno) -> InodeStatus {
    var status = InodeStatus()
    if clinux_status(descriptor, "", &status) != 0 { throw Errno.last }
    return status
  }

  /// The status of `name` below a directory.
  ///
  /// A symbolic link is never followed.
  @inline(__always)
  public static func of(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) -> InodeStatus {
    var status = InodeStatus()
    if clinux_status(directory, name, &status) != 0 { throw Errno.last }
    return status
  }

  /// The attributes alone.
  @inlinable
  public var shown: FileAttributes { attributes }
  /// The device that holds it.
  @inlinable
  public var device: UInt64 { UInt64(attributes.st_dev) }
  /// The number of the inode.
  @inlinable
  public var inode: UInt64 { UInt64(attributes.st_ino) }
  /// The type and the permissions.
  @inlinable
  public var mode: UInt32 { attributes.st_mode }
  /// Whether it is a directory.
  @inlinable
  public var isDirectory: Bool { mode & 0o170000 == 0o040000 }
  /// How many names it has.
  @inlinable
  public var linkCount: UInt64 { UInt64(attributes.st_nlink) }
  /// Its length in bytes.
  @inlinable
  public var size: Int64 { Int64(attributes.st_size) }
  /// The space that it takes, in blocks of 512 bytes.
  @inlinable
  public var blockCount: Int64 { Int64(attributes.st_blocks) }
  /// When the inode was made, in nanoseconds since 1970; 0 where that is not kept.
  @inlinable
  public var birthNanoseconds: UInt64 { birth_nanoseconds }
}

extension FileAttributes {
  /// Attributes of which only these are known.
  @inlinable
  public init(inode: UInt64, mode: UInt32) {
    self.init()
    st_ino = UInt(inode)
    st_mode = mode
  }

  /// Attributes of something with one name, which was last changed at all at this time.
  public init(
    inode: UInt64, mode: UInt32, size: Int64, seconds: Int64, nanoseconds: UInt32
  ) {
    self.init()
    st_ino = UInt(inode)
    st_mode = mode
    st_nlink = 1
    st_size = Int(size)
    st_blksize = 4096
    // In units of 512 bytes.
    st_blocks = Int((size / 4096 + (size % 4096 == 0 ? 0 : 1)) * 8)
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    st_atim = time
    st_mtim = time
    st_ctim = time
  }

  /// The number of the inode.
  @inlinable
  public var inode: UInt64 {
    get { UInt64(st_ino) }
    set { st_ino = UInt(newValue) }
  }
  /// The type and the permissions.
  @inlinable
  public var mode: UInt32 {
    get { st_mode }
    set { st_mode = newValue }
  }
  /// How many names it has.
  @inlinable
  public var linkCount: UInt64 {
    get { UInt64(st_nlink) }
    set { st_nlink = UInt(newValue) }
  }
  /// The owner.
  @inlinable
  public var uid: UInt32 {
    get { st_uid }
    set { st_uid = newValue }
  }
  /// The group.
  @inlinable
  public var gid: UInt32 {
    get { st_gid }
    set { st_gid = newValue }
  }
  /// Its length in bytes.
  @inlinable
  public var size: Int64 { Int64(st_size) }
  /// Replaces what tells how many entries a directory has by what tells nothing.
  ///
  /// One link is how file systems that count none say so; fts(3) and find(1) know it.
  public mutating func hideEntryCount() {
    st_nlink = 1
    st_size = 4096
    st_blocks = 8
  }
  /// When it was last read.
  public var accessTime: (seconds: Int, nanoseconds: Int) { (st_atim.tv_sec, st_atim.tv_nsec) }
  /// When its content was last changed.
  public var modificationTime: (seconds: Int, nanoseconds: Int) {
    (st_mtim.tv_sec, st_mtim.tv_nsec)
  }
}
