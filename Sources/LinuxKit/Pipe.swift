// A pipe: two descriptors that are given away or closed one by one.
internal import CLinux
internal import Glibc

/// A pipe between two processes; both ends are close-on-exec.
public struct Pipe: ~Copyable {
  /// Where what was written comes out.
  public let reading: Descriptor
  /// Where to write; nil closes it.
  public var writing: Descriptor?

  /// A new pipe.
  public init() throws(Errno) {
    var ends: [CInt] = [-1, -1]
    try retrying { pipe2(&ends, O_CLOEXEC) }
    reading = Descriptor(owning: ends[0])
    writing = Descriptor(owning: ends[1])
  }
}

extension Descriptor {
  /// What is empty to read and swallows what is written.
  public static func null() throws(Errno) -> Descriptor { try open("/dev/null", O_RDWR) }

  /// All bytes up to the end, from where the descriptor stands.
  ///
  /// Throws EFBIG if there are more than `limit`.
  public borrowing func readToEnd(atMost limit: Int) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    // Most files are small, and to touch new memory takes longer than to read them.
    var chunk = [UInt8](repeating: 0, count: 1 << 12)
    let raw = rawValue
    while true {
      let count = try retrying { read(raw, &chunk, chunk.count) }
      if count == 0 { return bytes }
      bytes += chunk.prefix(count)
      if bytes.count > limit { throw .fileTooLarge }
      if count == chunk.count, count < 1 << 16 { chunk = [UInt8](repeating: 0, count: count * 4) }
    }
  }

  /// What can be read now, waiting for the first of it; empty at the end.
  public borrowing func readSome(atMost count: Int = 4096) throws(Errno) -> [UInt8] {
    try Self.readSome(from: rawValue, atMost: count)
  }

  /// The same from a descriptor that belongs to somebody else.
  public static func readSome(from raw: CInt, atMost count: Int = 4096) throws(Errno) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: count)
    let got = try retrying { read(raw, &chunk, count) }
    return Array(chunk.prefix(got))
  }

  /// A file without a name that holds `bytes` and stands at their beginning.
  ///
  /// It is what a child reads as it would a pipe, without anybody waiting for the other.
  public static func memory(holding bytes: [UInt8]) throws(Errno) -> Descriptor {
    let file = Descriptor(owning: try retrying { memfd_create("sandboxfs", UInt32(MFD_CLOEXEC)) })
    try file.writeAll(bytes)
    try file.rewind()
    return file
  }

  /// Stands at the beginning again.
  public borrowing func rewind() throws(Errno) {
    let raw = rawValue
    _ = try retrying { lseek(raw, 0, SEEK_SET) }
  }

  /// A file without a name that takes at most so many bytes: a write beyond them fails.
  public static func memory(capacity: Int) throws(Errno) -> Descriptor {
    let flags = UInt32(MFD_CLOEXEC | MFD_ALLOW_SEALING)
    let file = Descriptor(owning: try retrying { memfd_create("sandboxfs", flags) })
    let raw = file.rawValue
    try retrying { ftruncate(raw, capacity) }
    try retrying { clinux_fcntl(raw, CLINUX_ADD_SEALS, Int(CLINUX_SEAL_SIZE)) }
    return file
  }

  /// The bytes of a file from its beginning up to the first zero, wherever it stands.
  public borrowing func writtenText(capacity: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: capacity)
    let raw = rawValue
    let count = try retrying { pread(raw, &bytes, capacity, 0) }
    return Array(bytes.prefix(count).prefix { $0 != 0 })
  }

  /// Writes all the bytes, however many calls it takes.
  ///
  /// Throws EPIPE if nobody can read them any more: the caller must have SIGPIPE blocked or
  /// ignored, as `BlockedSignals` has.
  public borrowing func writeAll(_ bytes: [UInt8]) throws(Errno) {
    try Self.writeAll(bytes, to: rawValue)
  }

  /// The same to a descriptor that belongs to somebody else.
  public static func writeAll(_ bytes: [UInt8], to raw: CInt) throws(Errno) {
    var written = 0
    while written < bytes.count {
      written += try retrying {
        bytes[written...].withUnsafeBytes { write(raw, $0.baseAddress, $0.count) }
      }
    }
  }
}
