// The table of a sealed bundle: every entry, and the SHA-256 of every chunk of every file.
//
// It is searched where it lies, without a copy: numbers are little-endian, records have one size,
// and the entries of a directory stand together, in the order of their names. A table is valid in
// one form only, so that two tables with the same bytes, and no others, say the same.
//
//     header    48 bytes: "SFSCHUNK", then 32-bit numbers: version, chunk size, how many entries,
//               bytes of text, chunks; the rest is 0
//     entries   40 bytes each: the bundle itself, then level by level
//     text      names and link targets, in the order of the entries
//     hashes    32 bytes each, in the order of the entries

/// What a checked table holds; its bytes stay with whoever has them.
///
/// Every call is given the bytes that were checked.
public struct ChunkTable: Equatable, Sendable {
  /// How many entries there are, the bundle itself included.
  public let entryCount: Int
  /// How many chunks there are.
  public let chunkCount: Int
  let textByteCount: Int

  /// The entry of the bundle itself.
  public static var root: Int { 0 }
  /// The largest table that is read.
  public static var maximumByteCount: Int { 1 << 28 }
  /// How many bytes a chunk's hash has.
  public static var hashByteCount: Int { 32 }
  /// How long a name may be, in bytes.
  public static var maximumNameByteCount: Int { 255 }
  /// How long a link's target may be, in bytes.
  public static var maximumTargetByteCount: Int { 4095 }

  static var magic: [UInt8] { Array("SFSCHUNK".utf8) }
  static var version: UInt32 { 1 }
  static var headerByteCount: Int { 48 }
  static var entryByteCount: Int { 40 }

  /// What an entry is.
  public enum Kind: UInt8, Sendable {
    /// A directory.
    case directory = 1
    /// A regular file.
    case file = 2
    /// A symbolic link.
    case link = 3
  }

  /// What is known about an entry.
  public struct Entry: Equatable, Sendable {
    /// What it is.
    public let kind: Kind
    /// Whether the file may be executed.
    public let isExecutable: Bool
    /// The entry of its directory; its own for the bundle itself.
    public let parent: Int
    /// Where its name is in the table.
    public let name: Range<Int>
    /// A directory's entries, a file's chunks, or where a link's target is in the table.
    public let content: Range<Int>
    /// A file's size in bytes, or that of a link's target; 0 for a directory.
    public let size: Int64
    /// When its content was last changed, in seconds since 1970.
    public let seconds: Int64
    /// The rest of that time.
    public let nanoseconds: UInt32
  }

  private var textStart: Int { Self.headerByteCount + entryCount * Self.entryByteCount }
  private var hashStart: Int { textStart + textByteCount }

  /// How many bytes the table has.
  public var byteCount: Int { hashStart + chunkCount * Self.hashByteCount }
}

// MARK: - Reading what was checked

extension ChunkTable {
  /// An entry of the table; `index` is below `entryCount`.
  public func entry(_ index: Int, in bytes: Span<UInt8>) -> Entry {
    precondition(index >= 0 && index < entryCount, "no such entry")
    let start = Self.headerByteCount + index * Self.entryByteCount
    let kind = Kind(rawValue: bytes[start + 10]) ?? .directory
    let name = textStart + Int(bytes.word32(at: start + 4))
    let first = Int(bytes.word32(at: start + 12))
    let content = (kind == .link ? textStart : 0) + first
    return Entry(
      kind: kind, isExecutable: bytes[start + 11] != 0, parent: Int(bytes.word32(at: start)),
      name: name..<(name + Int(bytes.word16(at: start + 8))),
      content: content..<(content + Int(bytes.word32(at: start + 16))),
      size: Int64(truncatingIfNeeded: bytes.word64(at: start + 24)),
      seconds: Int64(truncatingIfNeeded: bytes.word64(at: start + 32)),
      nanoseconds: bytes.word32(at: start + 20))
  }

