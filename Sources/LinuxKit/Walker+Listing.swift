// What is in a directory: names as bytes, with their kind and number.
internal import CLinux
internal import Glibc

/// One entry of a directory; `.` and `..` are none.
public struct DirectoryEntry: Equatable, Sendable {
  /// The name, as the file system keeps it.
  public var name: [UInt8]
  /// The kind, as it was when the directory was read.
  public var kind: FileKind
  /// The inode's number.
  public var inode: UInt64
}

/// Some entries of a directory, and where the next ones begin.
struct DirectoryBatch {
  var entries: [DirectoryEntry]
  var nextPosition: Int64
  var isAtEnd: Bool
}

extension Walker {
  /// All entries, in the file system's order.
  public borrowing func entries() throws(Errno) -> [DirectoryEntry] {
    let reader = try reopened()
    var all: [DirectoryEntry] = []
    var position: Int64 = 0
    while true {
      let batch = try reader.batch(from: position)
      all += batch.entries
      if batch.isAtEnd { return all }
      position = batch.nextPosition
    }
  }

  /// The entries from a position on, as many as one system call gives.
  borrowing func batch(from position: Int64) throws(Errno) -> DirectoryBatch {
    let directory = descriptor.rawValue
    try retrying { Int64(lseek(directory, Int(position), SEEK_SET)) }
    let capacity = 32 << 10
    var raw = [UInt8](repeating: 0, count: capacity)
    let count = try retrying {
      raw.withUnsafeMutableBytes { clinux_getdents64(directory, $0.baseAddress, UInt(capacity)) }
    }
    var batch = DirectoryBatch(entries: [], nextPosition: position, isAtEnd: count == 0)
    var rest = raw.prefix(count)
    while let record = RawEntry(&rest) {
      batch.nextPosition = record.nextPosition
      if record.name == [UInt8(ascii: ".")] || record.name.elementsEqual("..".utf8) { continue }
      guard let kind = try kind(of: record) else { continue }
      batch.entries.append(DirectoryEntry(name: record.name, kind: kind, inode: record.inode))
    }
    return batch
  }

  /// The kind of an entry, asked for where the file system does not list it; nil if it is gone.
  private borrowing func kind(of record: RawEntry) throws(Errno) -> FileKind? {
    switch Int(record.type) {
    case Int(DT_REG): return .regular
    case Int(DT_DIR): return .directory
    case Int(DT_LNK): return .symbolicLink
    case Int(DT_FIFO): return .fifo
    case Int(DT_SOCK): return .socket
    case Int(DT_CHR): return .characterDevice
    case Int(DT_BLK): return .blockDevice
    default:
      do {
        return try status(of: record.name).kind
      } catch .noEntry {
        return nil
      }
    }
  }
}

/// A struct linux_dirent64: inode, position of the next, length of the record, type, name, NUL.
private struct RawEntry {
  let inode: UInt64
  let nextPosition: Int64
  let type: UInt8
  let name: [UInt8]

  /// Takes the first record away from `bytes`; nil at their end.
  init?(_ bytes: inout ArraySlice<UInt8>) {
    let headerLength = 19
    guard bytes.count > headerLength else { return nil }
    func integer(at offset: Int, width: Int) -> UInt64 {
      let start = bytes.startIndex + offset
      return bytes[start..<start + width].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    let length = Int(integer(at: 16, width: 2))
    guard length > headerLength, length <= bytes.count else { return nil }
    inode = integer(at: 0, width: 8)
    nextPosition = Int64(bitPattern: integer(at: 8, width: 8))
    type = UInt8(integer(at: 18, width: 1))
    name = Array(bytes.prefix(length).dropFirst(headerLength).prefix { $0 != 0 })
    bytes = bytes.dropFirst(length)
  }
}
