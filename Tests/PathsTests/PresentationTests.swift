// Names are printed so that no terminal is harmed and the bytes can be read off.

import Paths
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let bytes: [UInt8]
  let escaped: String
  let quoted: String
  var testDescription: String { escaped }

  init(_ bytes: [UInt8], _ escaped: String, _ quoted: String) {
    self.bytes = bytes
    self.escaped = escaped
    self.quoted = quoted
  }

  init(_ text: String, _ escaped: String, _ quoted: String) {
    self.init(Array(text.utf8), escaped, quoted)
  }
}

private let rows = [
  Row("", "", "\"\""),
  Row("a.txt", "a.txt", "a.txt"),
  Row("a b", "a b", "\"a b\""),
  Row("Übung", "Übung", "Übung"),
  Row("a\nb", #"a\012b"#, #"a\012b"#),
  Row("a\u{1B}[2J", #"a\033[2J"#, #"a\033[2J"#),
  Row("a\u{202E}b", #"a\342\200\256b"#, #"a\342\200\256b"#),
  Row("a\u{85}", #"a\302\205"#, #"a\302\205"#),
  Row("a\u{A0}b", #"a\302\240b"#, #"a\302\240b"#),
  Row([0xFF, 0x61], #"\377a"#, #"\377a"#),
  Row([0xC3], #"\303"#, #"\303"#),
  Row([0xC0, 0x80], #"\300\200"#, #"\300\200"#),
  Row(#"a\b"#, #"a\\b"#, #"a\\b"#),
  Row(#"say "hi""#, #"say "hi""#, #""say \"hi\"""#),
  Row("#1", "#1", "\"#1\""),
]

struct PresentationTests {
  @Test(arguments: rows)
  private func `a name is printed so that its bytes can be read off`(_ row: Row) {
    #expect(Presentation.escaped(row.bytes) == row.escaped)
    #expect(Presentation.quoted(row.bytes) == row.quoted)
  }

  @Test func `components are printed as one absolute path`() {
    #expect(Presentation.path([]) == "/")
    #expect(Presentation.path([Array("a".utf8), Array("b".utf8)]) == "/a/b")
    #expect(Presentation.path([Array("a b".utf8), [0xFF]]) == #""/a b/\377""#)
  }
}
