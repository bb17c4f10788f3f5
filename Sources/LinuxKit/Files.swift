// System calls on files below a directory descriptor, and through O_PATH descriptors.
//
// Names here are single components, handed over by the kernel: they never hold a slash, and no call
// follows a symbolic link.
internal import CLinux
public import Glibc

extension Descriptor {
  /// Opens one component as O_PATH, the symbolic link itself if it is one.
  @inline(__always)
  public static func openPath(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) -> Descriptor {
    Descriptor(
      owning: try retrying {
        clinux_openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0)
      })
  }

  /// Creates a file that was not there.
  @inline(__always)
  public static func create(
    _ name: UnsafePointer<CChar>, in directory: CInt, _ flags: CInt, mode: UInt32
  ) throws(Errno) -> Descriptor {
    Descriptor(
      owning: try retrying {
        clinux_openat(
          directory, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(mode))
      })
  }

  /// Opens the very inode of an O_PATH descriptor for listing.
  @inline(__always)
  public static func reopenDirectory(_ path: CInt) throws(Errno) -> Descriptor {
    do throws(Errno) {
      return Descriptor(
        owning: try retrying {
          clinux_openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        })
    } catch {
      // The name `.` takes permission to search, and listing does not.
      guard error == .accessDenied else { throw error }
      return try reopen(path, O_RDONLY | O_DIRECTORY)
    }
  }

  /// Opens the very inode of an O_PATH descriptor for I/O.
  @inline(__always)
  public static func reopen(_ path: CInt, _ flags: CInt) throws(Errno) -> Descriptor {
    let raw = try withDescriptorPath(path) { name throws(Errno) in
      try retrying { clinux_openat(AT_FDCWD, name, flags | O_CLOEXEC, 0) }
    }
    return Descriptor(owning: raw)
  }
}

/// Calls `body` with the path in /proc that means the inode of an O_PATH descriptor.
@inline(__always)
func withDescriptorPath<Result>(
  _ descriptor: CInt, _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
) throws(Errno) -> Result {
  var path: [32 of CChar] = .init(repeating: 0)
  var result: Swift.Result<Result, Errno>?
  withUnsafeMutableBytes(of: &path) { bytes in
    let start = bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
    clinux_descriptor_path(descriptor, start)
    do throws(Errno) {
      result = .success(try body(UnsafePointer(start)))
    } catch {
      result = .failure(error)
    }
  }
  return try result.unsafelyUnwrapped.get()
}

@inline(__always)
private func check(_ result: CInt) throws(Errno) {
  if result != 0 { throw Errno.last }
}

/// System calls that change names.
public enum Names {
  /// mkdirat(2).
  public static func makeDirectory(
    _ name: UnsafePointer<CChar>, in directory: CInt, mode: UInt32
  ) throws(Errno) {
    try check(mkdirat(directory, name, mode_t(mode)))
  }

  /// mknodat(2), for what is no device.
  public static func makeNode(
    _ name: UnsafePointer<CChar>, in directory: CInt, mode: UInt32
  ) throws(Errno) {
    try check(mknodat(directory, name, mode_t(mode), 0))
  }

  /// symlinkat(2).
  public static func makeSymbolicLink(
    _ target: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) {
    try check(symlinkat(target, directory, name))
  }

  /// A further name for the inode of an O_PATH descriptor.
  public static func link(
    _ descriptor: CInt, _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) {
    try withDescriptorPath(descriptor) { path throws(Errno) in
      try check(linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW))
    }
  }

  /// unlinkat(2) of anything but a directory.
  public static func unlink(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) {
    try check(unlinkat(directory, name, 0))
  }

  /// unlinkat(2) of an empty directory.
  public static func removeDirectory(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) {
    try check(unlinkat(directory, name, AT_REMOVEDIR))
  }

  /// renameat2(2).
  public static func rename(
    _ name: UnsafePointer<CChar>, in directory: CInt, to newName: UnsafePointer<CChar>,
    in newDirectory: CInt, flags: UInt32
  ) throws(Errno) {
    try check(clinux_renameat2(directory, name, newDirectory, newName, flags))
  }

  /// readlink(2) of an O_PATH descriptor or a name; the number of bytes, without a NUL.
  public static func readLink(
    _ name: UnsafePointer<CChar>, in directory: CInt, into target: UnsafeMutablePointer<CChar>,
    byteCount: Int
  ) throws(Errno) -> Int {
    let count = readlinkat(directory, name, target, byteCount)
    if count < 0 { throw Errno.last }
    return count
  }
}

