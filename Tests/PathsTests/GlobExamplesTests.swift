// A glob turned round: its examples match, and its text reads as the same glob.

import Paths
import Testing

private let patterns = [
  "a", "*", "?", "*.log", "a*b", "[abc]x", "[!a-z]*", "[[:punct:]]", "[[:cntrl:]]?",
  "*.plist??????",
  "\u{E9}*", "[.-0]", "a*b*c", "[!!-~]", "[x]", "*x*y*", "????", "[]-]", "[!]]",
]

private func glob(_ pattern: String) throws -> Glob {
  try Glob(Array(pattern.utf8).map { PatternByte($0, isEscaped: false) }[...])
}

/// Reads a text as a profile would.
private func reading(_ text: String) throws -> Glob {
  var bytes: [PatternByte] = []
  var rest = Array(text.utf8)[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "\\") else {
      bytes.append(PatternByte(byte, isEscaped: false))
      continue
    }
    let digits = rest.prefix(3).prefix { (0x30...0x37).contains($0) }
    if let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8), digits.count == 3 {
      bytes.append(PatternByte(value, isEscaped: true))
      rest.removeFirst(3)
    } else if let byte = rest.popFirst() {
      bytes.append(PatternByte(byte, isEscaped: true))
    }
  }
  return try Glob(bytes[...])
}

private func matches(_ table: GlobTable, _ id: GlobTable.ID, _ name: [UInt8]) -> Bool {
  table.matches(id, name.span)
}

struct GlobExamplesTests {
  @Test(arguments: patterns)
  func `every example matches, and there is one`(_ pattern: String) throws {
    var table = GlobTable()
    let glob = try glob(pattern)
    let id = table.insert(glob)
    #expect(!glob.examples.isEmpty)
    for name in glob.examples { #expect(matches(table, id, name), "\(name)") }
  }

  @Test(arguments: patterns)
  func `the text reads as a glob of the same names`(_ pattern: String) throws {
    var table = GlobTable()
    let id = table.insert(try glob(pattern))
    let copy = table.insert(try reading(try glob(pattern).text))
    for byte in UInt8(1)...255 where byte != UInt8(ascii: "/") {
      for name in [[byte], [byte, byte], [byte, UInt8(ascii: "x")], [UInt8(ascii: "a"), byte]] {
        #expect(matches(table, id, name) == matches(table, copy, name), "\(name)")
      }
    }
  }

  @Test(arguments: patterns)
  func `a common example is one of both, and is found where there is one`(
    _ pattern: String
  ) throws {
    var table = GlobTable()
    let one = try glob(pattern)
    for other in try patterns.map(glob) {
      let name = one.commonExample(with: other)
      let ids = [table.insert(one), table.insert(other)]
      if let name {
        #expect(ids.allSatisfy { matches(table, $0, name) }, "\(other.text): \(name)")
      } else {
        let examples = one.examples + other.examples
        #expect(!examples.contains { name in ids.allSatisfy { matches(table, $0, name) } })
      }
    }
  }

  @Test func `a path as a pattern matches itself whatever its bytes`() throws {
    let name: [UInt8] = Array("a*b?[c]\\\"d ".utf8) + [0xFF, 0x01]
    let text = Presentation.pattern([name])
    #expect(text == #""/a\*b\?\[c]\\\"d \377\001""#)
  }

  @Test func `a line of a profile is shown on one line`() {
    let line = Array("/a   \"b  c\"\t\\052 # d\u{1B}[m \r".utf8)
    #expect(Presentation.line(line) == #"/a "b  c" \052 # d\033[m"#)
  }
}
