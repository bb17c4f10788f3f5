// Paths as a person gives them, made absolute and free of symbolic links once, before anything is
// done by them.
internal import CLinux
internal import Glibc

/// The absolute path without symbolic links, `.` and `..` that a path leads to: realpath(3).
public func canonicalPath(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  try path.withCPath { path throws(Errno) in
    guard let resolved = realpath(path, nil) else { throw Errno.last }
    defer { free(resolved) }
    return Array(UnsafeBufferPointer(start: resolved, count: strlen(resolved))).map {
      UInt8(bitPattern: $0)
    }
  }
}

/// As `canonicalPath`, for a mount point, whose file system may not answer: if it fails, the last
/// component is taken as it is.
public func canonicalPathOfMountPoint(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  let slash = UInt8(ascii: "/")
  var trimmed = path[...]
  while trimmed.count > 1, trimmed.last == slash { trimmed.removeLast() }
  do throws(Errno) {
    return try canonicalPath(Array(trimmed))
  } catch {
    let name = trimmed.suffix(from: trimmed.lastIndex(of: slash).map { $0 + 1 } ?? 0)
    if name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) {
      throw error
    }
    let parent = trimmed.prefix(trimmed.count - name.count)
    let directory = try canonicalPath(parent.isEmpty ? Array(".".utf8) : Array(parent))
    return (directory == [slash] ? [] : directory) + [slash] + name
  }
}

/// A path as it is to be written where the caller's working directory is another; nothing of it is
/// looked up, so that it may lead to what does not answer.
public func absolutePath(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  let slash = UInt8(ascii: "/")
  if path.first == slash { return path }
  guard let text = getcwd(nil, 0) else { throw Errno.last }
  defer { free(text) }
  let here = UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
  if path.elementsEqual(".".utf8) { return here }
  return (here == [slash] ? [] : here) + [slash] + path
}

/// Goes to the root, so that what the caller stood in can be unmounted.
public func leaveWorkingDirectory() throws(Errno) { try retrying { chdir("/") } }

extension Descriptor {
  /// Opens what is at a canonical path, only to know what and where it is: nothing on the way, nor
  /// at its end, may be a symbolic link.
  ///
  /// Throws ELOOP if something is.
  public static func exactly(_ path: [UInt8]) throws(Errno) -> Descriptor {
    try path.withCPath { path throws(Errno) in
      try retrying {
        clinux_openat2(
          AT_FDCWD, path, UInt64(O_PATH | O_CLOEXEC), 0,
          UInt64(RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
      }
    }.asDescriptor()
  }

  /// Throws what keeps the caller from reading, writing or searching what this leads to.
  public borrowing func checkAccess(writing: Bool, searching: Bool) throws(Errno) {
    let mode = R_OK | (writing ? W_OK : 0) | (searching ? X_OK : 0)
    let path = "/proc/self/fd/\(rawValue)"
    try retrying { faccessat(AT_FDCWD, path, mode, AT_EACCESS) }
  }

  /// Opens a directory by a canonical path, as a place only: nothing on the way may be a symbolic
  /// link.
  ///
  /// Throws ELOOP if something is, and ENOTDIR if it is no directory.
  public static func place(_ path: [UInt8]) throws(Errno) -> Descriptor {
    try path.withCPath { path throws(Errno) in
      let raw = try retrying {
        clinux_openat2(
          AT_FDCWD, path, UInt64(O_PATH | O_DIRECTORY | O_CLOEXEC), 0,
          UInt64(RESOLVE_NO_SYMLINKS))
      }
      return raw
    }.asDescriptor()
  }

  /// Opens the directory of that name in this one, as a place only.
  ///
  /// Throws ENOTDIR if it is a symbolic link or no directory.
  public borrowing func place(named name: [UInt8]) throws(Errno) -> Descriptor {
    let raw = rawValue
    return try name.withCPath { name throws(Errno) in
      try retrying {
        clinux_openat(raw, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
      }
    }.asDescriptor()
  }
}

extension CInt {
  fileprivate func asDescriptor() -> Descriptor { Descriptor(owning: self) }
}

extension Descriptor {
  /// Whether this directory is `ancestor` or lies below it, whatever names lead here.
  public borrowing func isInside(_ ancestor: borrowing Descriptor) throws(Errno) -> Bool {
    let wanted = try DirectoryIdentity(ancestor.rawValue)
    var here = try DirectoryIdentity(rawValue)
    var level = try duplicate()
    while here != wanted {
      level = try level.place(named: Array("..".utf8))
      let above = try DirectoryIdentity(level.rawValue)
      // Only the root is its own parent.
      if above == here { return false }
      here = above
    }
    return true
  }
}

/// What tells one directory from all others.
private struct DirectoryIdentity: Equatable {
  let device: UInt64
  let inode: UInt64

  init(_ directory: CInt) throws(Errno) {
    var status = stat()
    try retrying { fstat(directory, &status) }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }
}
