// A listing in the form of the kernel's protocol: entries are added until one does not fit.
internal import CFuse3
internal import Glibc
public import LinuxKit

/// Packs the entries of a listing into memory of the caller's.
public struct DirectoryBuffer {
  let start: UnsafeMutableRawPointer
  private let capacity: Int
  /// How many bytes are taken.
  public private(set) var count = 0

  /// Packs into `capacity` bytes at `start`.
  public init(_ start: UnsafeMutableRawPointer, capacity: Int) {
    self.start = start
    self.capacity = capacity
  }

  /// Whether an entry of such a name fits; asked before a lookup is counted for it.
  public func fits(_ name: Name, withAttributes: Bool) -> Bool {
    // fuse_dirent is 24 bytes before its name, fuse_direntplus 128 more; padded to 8.
    let size = (name.count + 24 + (withAttributes ? 128 : 0) + 7) & ~7
    return size <= capacity - count
  }

  /// Adds a name with its inode number and type; `nextOffset` is where the listing goes on.
  public mutating func add(_ name: Name, inode: UInt64, mode: UInt32, nextOffset: Int64) {
    var attributes = stat()
    attributes.st_ino = ino_t(inode)
    attributes.st_mode = mode
    let room = capacity - count
    count += fuse_add_direntry(
      nil, place, room, name.cString, &attributes, off_t(nextOffset))
  }

  /// Adds a name with its node and attributes.
  public mutating func add(_ name: Name, _ entry: borrowing Entry, nextOffset: Int64) {
    let room = capacity - count
    count += withUnsafePointer(to: entry.raw) {
      fuse_add_direntry_plus(nil, place, room, name.cString, $0, off_t(nextOffset))
    }
  }

  /// Calls `body` with the node of each entry that was added with attributes and counts as a
  /// lookup.
  public func forEachNode(_ body: (NodeID) -> Void) {
    var offset = 0
    while offset < count {
      // fuse_direntplus: 128 bytes that begin with the node, then inode, offset, length, type.
      let node = (start + offset).load(as: UInt64.self)
      let length = (start + offset).load(fromByteOffset: 128 + 16, as: UInt32.self)
      if node != 0 { body(NodeID(node)) }
      offset += (128 + 24 + Int(length) + 7) & ~7
    }
  }

  private var place: UnsafeMutablePointer<CChar> {
    (start + count).assumingMemoryBound(to: CChar.self)
  }
}
