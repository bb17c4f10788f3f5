// A writer of zips that also makes what no honest tool would.

/// Builds a zip whose entries are stored as they are.
public struct ZipWriter {
  private var bytes: [UInt8] = []
  private var directory: [UInt8] = []
  private var count = 0

  /// An empty zip.
  public init() {}

  /// Adds an entry with a mode, its kind in the upper bits; the name may be anything.
  ///
  /// `claimedSize` is what the entry says of itself.
  public mutating func add(
    _ name: [UInt8], mode: UInt32 = 0o100644, contents: [UInt8] = [], claimedSize: UInt32? = nil
  ) {
    let start = UInt32(bytes.count)
    let size = claimedSize ?? UInt32(contents.count)
    let sums = little(crc32(contents)) + little(UInt32(contents.count)) + little(size)
    let name16 = little(UInt16(name.count))
    // Version 2.0, no flags, stored, 1980-01-01 00:00.
    let common =
      little(UInt16(20)) + little(UInt16(0)) + little(UInt16(0)) + [0, 0, 0x21, 0] + sums
    bytes += [0x50, 0x4b, 3, 4] + common + name16 + [0, 0] + name + contents
    directory += [0x50, 0x4b, 1, 2, 20, 3] + common + name16 + [0, 0, 0, 0, 0, 0, 0, 0]
    directory += little(mode << 16) + little(start) + name
    count += 1
  }

  /// Adds an entry under a name in ASCII.
  public mutating func add(
    _ name: String, mode: UInt32 = 0o100644, contents: String = "", claimedSize: UInt32? = nil
  ) {
    add(
      Array(name.utf8), mode: mode, contents: Array(contents.utf8), claimedSize: claimedSize)
  }

  /// The whole file.
  public func finished() -> [UInt8] {
    let size = little(UInt32(directory.count)) + little(UInt32(bytes.count))
    let counts = little(UInt16(count)) + little(UInt16(count))
    return bytes + directory + [0x50, 0x4b, 5, 6, 0, 0, 0, 0] + counts + size + [0, 0]
  }

  private func little<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    (0..<Value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private func crc32(_ bytes: [UInt8]) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : (sum >> 1) ^ 0xedb8_8320 }
    }
    return ~sum
  }
}
