// Changing one entry of a directory that is held open.
internal import CLinux
public import Glibc

extension Walker {
  /// Creates a directory, with this very mode whatever the umask, and goes down into it.
  ///
  /// Throws EEXIST if there is an entry of any kind.
  public borrowing func createDirectory(
    _ name: some Collection<UInt8>, mode: UInt32
  ) throws(Errno) -> Walker {
    let directory = descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      _ = try retrying { mkdirat(directory, name, 0o700) }
    }
    let created = try enter(name)
    try created.descriptor.setPermissions(mode)
    return created
  }

  /// Goes down into a directory, which is created with `mode` if it is not there.
  public borrowing func enterOrCreate(
    _ name: some Collection<UInt8>, mode: UInt32
  ) throws(Errno) -> Walker {
    do {
      return try enter(name)
    } catch .noEntry {
      do {
        return try createDirectory(name, mode: mode)
      } catch .exists {
        return try enter(name)
      }
    }
  }

  /// Creates a regular file for writing, with this very mode whatever the umask.
  ///
  /// Throws EEXIST if there is an entry of any kind.
  public borrowing func createFile(
    _ name: some Collection<UInt8>, mode: UInt32
  ) throws(Errno) -> Descriptor {
    let created = try open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    try created.setPermissions(mode)
    return created
  }

  /// Opens a regular file for reading and writing, which is created with `mode` if it is not there.
  public borrowing func openOrCreateFile(
    _ name: some Collection<UInt8>, mode: UInt32
  ) throws(Errno) -> Descriptor {
    do {
      return try openRegularFile(name, O_RDWR)
    } catch .noEntry {
      do {
        return try createFile(name, mode: mode)
      } catch .exists {
        return try openRegularFile(name, O_RDWR)
      }
    }
  }

  /// Creates a symbolic link.
  ///
  /// Throws EEXIST if there is an entry of any kind.
  public borrowing func createLink(
    _ name: some Collection<UInt8>, to target: some Collection<UInt8>
  ) throws(Errno) {
    let directory = descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      try Array(target).withCPath { (target) throws(Errno) in
        _ = try retrying { symlinkat(target, directory, name) }
      }
    }
  }

  /// Creates a named pipe, with this very mode whatever the umask.
  public borrowing func createPipe(
    _ name: some Collection<UInt8>, mode: UInt32
  ) throws(Errno) {
    let directory = descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      _ = try retrying { mkfifoat(directory, name, 0o600) }
    }
    let created = try open(name, O_PATH)
    try created.setPermissions(mode)
  }

  /// Removes an entry that is not a directory.
  public borrowing func removeFile(_ name: some Collection<UInt8>) throws(Errno) {
    try unlink(name, flags: 0)
  }

  /// Removes an empty directory.
  public borrowing func removeDirectory(_ name: some Collection<UInt8>) throws(Errno) {
    try unlink(name, flags: AT_REMOVEDIR)
  }

  private borrowing func unlink(
    _ name: some Collection<UInt8>, flags: CInt
  ) throws(Errno) {
    let directory = descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      _ = try retrying { unlinkat(directory, name, flags) }
    }
  }

  /// How a rename treats an entry that is there already.
  public enum RenameMode: Sendable {
    /// It is replaced.
    case replacing
    /// It makes the rename fail with EEXIST.
    case exclusive
    /// Both change places, in one step.
    case exchanging
  }

  /// Moves an entry into a directory of the same file system.
  public borrowing func rename(
    _ name: some Collection<UInt8>, to target: borrowing Walker,
    as newName: some Collection<UInt8>, _ mode: RenameMode
  ) throws(Errno) {
    let flags =
      switch mode {
      case .replacing: UInt32(0)
      case .exclusive: UInt32(RENAME_NOREPLACE)
      case .exchanging: UInt32(RENAME_EXCHANGE)
      }
    let from = descriptor.rawValue
    let to = target.descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      try withComponent(newName) { (newName) throws(Errno) in
        _ = try retrying { renameat2(from, name, to, newName, flags) }
      }
    }
  }

  /// Gives a file one more name, in a directory of the same file system.
  ///
  /// Throws EEXIST if there is an entry of any kind.
  public borrowing func linkFile(
    _ name: some Collection<UInt8>, to target: borrowing Walker,
    as newName: some Collection<UInt8>
  ) throws(Errno) {
    let from = descriptor.rawValue
    let to = target.descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      try withComponent(newName) { (newName) throws(Errno) in
        _ = try retrying { linkat(from, name, to, newName, 0) }
      }
    }
  }

  /// Changes the owner of an entry, of the link itself where it is one.
  public borrowing func setOwner(
    of name: some Collection<UInt8>, uid: UInt32, gid: UInt32
  ) throws(Errno) {
    let directory = descriptor.rawValue
    try withComponent(name) { (name) throws(Errno) in
      _ = try retrying { fchownat(directory, name, uid, gid, AT_SYMLINK_NOFOLLOW) }
    }
  }

  /// Sets the times of the last access and of the last change of an entry, of the link itself where
  /// it is one.
  public borrowing func setTimes(
    of name: some Collection<UInt8>, accessed: timespec, modified: timespec
  ) throws(Errno) {
    let directory = descriptor.rawValue
    let times = [accessed, modified]
    try withComponent(name) { (name) throws(Errno) in
      _ = try retrying { utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW) }
    }
  }

  /// Writes what was done in this directory to the disk.
  public borrowing func synchronize() throws(Errno) {
    let directory = descriptor.rawValue
    try retrying { fsync(directory) }
  }

  /// Writes everything that the file system has not written yet to the disk.
  public borrowing func synchronizeFileSystem() throws(Errno) {
    let directory = descriptor.rawValue
    try retrying { syncfs(directory) }
  }

  /// Puts a file with these contents in the place of `name`, or leaves what was there.
  ///
  /// When it returns, the file is on the disk; at no time is it there in part. Meanwhile there is
  /// a file `temporary`, which must be new: where rules say what names there may be, not every one.
  public borrowing func replaceFile(
    _ name: some Collection<UInt8>, contents: [UInt8], mode: UInt32, temporary: [UInt8]? = nil
  ) throws(Errno) {
    try putFile(name, contents, mode, .replacing, temporary ?? Self.temporaryName())
  }

  /// Puts a file with these contents where no entry is.
  ///
  /// Throws EEXIST if there is one. Otherwise as `replaceFile`.
  public borrowing func addFile(
    _ name: some Collection<UInt8>, contents: [UInt8], mode: UInt32
  ) throws(Errno) {
    try putFile(name, contents, mode, .exclusive, Self.temporaryName())
  }

  static func temporaryName() -> [UInt8] {
    Array(".\(UInt64.random(in: 0...UInt64.max)).new".utf8)
  }

  private borrowing func putFile(
    _ name: some Collection<UInt8>, _ contents: [UInt8], _ mode: UInt32, _ rename: RenameMode,
    _ temporary: [UInt8]
  ) throws(Errno) {
    let file = try createFile(temporary, mode: mode)
    do {
      try file.writeAll(contents)
      try file.synchronize()
      try file.close()
      try self.rename(temporary, to: self, as: name, rename)
    } catch {
      try? removeFile(temporary)
      throw error
    }
    try synchronize()
  }
}

