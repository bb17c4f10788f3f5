// The one way to walk a tree that an app may have written in.
//
// A walker holds a directory and goes one component at a time, by names that are bytes. It never
// follows a symbolic link, never leaves the mount and never takes a path, so nothing that others
// plant, swap or rename can lead it out of where it was opened.
internal import CLinux
internal import Glibc

/// An open directory, from which one goes down by one name at a time.
public struct Walker: ~Copyable, Sendable {
  /// The directory, open for reading.
  public let descriptor: Descriptor

  /// Takes over a directory that is open for reading.
  public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Opens a directory by its path, for paths that the host's people gave: links are followed.
  public static func open(path: some Collection<UInt8>) throws(Errno) -> Walker {
    Walker(
      Descriptor(
        owning: try Array(path).withCPath { (path) throws(Errno) in
          try retrying { clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
        }))
  }

  /// A second walker at the same place, with a reading position of its own.
  public borrowing func reopened() throws(Errno) -> Walker {
    Walker(try descriptor.open(".", O_RDONLY | O_DIRECTORY))
  }

  /// Goes down into a directory.
  ///
  /// Throws ELOOP for a symbolic link, ENOTDIR for another kind and EXDEV for a mount point.
  public borrowing func enter(_ name: some Collection<UInt8>) throws(Errno) -> Walker {
    Walker(try open(name, O_RDONLY | O_DIRECTORY))
  }

  /// Goes down several directories, one after the other.
  public borrowing func enter(path names: some Collection<[UInt8]>) throws(Errno) -> Walker {
    var place = try reopened()
    for name in names { place = try place.enter(name) }
    return place
  }

  /// Opens or creates a file of any kind that is not a symbolic link.
  ///
  /// Throws ELOOP for a symbolic link unless `flags` has O_PATH (which opens the link itself), and
  /// EXDEV for a mount point. Opening a fifo or a device has effects: see `openRegularFile`.
  public borrowing func open(
    _ name: some Collection<UInt8>, _ flags: CInt, mode: UInt32 = 0
  ) throws(Errno) -> Descriptor {
    let beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS
    // openat2 refuses O_PATH together with what it does not heed. Beside it O_NOFOLLOW means the
    // link itself; elsewhere it would only turn ELOOP into ENOTDIR.
    let more = flags & O_PATH == 0 ? O_CLOEXEC | O_NOCTTY : O_CLOEXEC | O_NOFOLLOW
    let all = UInt64(UInt32(bitPattern: flags | more))
    let directory = descriptor.rawValue
    return Descriptor(
      owning: try withComponent(name) { (name) throws(Errno) in
        try retrying { clinux_openat2(directory, name, all, UInt64(mode), UInt64(beneath)) }
      })
  }

  /// Opens a regular file and nothing else: a fifo or a device is not touched.
  ///
  /// For reading only, unless `flags` says otherwise.
  /// Throws ELOOP for a symbolic link and EINVAL for what is not a regular file.
  public borrowing func openRegularFile(
    _ name: some Collection<UInt8>, _ flags: CInt = 0
  ) throws(Errno) -> Descriptor {
    let found = try open(name, O_PATH)
    switch try found.status().kind {
    case .regular: return try found.reopened(flags)
    case .symbolicLink: throw Errno(ELOOP)
    default: throw .invalid
    }
  }

  /// Finds what a path below this directory leads to, following links as long as they stay below.
  ///
  /// For trees that nobody else changes. The descriptor says where it is, and is not open for
  /// reading. Throws EXDEV if the way leaves, and ELOOP if it has no end.
  public borrowing func find(beneath path: some Collection<UInt8>) throws(Errno) -> Descriptor {
    let beneath = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS
    let flags = UInt64(UInt32(bitPattern: O_PATH | O_CLOEXEC))
    let directory = descriptor.rawValue
    return Descriptor(
      owning: try Array(path).withCPath { path throws(Errno) in
        try retrying { clinux_openat2(directory, path, flags, 0, UInt64(beneath)) }
      })
  }

  /// The attributes of an entry, of the link itself where it is one.
  public borrowing func status(of name: some Collection<UInt8>) throws(Errno) -> FileStatus {
    let directory = descriptor.rawValue
    return try withComponent(name) { (name) throws(Errno) in try FileStatus.read(directory, name) }
  }

  /// The attributes of the directory itself.
  public borrowing func status() throws(Errno) -> FileStatus { try descriptor.status() }

  /// What a symbolic link points to.
  public borrowing func readLink(_ name: some Collection<UInt8>) throws(Errno) -> [UInt8] {
    let directory = descriptor.rawValue
    return try withComponent(name) { (name) throws(Errno) in
      try readLinkTarget(directory, name)
    }
  }

  /// Goes up, to a directory of which one knows that one came from there.
  ///
  /// Throws ESTALE if the parent is another one by now.
  borrowing func ascend(to expected: FileIdentity) throws(Errno) -> Walker {
    let parent = Walker(try descriptor.open("..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    guard try parent.status().identity == expected else { throw .stale }
    return parent
  }
}

extension Descriptor {
  /// Opens the same file anew, by way of /proc: what O_PATH found can then be read.
  public borrowing func reopened(_ flags: CInt) throws(Errno) -> Descriptor {
    try Descriptor.open("/proc/self/fd/\(rawValue)", flags | O_NOCTTY)
  }
}

/// Calls `body` with a name of one component, and NUL behind it.
///
/// Throws EINVAL for what is no such name: empty, `.`, `..`, with a slash or NUL.
func withComponent<Result>(
  _ name: some Collection<UInt8>, _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
) throws(Errno) -> Result {
  // Of a type that is known the compiler makes plain loops.
  let name = Array(name)
  let dot = UInt8(ascii: ".")
  guard !name.isEmpty, !name.contains(UInt8(ascii: "/")),
    !(name.count <= 2 && name.allSatisfy { $0 == dot })
  else { throw .invalid }
  return try name.withCPath(body)
}

/// The target of a link below `directory`, or of the O_PATH descriptor itself where `name` is
/// empty.
func readLinkTarget(
  _ directory: CInt, _ name: UnsafePointer<CChar>
) throws(Errno) -> [UInt8] {
  let maximum = Int(PATH_MAX)
  var target = [UInt8](repeating: 0, count: maximum)
  let count = try retrying {
    target.withUnsafeMutableBytes {
      clinux_readlinkat(directory, name, $0.baseAddress, UInt(maximum))
    }
  }
  guard count < maximum else { throw .nameTooLong }
  return Array(target.prefix(count))
}

/// Flags for those who open files and do not import the C library.
public enum Opening {
  /// For reading.
  public static let reading = O_RDONLY
  /// For writing.
  public static let writing = O_WRONLY
  /// A directory, for reading.
  public static let directory = O_RDONLY | O_DIRECTORY
  /// Only to know what and where it is.
  public static let pathOnly = O_PATH
  /// For reading, without waiting for anybody.
  public static let looking = O_RDONLY | O_NONBLOCK
}

extension Walker {
  /// Opens, to know what and where it is, what an entry leads to, wherever that is.
  ///
  /// Links are followed out of this directory: for what the host's people gave.
  public borrowing func openFollowing(
    _ name: some Collection<UInt8>
  ) throws(Errno) -> Descriptor {
    let directory = descriptor.rawValue
    return Descriptor(
      owning: try withComponent(name) { (name) throws(Errno) in
        try retrying { clinux_openat(directory, name, O_PATH | O_CLOEXEC, 0) }
      })
  }
}

extension Descriptor {
  /// Where the open file is now, as the kernel says it.
  public borrowing func path() throws(Errno) -> [UInt8] {
    try readLinkTarget(AT_FDCWD, "/proc/self/fd/\(rawValue)")
  }

  /// Goes one step down from a directory, over mount points too, but never by a link.
  public borrowing func step(to name: [UInt8]) throws(Errno) -> Descriptor {
    let raw = rawValue
    return Descriptor(
      owning: try withComponent(name) { (name) throws(Errno) in
        try retrying { clinux_openat(raw, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0) }
      })
  }
}

extension Descriptor {
  /// Opens what a path leads to, only to know what and where it is; links are followed.
  public static func following(_ path: [UInt8]) throws(Errno) -> Descriptor {
    let raw = try path.withCPath { path throws(Errno) in
      try retrying { clinux_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0) }
    }
    return Descriptor(owning: raw)
  }
}
