// One entry of a listing, in the kernel's own form: linux_dirent64.

/// An entry in a buffer that getdents64(2) filled.
public struct DirectoryRecord {
  private let start: UnsafeMutableRawPointer

  /// The entry at an offset of a filled buffer.
  public init(at start: UnsafeMutableRawPointer) { self.start = start }

  /// The inode number.
  public var inode: UInt64 { start.loadUnaligned(as: UInt64.self) }
  /// The cookie from which a listing goes on behind this entry.
  public var nextOffset: Int64 { start.loadUnaligned(fromByteOffset: 8, as: Int64.self) }
  /// How many bytes the entry takes in the buffer.
  public var byteCount: Int { Int(start.loadUnaligned(fromByteOffset: 16, as: UInt16.self)) }
  /// The type, as the S_IFMT bits of a mode; 0 if the file system does not say.
  public var type: UInt32 {
    UInt32(start.loadUnaligned(fromByteOffset: 18, as: UInt8.self)) << 12
  }
  /// The name.
  public var name: Name { Name((start + 19).assumingMemoryBound(to: CChar.self)) }
}
