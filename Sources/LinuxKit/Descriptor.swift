// An open descriptor with one owner.
internal import CLinux
internal import Glibc

/// An open descriptor with one owner; closed when the owner goes away.
public struct Descriptor: ~Copyable, Sendable {
  /// The number, for system calls.
  ///
  /// Valid while the owner lives.
  public let rawValue: CInt

  /// Takes ownership of an open descriptor.
  public init(owning rawValue: CInt) { self.rawValue = rawValue }

  deinit { _ = Glibc.close(rawValue) }

  /// Closes now, for callers who must know that the data reached the disk.
  public consuming func close() throws(Errno) {
    let raw = rawValue
    discard self
    if Glibc.close(raw) != 0 { throw Errno.last }
  }

  /// Gives the open descriptor to the caller, who closes it.
  public consuming func release() -> CInt {
    let raw = rawValue
    discard self
    return raw
  }

  /// A second descriptor for the same open file, close-on-exec.
  public borrowing func duplicate() throws(Errno) -> Descriptor {
    try Descriptor.duplicate(rawValue)
  }

  /// A second descriptor for the open file of one that somebody else owns.
  public static func duplicate(_ raw: CInt) throws(Errno) -> Descriptor {
    Descriptor(owning: try retrying { clinux_fcntl(raw, F_DUPFD_CLOEXEC, 3) })
  }

  /// Opens `path` relative to this directory.
  ///
  /// O_CLOEXEC is always set. For names that we chose ourselves: what an app can write is walked
  /// by `Walker`.
  public borrowing func open(
    _ path: UnsafePointer<CChar>, _ flags: CInt, mode: UInt32 = 0
  ) throws(Errno) -> Descriptor {
    let raw = rawValue
    return Descriptor(owning: try retrying { clinux_openat(raw, path, flags | O_CLOEXEC, mode) })
  }

  /// Opens `path` relative to this directory, or creates it for the directory's owner.
  ///
  /// Root may work in a directory of somebody else, who must be able to go on without root.
  public borrowing func openForOwner(
    _ path: UnsafePointer<CChar>, _ flags: CInt, mode: UInt32
  ) throws(Errno) -> Descriptor {
    let created: Descriptor
    do throws(Errno) {
      created = try open(path, flags | O_CREAT | O_EXCL, mode: mode)
    } catch .exists {
      // Whose it is, is its owner's matter: it may be a link to something else.
      return try open(path, flags & ~O_CREAT)
    }
    let directory = try InodeStatus.of(rawValue).attributes
    if try InodeStatus.of(created.rawValue).attributes.uid != directory.uid {
      try created.setOwner(uid: directory.uid, gid: directory.gid)
    }
    return created
  }

  /// Opens an absolute path, or one relative to the working directory.
  ///
  /// O_CLOEXEC is always set.
  public static func open(
    _ path: UnsafePointer<CChar>, _ flags: CInt, mode: UInt32 = 0
  ) throws(Errno) -> Descriptor {
    Descriptor(owning: try retrying { clinux_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode) })
  }
}

/// Flags of open(2) that every room needs.
public enum Flags {
  /// A directory, for reading; a symbolic link is refused.
  public static var directory: CInt { O_RDONLY | O_DIRECTORY | O_NOFOLLOW }
  /// A file that only carries a lock, made if it is not there.
  public static var lockFile: CInt { O_RDWR | O_CREAT | O_NOFOLLOW }
  /// A file that is there, for reading; what is no file is not waited for.
  public static var readFile: CInt { O_RDONLY | O_NOFOLLOW | O_NONBLOCK }
  /// A file that only grows, made if it is not there; what is no file is not waited for.
  public static var logFile: CInt { O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK }
  /// A file that is there, for reading and for changing.
  public static var changedFile: CInt { O_RDWR | O_NOFOLLOW | O_NONBLOCK }
}
