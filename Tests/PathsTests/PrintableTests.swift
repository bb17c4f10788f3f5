// A printed name steers no terminal, and two names never print alike.
import Paths
import Testing

@Suite struct PrintableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let label: String
    let bytes: [UInt8]
    let want: String
    var testDescription: String { label }
  }

  @Test(
    "a name prints as text, and escaped where it is none",
    arguments: [
      Row(label: "plain", bytes: Array("Notes.app".utf8), want: "Notes.app"),
      Row(label: "other scripts", bytes: Array("Übersicht 日本".utf8), want: "Übersicht 日本"),
      Row(label: "a decomposed letter stays so", bytes: [0x75, 0xCC, 0x88], want: "u\u{308}"),
      Row(label: "a backslash", bytes: Array(#"a\b"#.utf8), want: #"a\\b"#),
      Row(label: "an escape sequence", bytes: Array("\u{1B}[31m".utf8), want: #"\033[31m"#),
      Row(label: "a line feed", bytes: Array("a\nb".utf8), want: #"a\012b"#),
      Row(label: "a direction override", bytes: Array("\u{202E}".utf8), want: #"\342\200\256"#),
      Row(label: "not UTF-8", bytes: [0x61, 0xFF, 0x62], want: #"a\377b"#),
      Row(label: "cut short", bytes: [0xE6, 0x97], want: #"\346\227"#),
      Row(label: "nothing", bytes: [], want: ""),
    ])
  func prints(_ row: Row) {
    #expect(row.bytes.printable == row.want)
    #expect(Presentation.bytes(ofEscaped: row.want.utf8) == row.bytes)
  }
}