/// System calls that change attributes, through O_PATH descriptors.
public enum Attributes {
  /// chmod(2).
  public static func setMode(_ descriptor: CInt, _ mode: UInt32) throws(Errno) {
    try check(clinux_chmod(descriptor, mode))
  }

  /// chown(2); nil leaves as it is.
  public static func setOwner(_ descriptor: CInt, uid: UInt32?, gid: UInt32?) throws(Errno) {
    try check(
      fchownat(
        descriptor, "", uid ?? UInt32.max, gid ?? UInt32.max, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
  }

  /// truncate(2).
  public static func setSize(_ descriptor: CInt, _ size: Int64) throws(Errno) {
    guard size >= 0 else { throw .invalid }
    try withDescriptorPath(descriptor) { path throws(Errno) in
      _ = try retrying { truncate(path, off_t(size)) }
    }
  }

  /// ftruncate(2), for a descriptor that is open for writing.
  public static func setSizeOfOpen(_ descriptor: CInt, _ size: Int64) throws(Errno) {
    guard size >= 0 else { throw .invalid }
    try retrying { ftruncate(descriptor, off_t(size)) }
  }

  /// A time to set.
  public enum Time {
    /// Stays as it is.
    case omitted
    /// Becomes the present.
    case now
    /// Becomes this.
    case at(seconds: Int, nanoseconds: Int)

    var value: timespec {
      switch self {
      case .omitted: timespec(tv_sec: 0, tv_nsec: clinux_utime_omit())
      case .now: timespec(tv_sec: 0, tv_nsec: clinux_utime_now())
      case .at(let seconds, let nanoseconds): timespec(tv_sec: seconds, tv_nsec: nanoseconds)
      }
    }
  }

  /// utimensat(2).
  public static func setTimes(
    _ descriptor: CInt, access: Time, modification: Time
  ) throws(Errno) {
    var times: [2 of timespec] = [access.value, modification.value]
    let result = withUnsafeBytes(of: &times) { bytes in
      utimensat(
        descriptor, "", bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: timespec.self),
        AT_EMPTY_PATH)
    }
    try check(result)
  }

  /// Whether the file system that holds a descriptor is an overlay.
  public static func isOnOverlay(_ descriptor: CInt) -> Bool {
    clinux_is_on_overlay(descriptor) == 1
  }

  /// Whether a place in a listing means the same to another descriptor of the directory, whatever
  /// is made, moved or removed meanwhile.
  ///
  /// Tried with ext4 and xfs. On btrfs a listing ends where the directory ended when it was opened,
  /// so that one that is opened again and again never ends if its reader renames what it reads; on
  /// tmpfs before Linux 6.6 a place is a count of entries; on an overlay it is the upper layer's
  /// or that of a merged copy.
  public static func keepsPlaces(_ descriptor: CInt) -> Bool {
    clinux_keeps_places(descriptor) == 1
  }

  /// statvfs(3) of the file system that holds a descriptor.
  public static func fileSystemStatus(_ descriptor: CInt) throws(Errno) -> FileSystemStatus {
    var status = statvfs()
    try check(fstatvfs(descriptor, &status))
    return status
  }
}

/// What statvfs(3) says.
public typealias FileSystemStatus = statvfs

extension FileSystemStatus {
  /// Shows at most so many bytes, of which at most so many are free.
  public mutating func limitBytes(total: UInt64, free: UInt64) {
    let unit: UInt64 = 4096
    let scale = UInt64(max(1, f_frsize))
    func units(_ count: fsblkcnt_t) -> UInt64 {
      UInt64(count).multipliedFullWidth(by: scale).low / unit
    }
    let available = min(units(f_bavail), free / unit)
    f_blocks = fsblkcnt_t(min(units(f_blocks), total / unit))
    f_bfree = fsblkcnt_t(available)
    f_bavail = fsblkcnt_t(available)
    f_frsize = UInt(unit)
    f_bsize = UInt(unit)
  }