extension Descriptor {
  /// Sets the twelve permission bits, also through O_PATH.
  public borrowing func setPermissions(_ mode: UInt32) throws(Errno) {
    let path = "/proc/self/fd/\(rawValue)"
    try retrying { chmod(path, mode) }
  }

  /// Sets the owner, of the link itself where it is one; also through O_PATH.
  public borrowing func setOwner(uid: UInt32, gid: UInt32) throws(Errno) {
    let raw = rawValue
    try retrying { fchownat(raw, "", uid, gid, AT_EMPTY_PATH) }
  }

  /// Sets the times of the last access and of the last change.
  public borrowing func setTimes(accessed: timespec, modified: timespec) throws(Errno) {
    let raw = rawValue
    let times = [accessed, modified]
    try retrying { futimens(raw, times) }
  }

  /// Writes the file to the disk.
  public borrowing func synchronize() throws(Errno) {
    let raw = rawValue
    try retrying { fsync(raw) }
  }

  /// How a lock is taken.
  public enum LockMode: Sendable {
    /// Many at once.
    case shared
    /// One alone.
    case exclusive
  }

  /// Takes a flock(2), at once or not at all; false if another has it.
  ///
  /// It ends with the last descriptor of this open file.
  public borrowing func tryLock(_ mode: LockMode) throws(Errno) -> Bool {
    let raw = rawValue
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    do {
      try retrying { flock(raw, operation) }
      return true
    } catch Errno(EWOULDBLOCK) {
      return false
    }
  }

  /// Waits for a flock(2).
  ///
  /// It ends with the last descriptor of this open file.
  public borrowing func lock(_ mode: LockMode) throws(Errno) {
    let raw = rawValue
    let operation = mode == .shared ? LOCK_SH : LOCK_EX
    try retrying { flock(raw, operation) }
  }
}

/// Creates a directory at a path that the host's people gave.
///
/// Throws EEXIST if there is an entry of any kind.
public func makeDirectory(_ path: [UInt8], mode: UInt32) throws(Errno) {
  try path.withCPath { path throws(Errno) in
    _ = try retrying { mkdir(path, mode) }
  }
}
