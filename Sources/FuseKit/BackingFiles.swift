// Files that the kernel reads and writes without us: passthrough, Linux 6.9.
internal import CFuse3
internal import Glibc
public import LinuxKit

/// The door to the kernel's table of backing files, of one connection.
///
/// A backing file keeps the credentials of the thread that registered it: never one that acts as
/// somebody else.
public struct BackingFiles: @unchecked Sendable {
  private let session: OpaquePointer

  init(_ session: OpaquePointer) { self.session = session }

  /// Registers the file of a descriptor, O_PATH included; its number, which is never 0.
  ///
  /// Throws EPERM without CAP_SYS_ADMIN, ELOOP where too many file systems are stacked.
  public func open(_ descriptor: CInt) throws(Errno) -> Int32 {
    let number = cfuse_backing_open(fuse_session_fd(session), descriptor)
    if number < 0 { throw Errno(-number) }
    return number
  }

  /// Takes a registration back; files that are open keep it.
  public func close(_ number: Int32) {
    _ = cfuse_backing_close(fuse_session_fd(session), number)
  }

  /// Has the kernel forget a node's attributes.
  ///
  /// It does not see what is stored through a shared mapping of the backing file, so it may keep
  /// none while one can be.
  public func forgetAttributes(of node: NodeID) {
    _ = cfuse_session_invalidate_attributes(session, fuse_ino_t(node.rawValue))
  }
}

/// The nodes that the kernel knows, of one connection.
public struct KernelNodes: @unchecked Sendable {
  private let session: OpaquePointer

  init(_ session: OpaquePointer) { self.session = session }

  /// Whether the kernel knows a node; it forgets the node's attributes by being asked.
  ///
  /// One that it does not know it will never name again, but to forget it. Waits for nothing.
  public func contains(_ node: NodeID) -> Bool {
    cfuse_session_invalidate_attributes(session, fuse_ino_t(node.rawValue)) != -ENOENT
  }
}