  /// Shows at most so many entries, of which at most so many are free.
  public mutating func limitEntries(total: UInt64, free: UInt64) {
    // Where inodes are made as they are needed, there are none to begin with.
    let isCounted = f_files > 0
    let available = isCounted ? min(UInt64(f_favail), free) : free
    f_files = fsfilcnt_t(isCounted ? min(UInt64(f_files), total) : total)
    f_ffree = fsfilcnt_t(available)
    f_favail = fsfilcnt_t(available)
  }
}

/// Extended attributes, through O_PATH descriptors.
public enum ExtendedAttributes {
  /// The name of the ACL that decides on access.
  public static let accessACL = Array("system.posix_acl_access".utf8)

  /// Whether a name is that one: asked for each request, so without a list.
  public static func isAccessACL(_ name: Name) -> Bool {
    let acl: StaticString = "system.posix_acl_access"
    return name.count == acl.utf8CodeUnitCount && name.begins(with: acl)
  }

  /// Whether a name is that of a file's capabilities.
  public static func isCapability(_ name: Name) -> Bool {
    let capability: StaticString = "security.capability"
    return name.count == capability.utf8CodeUnitCount && name.begins(with: capability)
  }

  /// Whether the kernel reads an attribute of this name for its own ends: capabilities, ACLs,
  /// labels.
  public static func isOfKernel(_ name: Name) -> Bool {
    name.begins(with: "security.") || name.begins(with: "system.")
  }

  /// getxattr(2); the number of bytes.
  ///
  /// With `byteCount` 0 the size that it would need.
  public static func get(
    _ descriptor: CInt, _ name: UnsafePointer<CChar>, into value: UnsafeMutableRawPointer?,
    byteCount: Int
  ) throws(Errno) -> Int {
    try withDescriptorPath(descriptor) { path throws(Errno) in
      try retrying { getxattr(path, name, value, byteCount) }
    }
  }

  /// A flag of setxattr(2): EEXIST if there is an attribute of that name.
  public static let onlyNew = CInt(XATTR_CREATE)

  /// setxattr(2).
  public static func set(
    _ descriptor: CInt, _ name: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, flags: CInt
  ) throws(Errno) {
    try withDescriptorPath(descriptor) { path throws(Errno) in
      try check(setxattr(path, name, value.baseAddress, value.count, flags))
    }
  }

  /// listxattr(2); the number of bytes.
  ///
  /// With `byteCount` 0 the size that it would need.
  public static func list(
    _ descriptor: CInt, into names: UnsafeMutableRawPointer?, byteCount: Int
  ) throws(Errno) -> Int {
    try withDescriptorPath(descriptor) { path throws(Errno) in
      try retrying {
        listxattr(path, names?.assumingMemoryBound(to: CChar.self), byteCount)
      }
    }
  }

  /// listxattr(2) without the names in `trusted.`; the number of bytes.
  public static func listUntrusted(
    _ descriptor: CInt, into names: UnsafeMutableRawPointer, byteCount: Int
  ) throws(Errno) -> Int {
    let listed = try list(descriptor, into: names, byteCount: byteCount)
    let prefix: StaticString = "trusted."
    var kept = 0
    var start = 0
    while start < listed {
      let name = (names + start).assumingMemoryBound(to: CChar.self)
      let size = strlen(name) + 1
      let isTrusted =
        size > prefix.utf8CodeUnitCount
        && memcmp(name, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
      if !isTrusted {
        memmove(names + kept, name, size)
        kept += size
      }
      start += size
    }
    return kept
  }

  /// How many bytes the values have that a file's owner may set: those in `user.` and the ACLs.
  ///
  /// Of a name in a directory, the link itself if it is one; of an O_PATH descriptor where the name
  /// is empty.
  public static func ownersByteCount(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) -> Int64 {
    let count = clinux_value_bytes(directory, name)
    if count < 0 { throw Errno.last }
    return count
  }

  /// Whether an attribute is one of those whose bytes are counted there.
  public static func isOwners(_ name: Name) -> Bool {
    name.begins(with: "user.") || name.begins(with: "system.posix_acl_")
  }

  /// removexattr(2).
  public static func remove(_ descriptor: CInt, _ name: UnsafePointer<CChar>) throws(Errno) {
    try withDescriptorPath(descriptor) { path throws(Errno) in
      try check(removexattr(path, name))
    }
  }
}

/// I/O at given offsets.
///
/// Descriptors never carry O_APPEND, with which Linux ignores the offset.
public enum FileIO {
  /// pread(2).
  @inline(__always)
  public static func read(
    _ descriptor: CInt, into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
  ) throws(Errno) -> Int {
    try retrying { pread(descriptor, buffer, count, off_t(offset)) }
  }

