// The OpenStep form as it is written.

import PropertyLists
import Testing

@Suite struct OpenStepWriterTests {
  @Test("lists are indented as 'defaults read' does on macOS")
  func indentation() throws {
    var tile = PropertyDictionary()
    tile["GUID"] = .integer(25)
    var list = PropertyDictionary()
    list["persistent-apps"] = .array([.dictionary(tile), .string("a b")])
    list["autohide"] = .boolean(true)
    list["empty"] = .array([])
    list["size"] = .real(1.5)
    #expect(
      PropertyList.dictionary(list).openStepText == """
        {
            autohide = 1;
            empty =     (
            );
            "persistent-apps" =     (
                        {
                    GUID = 25;
                },
                "a b"
            );
            size = "1.5";
        }
        """)
  }

  @Test(
    "a text is in quotes unless it is one word, and is read as it was",
    arguments: [
      ("word_1", "word_1"), ("", "\"\""), ("com.example", "\"com.example\""),
      ("\"\\\n\t", #""\"\\\n\t""#), ("é😀", #""\U00e9\Ud83d\Ude00""#),
      ("\u{1b}[2J", #""\U001b[2J""#),
    ])
  func quotes(_ text: String, _ want: String) throws {
    let list = PropertyList.array([.string(text)])
    #expect(list.openStepText == "(\n    \(want)\n)")
    #expect(try PropertyList.openStep(Array(list.openStepText.utf8)) == list)
  }

  @Test("a value that stands alone has no quotes")
  func alone() {
    #expect(PropertyList.string("a \"b\"").plainText == "a \"b\"")
    #expect(PropertyList.integer(-5).plainText == "-5")
    #expect(PropertyList.real(2).plainText == "2")
    #expect(PropertyList.boolean(false).plainText == "0")
    #expect(PropertyList.date(86_400).plainText == "1970-01-02 00:00:00 +0000")
    #expect(PropertyList.data([15, 189, 119, 1, 28]).plainText == "<0fbd7701 1c>")
  }
}
