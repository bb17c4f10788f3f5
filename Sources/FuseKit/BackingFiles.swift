// Files that the kernel reads and writes without us: passthrough, Linux 6.9.
internal import CFuse3
internal import Glibc
public import LinuxKit

/// The door to the kernel's table of backing files, of one connection.
///
/// A backing file keeps the credentials of the thread that registered it: never one that acts as
/// somebody else.
public struct BackingFiles: Sendable {
  private let device: CInt

  init(_ device: CInt) { self.device = device }

  /// Registers the file of a descriptor, O_PATH included; its number, which is never 0.
  ///
  /// Throws EPERM without CAP_SYS_ADMIN, ELOOP where too many file systems are stacked.
  public func open(_ descriptor: CInt) throws(Errno) -> Int32 {
    let number = cfuse_backing_open(device, descriptor)
    if number < 0 { throw Errno(-number) }
    return number
  }

  /// Takes a registration back; files that are open keep it.
  public func close(_ number: Int32) {
    _ = cfuse_backing_close(device, number)
  }

  /// Has the kernel forget a node's attributes.
  ///
  /// It does not see what is stored through a shared mapping of the backing file, so it may keep
  /// none while one can be.
  public func forgetAttributes(of node: NodeID) {
    _ = cfuse_invalidate_attributes(device, node.rawValue)
  }
}

/// The nodes that the kernel knows, of one connection.
public struct KernelNodes: Sendable {
  private let device: CInt

  init(_ device: CInt) { self.device = device }

  /// Whether the kernel knows a node; it forgets the node's attributes by being asked.
  ///
  /// One that it does not know it will never name again, but to forget it. Waits for nothing.
  public func contains(_ node: NodeID) -> Bool {
    cfuse_invalidate_attributes(device, node.rawValue) != -ENOENT
  }
}