  /// The entry of a name in a directory; nil if there is none.
  public func child(
    named name: Span<UInt8>, of directory: Entry, in bytes: Span<UInt8>
  ) -> Int? {
    guard directory.kind == .directory else { return nil }
    var low = directory.content.lowerBound
    var high = directory.content.upperBound
    while low < high {
      let middle = low + (high - low) / 2
      let order = bytes.order(of: entry(middle, in: bytes).name, and: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// The entry that a path below the bundle names, with slashes between; nil if there is none.
  public func find(path: [UInt8], in bytes: Span<UInt8>) -> Int? {
    var index = Self.root
    for name in path.split(separator: UInt8(ascii: "/")) {
      let name = Array(name)
      guard let next = child(named: name.span, of: entry(index, in: bytes), in: bytes) else {
        return nil
      }
      index = next
    }
    return index
  }

  /// The entry to which a path leads when its links are followed; nil if it leads nowhere, or out.
  public func resolve(path: [UInt8], in bytes: Span<UInt8>) -> Int? {
    let slash = UInt8(ascii: "/")
    var rest = Array(path.split(separator: slash).map(Array.init).reversed())
    var index = Self.root
    var links = 0
    while let name = rest.popLast() {
      if name.elementsEqual(".".utf8) { continue }
      if name.elementsEqual("..".utf8) {
        if index == Self.root { return nil }
        index = entry(index, in: bytes).parent
        continue
      }
      guard let next = child(named: name.span, of: entry(index, in: bytes), in: bytes) else {
        return nil
      }
      let found = entry(next, in: bytes)
      guard found.kind == .link else {
        index = next
        continue
      }
      links += 1
      let target = bytes.array(found.content)
      guard links <= 40, target.first != slash else { return nil }
      rest += target.split(separator: slash).map(Array.init).reversed()
    }
    return index
  }

  /// The path of an entry below the bundle; empty for the bundle itself.
  public func path(of index: Int, in bytes: Span<UInt8>) -> [UInt8] {
    var names: [[UInt8]] = []
    var index = index
    while index != Self.root {
      let entry = entry(index, in: bytes)
      names.append(bytes.array(entry.name))
      index = entry.parent
    }
    return Array(names.reversed().joined(separator: [UInt8(ascii: "/")]))
  }

  /// Where the hash of a chunk is in the table; `chunk` is below `chunkCount`.
  public func hash(of chunk: Int) -> Range<Int> {
    precondition(chunk >= 0 && chunk < chunkCount, "no such chunk")
    let start = hashStart + chunk * Self.hashByteCount
    return start..<(start + Self.hashByteCount)
  }
}

// MARK: - Checking what somebody wrote

extension ChunkTable {
  /// Checks a table; nil for bytes that are none, or not in the one form.
  public init?(checking bytes: Span<UInt8>) {
    guard let table = Self.header(of: bytes) else { return nil }
    self = table
    var next = Next(entry: 1)
    for index in 0..<entryCount {
      guard isValid(index, in: bytes, &next) else { return nil }
    }
    guard next.entry == entryCount, next.text == textByteCount, next.chunk == chunkCount else {
      return nil
    }
  }

  private init(entryCount: Int, textByteCount: Int, chunkCount: Int) {
    self.entryCount = entryCount
    self.textByteCount = textByteCount
    self.chunkCount = chunkCount
  }

  /// The counts, if the magic is right and the bytes are as many as they should be.
  private static func header(of bytes: Span<UInt8>) -> ChunkTable? {
    guard bytes.count >= headerByteCount, bytes.count <= maximumByteCount else { return nil }
    for (offset, byte) in magic.enumerated() where bytes[offset] != byte { return nil }
    guard bytes.word32(at: 8) == version,
      Int64(bytes.word32(at: 12)) == ChunkLayout.chunkSize
    else { return nil }
    for offset in 28..<headerByteCount where bytes[offset] != 0 { return nil }
    let table = ChunkTable(
      entryCount: Int(bytes.word32(at: 16)), textByteCount: Int(bytes.word32(at: 20)),
      chunkCount: Int(bytes.word32(at: 24)))
    return table.entryCount > 0 && table.byteCount == bytes.count ? table : nil
  }

  /// What the next directory, name and file begin with.
  private struct Next {
    var entry: Int
    var text = 0
    var chunk = 0
  }

  private func isValid(_ index: Int, in bytes: Span<UInt8>, _ next: inout Next) -> Bool {
    let start = Self.headerByteCount + index * Self.entryByteCount
    let nameOffset = Int(bytes.word32(at: start + 4))
    let nameCount = Int(bytes.word16(at: start + 8))
    guard let kind = Kind(rawValue: bytes[start + 10]),
      bytes[start + 11] == 0 || (bytes[start + 11] == 1 && kind == .file),
      bytes.word32(at: start + 20) < 1_000_000_000,
      nameOffset == next.text, nameCount <= textByteCount - next.text
    else { return false }
    next.text += nameCount
    let content = (
      first: Int(bytes.word32(at: start + 12)), count: Int(bytes.word32(at: start + 16))
    )
    let size = Int64(truncatingIfNeeded: bytes.word64(at: start + 24))
    guard isValid(kind, content, size, in: bytes, &next) else { return false }
    if index == Self.root {
      return kind == .directory && nameCount == 0 && bytes.word32(at: start) == 0
    }
    return isInPlace(index, entry(index, in: bytes), in: bytes)
  }

  /// Whether what an entry holds comes next, and is as much as its size says.
  private func isValid(
    _ kind: Kind, _ content: (first: Int, count: Int), _ size: Int64, in bytes: Span<UInt8>,
    _ next: inout Next
  ) -> Bool {
    switch kind {
    case .directory:
      guard content.first == next.entry, content.count <= entryCount - next.entry, size == 0 else {
        return false
      }
      next.entry += content.count
    case .file:
      guard size >= 0, content.first == next.chunk, content.count <= chunkCount - next.chunk,
        content.count == ChunkLayout(fileSize: size).count
      else { return false }
      next.chunk += content.count
    case .link:
      guard content.first == next.text, content.count <= textByteCount - next.text,
        (1...Self.maximumTargetByteCount).contains(content.count), size == Int64(content.count)
      else { return false }
      let target = (textStart + next.text)..<(textStart + next.text + content.count)
      for offset in target where bytes[offset] == 0 { return false }
      next.text += content.count
    }
    return true
  }

  /// Whether an entry is one of its directory's, behind the one whose name comes before.
  private func isInPlace(_ index: Int, _ entry: Entry, in bytes: Span<UInt8>) -> Bool {
    guard entry.parent < index, Self.isName(bytes, entry.name) else { return false }
    let parent = self.entry(entry.parent, in: bytes)
    guard parent.kind == .directory, parent.content.contains(index) else { return false }
    if index == parent.content.lowerBound { return true }
    return bytes.order(of: self.entry(index - 1, in: bytes).name, and: entry.name) < 0
  }

  static func isName(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard (1...maximumNameByteCount).contains(range.count) else { return false }
    var isDots = range.count <= 2
    for offset in range {
      if bytes[offset] == 0 || bytes[offset] == UInt8(ascii: "/") { return false }
      if bytes[offset] != UInt8(ascii: ".") { isDots = false }
    }
    return !isDots
  }
}

// MARK: - Bytes

extension Span<UInt8> {
  fileprivate func word16(at offset: Int) -> UInt16 {
    UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
  }

  fileprivate func word32(at offset: Int) -> UInt32 {
    UInt32(word16(at: offset)) | UInt32(word16(at: offset + 2)) << 16
  }

  fileprivate func word64(at offset: Int) -> UInt64 {
    UInt64(word32(at: offset)) | UInt64(word32(at: offset + 4)) << 32
  }

  fileprivate func array(_ range: Range<Int>) -> [UInt8] { range.map { self[$0] } }

  /// Below, at or above 0, as the bytes of a range stand to others.
  fileprivate func order(of range: Range<Int>, and other: Span<UInt8>) -> Int {
    for offset in 0..<Swift.min(range.count, other.count) {
      let difference = Int(self[range.lowerBound + offset]) - Int(other[offset])
      if difference != 0 { return difference }
    }
    return range.count - other.count
  }

  fileprivate func order(of range: Range<Int>, and other: Range<Int>) -> Int {
    for offset in 0..<Swift.min(range.count, other.count) {
      let difference =
        Int(self[range.lowerBound + offset]) - Int(self[other.lowerBound + offset])
      if difference != 0 { return difference }
    }
    return range.count - other.count
  }
}