  /// pwrite(2).
  @inline(__always)
  public static func write(
    _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    try retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
  }

  /// Opens a file for reading, by a name that we chose ourselves.
  public static func open(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) -> Descriptor {
    Descriptor(
      owning: try retrying {
        clinux_openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
      })
  }

  /// Whether there is an entry of a name.
  public static func exists(_ name: UnsafePointer<CChar>, in directory: CInt) -> Bool {
    (try? InodeStatus.of(name, in: directory)) != nil
  }

  /// Adds bytes to the end of a file of ours in one step; it is made if it is not there.
  public static func append(
    _ bytes: [UInt8], to name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) {
    let file = Descriptor(
      owning: try retrying {
        clinux_openat(
          directory, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
      })
    try file.writeAll(bytes)
  }

  /// Whether a descriptor was opened O_WRONLY.
  public static func isOpenOnlyForWriting(_ descriptor: CInt) -> Bool {
    clinux_fcntl(descriptor, F_GETFL, 0) & O_ACCMODE == O_WRONLY
  }

  /// fsync(2), or fdatasync(2) if `dataOnly`.
  public static func synchronize(_ descriptor: CInt, dataOnly: Bool) throws(Errno) {
    try retrying { dataOnly ? fdatasync(descriptor) : fsync(descriptor) }
  }

  /// fallocate(2).
  public static func allocate(
    _ descriptor: CInt, mode: CInt, offset: Int64, length: Int64
  ) throws(Errno) {
    try retrying { fallocate(descriptor, mode, off_t(offset), off_t(length)) }
  }

  /// copy_file_range(2); the number of bytes copied.
  public static func copy(
    from source: CInt, at sourceOffset: Int64, to target: CInt, at targetOffset: Int64, count: Int
  ) throws(Errno) -> Int {
    var from = off_t(sourceOffset)
    var to = off_t(targetOffset)
    return try retrying { copy_file_range(source, &from, target, &to, count, 0) }
  }

  /// lseek(2).
  public static func seek(
    _ descriptor: CInt, to offset: Int64, _ whence: CInt
  ) throws(Errno) -> Int64 {
    Int64(try retrying { lseek(descriptor, off_t(offset), whence) })
  }

  /// What lseek(2) answers about data and holes of a file of `size` bytes that has no holes.
  public static func placeInData(
    from offset: Int64, _ whence: CInt, size: Int64
  ) throws(Errno) -> Int64 {
    switch whence {
    case SEEK_DATA: return offset
    case SEEK_HOLE: return size
    default: throw .invalid
    }
  }

  /// getdents64(2) from `offset` on, a cookie of the file system's; the number of bytes.
  public static func list(
    _ descriptor: CInt, from offset: Int64, into buffer: UnsafeMutableRawPointer, byteCount: Int
  ) throws(Errno) -> Int {
    _ = try seek(descriptor, to: offset, SEEK_SET)
    let count = try listOn(descriptor, into: buffer, byteCount: byteCount)
    guard count == 0 && offset == 0 else { return count }
    // ext4 says this once of a descriptor that was first read at its end. No directory is without
    // `.` and `..`, and who were told so would keep it in mind.
    _ = try seek(descriptor, to: 0, SEEK_SET)
    return try listOn(descriptor, into: buffer, byteCount: byteCount)
  }

  /// getdents64(2) from where the last one ended; the number of bytes, 0 at the end.
  public static func listOn(
    _ descriptor: CInt, into buffer: UnsafeMutableRawPointer, byteCount: Int
  ) throws(Errno) -> Int {
    try retrying { clinux_getdents64(descriptor, buffer, UInt(byteCount)) }
  }
}
