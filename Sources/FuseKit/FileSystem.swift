// The operations of a file system, as a class whose methods a file system overrides.
//
// A class and not a protocol: libfuse's callbacks are plain C functions, which cannot be generic,
// and a call through a class's table costs neither an existential nor a reference count.
public import CFuse3
public import LinuxKit

/// A file system: one method an opcode, each of which answers its `Reply` exactly once.
///
/// Methods are called from several threads at once. What is not overridden answers ENOSYS. Names
/// and buffers belong to the request and end with it.
open class FileSystem: @unchecked Sendable {
  /// A file system that answers ENOSYS to everything.
  public init() {}

  /// INIT: what is wanted of what the kernel offers.
  open func negotiate(_ connection: inout Connection) {}

  /// A request was answered EIO, since every process that served it has crashed.
  ///
  /// `operation` is what it is called; `node` is the one that it is about, the directory for one
  /// about a name.
  open func giveUp(_ operation: String, _ node: NodeID, uid: UInt32, process: Int32) {}

  /// Finds `name` in `parent`.
  open func lookup(_ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Takes back `count` lookups of a node.
  ///
  /// There is no answer.
  open func forget(_ node: NodeID, _ count: LookupCount) {}

  /// Reads attributes; through `handle` where the caller has the file open.
  open func getAttributes(
    _ request: Request, _ node: NodeID, _ handle: HandleID?, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Changes the attributes that `changes` names to their values in `attributes`.
  open func setAttributes(
    _ request: Request, _ node: NodeID, _ attributes: stat, _ changes: AttributeChanges,
    _ handle: HandleID?, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Reads a symbolic link.
  open func readLink(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Makes a fifo, a socket, an empty file or a device node.
  open func makeNode(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ device: UInt64,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Makes a directory.
  open func makeDirectory(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Removes a name of anything but a directory.
  open func unlink(_ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Removes an empty directory.
  open func removeDirectory(
    _ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Makes a symbolic link.
  open func symbolicLink(
    _ request: Request, _ target: UnsafePointer<CChar>, _ parent: NodeID, _ name: Name,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Renames; `flags` are RENAME_* of renameat2(2).
  open func rename(
    _ request: Request, _ parent: NodeID, _ name: Name, _ newParent: NodeID, _ newName: Name,
    _ flags: UInt32, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Gives a node another name.
  open func link(
    _ request: Request, _ node: NodeID, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Opens a file; `flags` are the caller's, O_CREAT and O_EXCL left out.
  open func open(_ request: Request, _ node: NodeID, _ flags: CInt, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Creates and opens a file.
  open func create(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ flags: CInt,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Reads up to `count` bytes.
  open func read(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Writes.
  open func write(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ bytes: UnsafeRawBufferPointer,
    _ offset: Int64, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// One of several descriptors of an open file was closed.
  ///
  /// ENOSYS ends these for good.
  open func flush(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// The last descriptor of an open file was closed.
  open func release(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Brings a file to the disk; only its data if `dataOnly`.
  open func synchronize(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ dataOnly: Bool,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Allocates, punches or zeroes; `mode` is fallocate(2)'s.
  open func allocate(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ mode: CInt, _ offset: Int64,
    _ length: Int64, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Copies between two open files.
  open func copyRange(
    _ request: Request, _ source: (node: NodeID, handle: HandleID, offset: Int64),
    _ target: (node: NodeID, handle: HandleID, offset: Int64), _ count: Int, _ flags: UInt32,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Finds data or a hole: SEEK_DATA or SEEK_HOLE.
  open func seek(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ whence: CInt,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Opens a directory.
  open func openDirectory(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Lists from `offset` on, in at most `count` bytes; with attributes if `withAttributes`.
  open func readDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ withAttributes: Bool, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// A directory was closed.
  open func releaseDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Brings a directory to the disk.
  open func synchronizeDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ dataOnly: Bool,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Says what is free.
  open func fileSystemStatus(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    reply.fail(.unsupported)
  }

  /// Sets an xattr; `flags` are setxattr(2)'s.
  ///
  /// `clearsSetGroupID`: it is an ACL, and its setter may not keep S_ISGID.
  open func setExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>,
    _ value: UnsafeRawBufferPointer, _ flags: CInt, clearsSetGroupID: Bool,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Reads an xattr of at most `count` bytes; its size if `count` is 0.
  open func getExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ count: Int,
    _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Lists the names of xattrs in at most `count` bytes; their size if `count` is 0.
  open func listExtendedAttributes(
    _ request: Request, _ node: NodeID, _ count: Int, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }

  /// Removes an xattr.
  open func removeExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ reply: consuming Reply
  ) {
    reply.fail(.unsupported)
  }
}

/// Which attributes a SETATTR changes.
public struct AttributeChanges: OptionSet, Sendable {
  /// FUSE_SET_ATTR_* bits as libfuse hands them on.
  public let rawValue: CInt

  /// Wraps bits of libfuse.
  public init(rawValue: CInt) { self.rawValue = rawValue }

  /// The mode.
  public static let mode = AttributeChanges(rawValue: 1 << 0)
  /// The owner.
  public static let uid = AttributeChanges(rawValue: 1 << 1)
  /// The group.
  public static let gid = AttributeChanges(rawValue: 1 << 2)
  /// The size.
  public static let size = AttributeChanges(rawValue: 1 << 3)
  /// The time of the last access.
  public static let accessTime = AttributeChanges(rawValue: 1 << 4)
  /// The time of the last change of the content.
  public static let modificationTime = AttributeChanges(rawValue: 1 << 5)
  /// The time of the last change of anything, which nobody can set but the kernel.
  public static let changeTime = AttributeChanges(rawValue: 1 << 10)
  /// The access time becomes now, whatever its value says.
  public static let accessTimeNow = AttributeChanges(rawValue: 1 << 7)
  /// The modification time becomes now, whatever its value says.
  public static let modificationTimeNow = AttributeChanges(rawValue: 1 << 8)
}
