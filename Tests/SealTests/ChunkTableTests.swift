// The table of a sealed bundle: what was written is found, and nothing else is a table.

import Seal
import Testing

private func item(_ path: String, _ content: SealedItem.Content) -> SealedItem {
  SealedItem(path: Array(path.utf8), content: content, seconds: 1_700_000_000, nanoseconds: 5)
}

private func file(_ path: String, size: Int64, isExecutable: Bool = false) -> SealedItem {
  let count = ChunkLayout(fileSize: size).count * ChunkTable.hashByteCount
  let seed = path.utf8.reduce(0 as UInt8) { $0 &* 31 &+ $1 }
  let hashes = (0..<count).map { seed &+ UInt8(truncatingIfNeeded: $0) }
  return item(path, .file(size: size, isExecutable: isExecutable, hashes: hashes))
}

private let sample = [
  file("Resources/b", size: 70_000), item("", .directory), item("Resources", .directory),
  file("Notes", size: 65_536, isExecutable: true), item("Current", .link(target: [0x41, 0x2F])),
  file("Resources/B", size: 0), item("Resources/empty", .directory),
  file("Resources/\u{E9}", size: 1),
]

// A test's macros can't look into spans.
private func checked(_ bytes: [UInt8]) -> ChunkTable? { ChunkTable(checking: bytes.span) }

private func place(of path: [UInt8], _ table: ChunkTable, _ bytes: [UInt8]) -> Int? {
  table.find(path: path, in: bytes.span)
}

private func path(_ index: Int, _ table: ChunkTable, _ bytes: [UInt8]) -> [UInt8] {
  table.path(of: index, in: bytes.span)
}

@Suite struct ChunkTableTests {
  @Test("every entry is found by its path, with all that was said of it")
  func find() throws {
    let bytes = try ChunkTable.encode(sample)
    let table = try #require(checked(bytes))
    #expect(table.entryCount == sample.count && table.byteCount == bytes.count)
    for item in sample {
      let index = try #require(place(of: item.path, table, bytes))
      let entry = table.entry(index, in: bytes.span)
      #expect(path(index, table, bytes) == item.path)
      #expect(entry.seconds == item.seconds && entry.nanoseconds == item.nanoseconds)
      switch item.content {
      case .directory: #expect(entry.kind == .directory)
      case .link(let target):
        #expect(entry.kind == .link && Array(bytes[entry.content]) == target)
      case .file(let size, let isExecutable, let hashes):
        #expect(entry.kind == .file && entry.size == size && entry.isExecutable == isExecutable)
        #expect(entry.content.flatMap { bytes[table.hash(of: $0)] } == hashes)
      }
    }
  }

  @Test("what is not in it is not found", arguments: ["notes", "Notes/x", "Resources/c", "R", "é"])
  func absent(_ path: String) throws {
    let bytes = try ChunkTable.encode(sample)
    let table = try #require(checked(bytes))
    #expect(place(of: Array(path.utf8), table, bytes) == nil)
  }

  @Test("the order in which entries were found makes no difference")
  func order() throws {
    let bytes = try ChunkTable.encode(sample)
    #expect(try ChunkTable.encode(sample.reversed()) == bytes)
  }

  @Test("what has no place in a bundle has none in a table")
  func misplaced() {
    let wrong: [(String, [SealedItem])] = [
      ("twice", [item("", .directory), file("a", size: 1), file("a", size: 1)]),
      ("without a directory", [item("", .directory), file("a/b", size: 1)]),
      ("below a file", [item("", .directory), file("a", size: 1), file("a/b", size: 1)]),
      ("dots", [item("", .directory), file("..", size: 1)]),
      ("an empty name", [item("", .directory), file("a/", size: 1)]),
      ("no bundle", [file("a", size: 1)]),
      ("two bundles", [item("", .directory), item("", .directory)]),
      ("a file as the bundle", [file("", size: 1)]),
      ("a NUL", [item("", .directory), file("a\0", size: 1)]),
      ("no target", [item("", .directory), item("a", .link(target: []))]),
      (
        "too few hashes",
        [item("", .directory), item("a", .file(size: 1, isExecutable: false, hashes: []))]
      ),
    ]
    for (label, items) in wrong {
      #expect(throws: ChunkTableError.self, "\(label)") { try ChunkTable.encode(items) }
    }
  }

  @Test("a table that was cut, lengthened or has a wrong number is none")
  func broken() throws {
    let bytes = try ChunkTable.encode(sample)
    #expect(checked(bytes.dropLast()) == nil)
    #expect(checked(bytes + [0]) == nil)
    for count in 0..<min(bytes.count, 100) {
      #expect(checked(Array(bytes[..<count])) == nil)
    }
    // Whatever number is changed: it is no table, or one that says something else in the one form.
    for offset in 0..<(48 + 40 * sample.count) {
      for bit in 0..<8 {
        var changed = bytes
        changed[offset] ^= 1 << bit
        guard let other = checked(changed) else { continue }
        #expect(try encodedAgain(other, changed) == changed, "byte \(offset), bit \(bit)")
        #expect(offset >= 48, "the header has no freedom")
      }
    }
  }

  @Test(
    "links are followed inside, and lead nowhere else",
    arguments: [
      ("Current", "Resources"), ("Current/b", "Resources/b"), ("up", "Resources/b"), ("loop", nil),
      ("absolute", nil), ("out", nil), ("Notes", "Notes"), ("dangling", nil),
    ] as [(String, String?)])
  func resolve(_ path: String, _ expected: String?) throws {
    let links = [
      ("Current", "Resources/"), ("Resources/up", "../Resources/./b"), ("up", "Current/up"),
      ("loop", "loop"), ("absolute", "/Notes"), ("out", "Resources/../../x/Notes"),
      ("dangling", "nothing"),
    ].map { item($0.0, .link(target: Array($0.1.utf8))) }
    let bytes = try ChunkTable.encode(sample.filter { $0.path != Array("Current".utf8) } + links)
    let table = try #require(checked(bytes))
    let found = table.resolve(path: Array(path.utf8), in: bytes.span)
    let shown = found.map { String(decoding: table.path(of: $0, in: bytes.span), as: UTF8.self) }
    #expect(shown == expected)
  }
}

/// What a table says, written again.
private func encodedAgain(_ table: ChunkTable, _ bytes: [UInt8]) throws -> [UInt8] {
  try ChunkTable.encode(table.items(in: bytes.span))
}
