// One request of the kernel: who asks. What is asked comes as the handler's arguments.
internal import CFuse3

/// Who asks, for as long as the request is not answered.
public struct Request {
  let raw: fuse_req_t

  init(_ raw: fuse_req_t) { self.raw = raw }

  @inline(__always)
  private var context: UnsafePointer<fuse_ctx> {
    // libfuse never returns null here: the context is a part of the request.
    fuse_req_ctx(raw).unsafelyUnwrapped
  }

  /// The caller's fsuid, in the mount's user namespace.
  public var uid: UInt32 { context.pointee.uid }
  /// The caller's fsgid.
  public var gid: UInt32 { context.pointee.gid }
  /// The calling thread, in the daemon's pid namespace; 0 where it is not in there.
  public var pid: Int32 { context.pointee.pid }
  /// The caller's umask.
  ///
  /// Only requests that create something carry it.
  public var mask: UInt32 { context.pointee.umask }
}
