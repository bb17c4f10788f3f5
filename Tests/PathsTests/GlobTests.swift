// Globs match the names that their text says, byte by byte.

import Paths
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let pattern: String
  let matches: [String]
  let refuses: [String]

  init(_ pattern: String, matches: [String], refuses: [String]) {
    self.pattern = pattern
    self.matches = matches
    self.refuses = refuses
  }

  var testDescription: String { pattern }
}

/// A pattern in which a backslash escapes the byte behind it.
private func pattern(_ text: String) -> [PatternByte] {
  var bytes: [PatternByte] = []
  var isEscaped = false
  for byte in text.utf8 {
    if byte == UInt8(ascii: "\\"), !isEscaped {
      isEscaped = true
    } else {
      bytes.append(PatternByte(byte, isEscaped: isEscaped))
      isEscaped = false
    }
  }
  return bytes
}

private let rows = [
  Row("a", matches: ["a"], refuses: ["", "b", "aa"]),
  Row("*", matches: ["", "a", ".a", "a b"], refuses: []),
  Row("*.app", matches: ["a.app", ".app", ".x.app"], refuses: ["a.ap", "a.appp", "app"]),
  Row(".*", matches: [".", ".a"], refuses: ["a", "a."]),
  Row("a*b*c", matches: ["abc", "aXbXc", "abbcc"], refuses: ["ab", "acb", "abcd"]),
  Row("a?", matches: ["ab", "a?"], refuses: ["a", "abc"]),
  Row("??", matches: ["ab", "é"], refuses: ["a", "abc"]),
  Row("*.plist??????", matches: ["a.plistAb3xYz"], refuses: ["a.plist", "a.plistAb3xY"]),
  Row("[abc]", matches: ["a", "c"], refuses: ["d", "", "ab"]),
  Row("[a-c]x", matches: ["ax", "cx"], refuses: ["dx", "x"]),
  Row("[!a-c]", matches: ["d", "-"], refuses: ["a", "b", ""]),
  Row("[^a]", matches: ["b"], refuses: ["a"]),
  Row("[]a]", matches: ["]", "a"], refuses: ["b"]),
  Row("[a-]", matches: ["a", "-"], refuses: ["b"]),
  Row("[[:digit:]x]*", matches: ["1", "x2"], refuses: ["a", ""]),
  Row("\\*", matches: ["*"], refuses: ["a", ""]),
  Row("\\[a]", matches: ["[a]"], refuses: ["a"]),
  Row("a]", matches: ["a]"], refuses: ["a"]),
]

private struct BadRow: Sendable, CustomTestStringConvertible {
  let pattern: String
  let offset: Int
  var testDescription: String { pattern }
}

private let badRows = [
  BadRow(pattern: "", offset: 0),
  BadRow(pattern: "a/b", offset: 1),
  BadRow(pattern: "a**b", offset: 2),
  BadRow(pattern: "a[bc", offset: 1),
  BadRow(pattern: "[]", offset: 0),
  BadRow(pattern: "x[z-a]", offset: 1),
  BadRow(pattern: "[[:nope:]]", offset: 0),
]

struct GlobTests {
  @Test(arguments: rows)
  private func `a glob matches whole names and nothing else`(_ row: Row) throws {
    var table = GlobTable()
    let glob = table.insert(try Glob(pattern(row.pattern)[...]))
    for name in row.matches { #expect(table.accepts(glob, Array(name.utf8)), "\(name)") }
    for name in row.refuses { #expect(!table.accepts(glob, Array(name.utf8)), "\(name)") }
  }

  @Test(arguments: badRows)
  private func `a pattern that is none says where`(_ row: BadRow) {
    let error = #expect(throws: GlobError.self) { try Glob(pattern(row.pattern)[...]) }
    #expect(error?.offset == row.offset)
  }

  @Test func `a glob agrees with a matcher that tries everything`() throws {
    var random = Random(seed: 7)
    for _ in 0..<20_000 {
      let text = random.text(of: Array("ab*?".utf8), upTo: 8, without: "**")
      let name = random.text(of: Array("ab".utf8), upTo: 10, without: nil)
      guard !text.isEmpty else { continue }
      var table = GlobTable()
      let glob = table.insert(try Glob(text.map { PatternByte($0, isEscaped: false) }[...]))
      #expect(table.accepts(glob, name) == naive(text[...], name[...]), "\(text) \(name)")
    }
  }

  private func naive(_ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
    guard let first = pattern.first else { return name.isEmpty }
    if first == UInt8(ascii: "*") {
      return (0...name.count).contains { naive(pattern.dropFirst(), name.dropFirst($0)) }
    }
    guard let byte = name.first, first == UInt8(ascii: "?") || first == byte else { return false }
    return naive(pattern.dropFirst(), name.dropFirst())
  }

  @Test func `equal globs share a number`() throws {
    var table = GlobTable()
    let one = table.insert(try Glob(pattern("a[bc]*")[...]))
    let other = table.insert(try Glob(pattern("x*")[...]))
    #expect(table.insert(try Glob(pattern("a[cb]*")[...])) == one)
    #expect(one != other)
  }
}

extension GlobTable {
  /// A span cannot stand inside an expectation.
  fileprivate func accepts(_ glob: ID, _ name: [UInt8]) -> Bool { matches(glob, name.span) }
}

/// Numbers that look random and are the same in every run.
private struct Random {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func number(below bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % bound
  }

  mutating func text(of alphabet: [UInt8], upTo limit: Int, without part: String?) -> [UInt8] {
    while true {
      let count = number(below: limit + 1)
      var bytes: [UInt8] = []
      for _ in 0..<count { bytes.append(alphabet[number(below: alphabet.count)]) }
      guard let part, String(decoding: bytes, as: UTF8.self).contains(part) else { return bytes }
    }
  }
}
