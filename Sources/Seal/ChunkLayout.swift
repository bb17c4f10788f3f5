// How a file of a bundle is cut into the chunks that are verified one by one.

/// The chunks of one file: every one has the same size but the last, which may be shorter.
public struct ChunkLayout: Equatable, Sendable {
  /// The size of a chunk in bytes: what is hashed together, and refused together.
  public static var chunkSize: Int64 { 65_536 }

  /// The file's size in bytes.
  public let fileSize: Int64

  /// The layout of a file of this many bytes, which is not negative.
  public init(fileSize: Int64) {
    precondition(fileSize >= 0, "a file has no negative size")
    self.fileSize = fileSize
  }

  /// How many chunks the file has; none if it is empty.
  public var count: Int {
    Int(fileSize / Self.chunkSize + (fileSize % Self.chunkSize == 0 ? 0 : 1))
  }

  /// The bytes of one chunk, as offsets in the file.
  public func bytes(of chunk: Int) -> Range<Int64> {
    precondition(chunk >= 0 && chunk < count, "no such chunk")
    let start = Int64(chunk) * Self.chunkSize
    return start..<Swift.min(start + Self.chunkSize, fileSize)
  }

  /// The chunks that hold any of these bytes; empty beyond the end.
  public func chunks(over bytes: Range<Int64>) -> Range<Int> {
    let clamped = bytes.clamped(to: 0..<fileSize)
    guard !clamped.isEmpty else { return 0..<0 }
    let last = Int((clamped.upperBound - 1) / Self.chunkSize)
    return Int(clamped.lowerBound / Self.chunkSize)..<(last + 1)
  }
}
