// Writing the table of a bundle from what was found in it, in any order.

/// Why a bundle can't have a table.
public enum ChunkTableError: Error, Equatable {
  /// An entry has no directory, is there twice, or has a name that is none.
  case misplaced(path: [UInt8])
  /// There is more than a table can hold.
  case tooLarge
}

/// One entry of a bundle, as whoever looked at it found it.
public struct SealedItem: Equatable, Sendable {
  /// What it holds.
  public enum Content: Equatable, Sendable {
    /// Entries of their own.
    case directory
    /// Bytes; `hashes` are those of its chunks, one after the other.
    case file(size: Int64, isExecutable: Bool, hashes: [UInt8])
    /// Where it leads.
    case link(target: [UInt8])
  }

  /// The path below the bundle, with slashes between.
  public var path: [UInt8]
  /// What it holds.
  public var content: Content
  /// When that was last changed, in seconds since 1970.
  public var seconds: Int64
  /// The rest of that time, below 10⁹.
  public var nanoseconds: UInt32

  /// An item with every field given.
  public init(path: [UInt8], content: Content, seconds: Int64, nanoseconds: UInt32) {
    self.path = path
    self.content = content
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  fileprivate var name: ArraySlice<UInt8> {
    path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...]
  }

  fileprivate var parent: [UInt8] {
    Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
  }
}

extension ChunkTable {
  /// The bytes of the table of these items; the bundle itself, with an empty path, is one of them.
  public static func encode(_ items: [SealedItem]) throws(ChunkTableError) -> [UInt8] {
    var writer = ChunkTableWriter()
    let bytes = try writer.encode(items)
    // Whatever was wrong with the items, no table is written that can't be read.
    guard bytes.count <= maximumByteCount else { throw .tooLarge }
    guard ChunkTable(checking: bytes.span) != nil else { throw .misplaced(path: []) }
    return bytes
  }
}

extension ChunkTable {
  /// What a table was made of.
  public func items(in bytes: Span<UInt8>) -> [SealedItem] {
    (0..<entryCount).map { index in
      let entry = entry(index, in: bytes)
      return SealedItem(
        path: path(of: index, in: bytes), content: content(of: entry, in: bytes),
        seconds: entry.seconds, nanoseconds: entry.nanoseconds)
    }
  }

  private func content(of entry: Entry, in bytes: Span<UInt8>) -> SealedItem.Content {
    switch entry.kind {
    case .directory: return .directory
    case .link: return .link(target: entry.content.map { bytes[$0] })
    case .file:
      return .file(
        size: entry.size, isExecutable: entry.isExecutable,
        hashes: entry.content.flatMap { hash(of: $0).map { bytes[$0] } })
    }
  }
}

private struct ChunkTableWriter {
  private var entries: [UInt8] = []
  private var text: [UInt8] = []
  private var hashes: [UInt8] = []
  private var chunkCount = 0

  mutating func encode(_ items: [SealedItem]) throws(ChunkTableError) -> [UInt8] {
    var children: [[UInt8]: [SealedItem]] = [:]
    var roots: [SealedItem] = []
    for item in items {
      if item.path.isEmpty {
        roots.append(item)
      } else {
        children[item.parent, default: []].append(item)
      }
    }
    guard roots.count == 1 else { throw .misplaced(path: []) }
    var queue = roots.map { ($0, 0) }
    var index = 0
    while index < queue.count {
      let (item, parent) = queue[index]
      var below: [SealedItem] = []
      if item.content == .directory {
        below = children.removeValue(forKey: item.path) ?? []
        below.sort { $0.name.lexicographicallyPrecedes($1.name) }
      }
      try add(item, parent: parent, first: queue.count, count: below.count)
      queue += below.map { ($0, index) }
      index += 1
    }
    if let lost = children.values.first?.first { throw .misplaced(path: lost.path) }
    return try header(entryCount: queue.count) + entries + text + hashes
  }

  private func header(entryCount: Int) throws(ChunkTableError) -> [UInt8] {
    let numbers = [
      Int(ChunkTable.version), Int(ChunkLayout.chunkSize), entryCount, text.count, chunkCount,
    ]
    var bytes = ChunkTable.magic
    for number in numbers { bytes.append(little: try word(number)) }
    return bytes + [UInt8](repeating: 0, count: ChunkTable.headerByteCount - bytes.count)
  }

  private func word(_ number: Int) throws(ChunkTableError) -> UInt32 {
    guard let word = UInt32(exactly: number) else { throw .tooLarge }
    return word
  }

  private mutating func add(
    _ item: SealedItem, parent: Int, first: Int, count: Int
  ) throws(ChunkTableError) {
    let name = Array(item.name)
    guard item.path.isEmpty || ChunkTable.isName(name.span, 0..<name.count),
      item.nanoseconds < 1_000_000_000
    else { throw .misplaced(path: item.path) }
    entries.append(little: try word(parent))
    entries.append(little: try word(text.count))
    entries.append(little: UInt16(name.count))
    text += name
    switch item.content {
    case .directory:
      entries += [ChunkTable.Kind.directory.rawValue, 0]
      try addContent(first: first, count: count, size: 0, item)
    case .file(let size, let isExecutable, let digests):
      guard size >= 0, digests.count == ChunkLayout(fileSize: size).count * ChunkTable.hashByteCount
      else { throw .misplaced(path: item.path) }
      let chunks = digests.count / ChunkTable.hashByteCount
      entries += [ChunkTable.Kind.file.rawValue, isExecutable ? 1 : 0]
      try addContent(first: chunkCount, count: chunks, size: size, item)
      chunkCount += chunks
      hashes += digests
    case .link(let target):
      guard (1...ChunkTable.maximumTargetByteCount).contains(target.count), !target.contains(0)
      else { throw .misplaced(path: item.path) }
      entries += [ChunkTable.Kind.link.rawValue, 0]
      try addContent(first: text.count, count: target.count, size: Int64(target.count), item)
      text += target
    }
  }

  private mutating func addContent(
    first: Int, count: Int, size: Int64, _ item: SealedItem
  ) throws(ChunkTableError) {
    entries.append(little: try word(first))
    entries.append(little: try word(count))
    entries.append(little: item.nanoseconds)
    entries.append(little: UInt64(bitPattern: size))
    entries.append(little: UInt64(bitPattern: item.seconds))
  }
}

extension [UInt8] {
  fileprivate mutating func append<Number: FixedWidthInteger>(little number: Number) {
    for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
