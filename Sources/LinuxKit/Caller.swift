// Acting as the caller of a request: what is created belongs to whoever asked for it.
internal import CLinux

/// The credentials of one thread, for the time of one system call.
///
/// No request is served by two threads, and between `assume` and `resume` nothing else is done.
public struct Caller: Sendable {
  /// Whether the process may act as others: a daemon of root's.
  public let isPrivileged: Bool

  /// For a process that may act as others, or for one that is always itself.
  public init(isPrivileged: Bool) { self.isPrivileged = isPrivileged }

  /// Before any thread exists: see `clinux_process_prepare_credentials`.
  ///
  /// Throws EPERM without the capabilities of root.
  public static func prepareProcess() throws(Errno) {
    if clinux_process_prepare_credentials() != 0 { throw Errno.last }
  }

  /// Runs `serve`, and the threads that it starts, in a group in which no file is: so the backing
  /// file system clears set-group-ID bits as for a stranger, whosever the file is.
  ///
  /// What creates files for the daemon itself is on threads that were started before.
  public func serving(_ serve: () throws(Errno) -> Void) throws(Errno) {
    guard isPrivileged else { return try serve() }
    clinux_process_act_as_stranger(1)
    defer { clinux_process_act_as_stranger(0) }
    try serve()
  }

  /// Runs `call` as the caller, under the caller's umask, which the backing file system applies
  /// where there is no default ACL.
  ///
  /// `keepsSetGroupID`: a mode with S_ISGID was already judged by the kernel, so it is kept.
  @inline(__always)
  public func acting<Result: ~Copyable>(
    uid: UInt32, gid: UInt32, mask: UInt32, keepsSetGroupID: Bool = false,
    _ call: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    if clinux_thread_unshare() != 0 { throw Errno.last }
    guard isPrivileged else {
      clinux_thread_mask(mask)
      return try call()
    }
    if keepsSetGroupID { clinux_thread_fsetid(1) }
    clinux_thread_assume(uid, gid, mask)
    defer {
      clinux_thread_resume()
      if keepsSetGroupID { clinux_thread_fsetid(0) }
    }
    return try call()
  }

  /// Runs `call` so that it may set S_ISGID for a group that is not the daemon's own.
  @inline(__always)
  public func keepingSetGroupID<Result: ~Copyable>(
    _ call: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard isPrivileged else { return try call() }
    clinux_thread_fsetid(1)
    defer { clinux_thread_fsetid(0) }
    return try call()
  }
}
