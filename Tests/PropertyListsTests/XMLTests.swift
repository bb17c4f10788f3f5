// The XML form, as Foundation and people write it, and as an attacker would.
import Foundation
import PropertyLists
import Testing

private func plist(_ content: String) -> [UInt8] {
  Array("<?xml version=\"1.0\"?><plist version=\"1.0\">\(content)</plist>".utf8)
}

private func dictionary(_ entries: (String, PropertyList)...) -> PropertyList {
  var dictionary = PropertyDictionary()
  for (key, value) in entries { dictionary[key] = value }
  return .dictionary(dictionary)
}

@Suite struct XMLTests {
  private static var object: [String: Any] {
    [
      "text": "a<b>&\"'\u{e9}\u{20ac}\u{1f600}", "empty": "", "lines": "a\nb\tc", "yes": true,
      "no": false, "minus": -5, "big": UInt64.max, "small": Int64.min, "half": 0.5, "many": 1e300,
      "data": Data((0...255).map(UInt8.init)), "nothing": Data(),
      "date": Date(timeIntervalSince1970: 1_000_000_000),
      "old": Date(timeIntervalSince1970: -1_000_000_000),
      "list": [1, "x", [String: Int](), [Int]()] as [Any], "a & b": ["nested": ["deep": 1]],
    ]
  }
  private static let list: PropertyList = dictionary(
    ("a & b", dictionary(("nested", dictionary(("deep", .integer(1)))))),
    ("big", .integer(Int128(UInt64.max))), ("data", .data((0...255).map(UInt8.init))),
    ("date", .date(1_000_000_000)), ("empty", .string("")), ("half", .real(0.5)),
    ("lines", .string("a\nb\tc")),
    ("list", .array([.integer(1), .string("x"), dictionary(), .array([])])), ("many", .real(1e300)),
    ("minus", .integer(-5)), ("no", .boolean(false)), ("nothing", .data([])),
    ("old", .date(-1_000_000_000)), ("small", .integer(Int128(Int64.min))),
    ("text", .string("a<b>&\"'\u{e9}\u{20ac}\u{1f600}")), ("yes", .boolean(true)))

  @Test("What Foundation writes is read")
  func foundation() throws {
    let data = try PropertyListSerialization.data(
      fromPropertyList: Self.object, format: .xml, options: 0)
    #expect(PropertyList.isXML([UInt8](data)))
    let read = try PropertyList.xml([UInt8](data))
    for entry in Self.list.dictionary?.entries ?? [] {
      #expect(
        read.dictionary?[entry.key] == entry.value, "\(String(decoding: entry.key, as: UTF8.self))")
    }
    #expect(read.dictionary?.count == Self.list.dictionary?.count)
  }

  @Test("What is written Foundation reads, and so do we")
  func written() throws {
    let bytes = try #require(Self.list.xml)
    #expect(try PropertyList.xml(bytes) == Self.list)
    let read = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    #expect((read as? NSDictionary) == (Self.object as NSDictionary))
  }

  @Test(
    "What the form allows is read",
    arguments: [
      ("<string>a</string>", PropertyList.string("a")), ("<string/>", .string("")),
      ("<string>&lt;&#10;&#x20AC;&amp;</string>", .string("<\n\u{20ac}&")),
      ("<string><![CDATA[<&>]]>x</string>", .string("<&>x")),
      ("<string>a<!-- b -->c</string>", .string("ac")),
      ("<string>a\r\nb\rc</string>", .string("a\nb\nc")),
      ("<integer> 5 </integer>", .integer(5)), ("<real>1e3</real>", .real(1000)),
      ("<data>\n\tAAEC\n\t</data>", .data([0, 1, 2])), ("<true></true>", .boolean(true)),
      ("<array><true/><false/></array>", .array([.boolean(true), .boolean(false)])),
      (
        "<dict><key>k</key><string>1</string><key>k</key><string>2</string></dict>",
        dictionary(("k", .string("2")))
      ),
      ("<date>2000-02-29T00:00:00Z</date>", .date(951_782_400)),
      ("<!-- c --><dict a=\">\" ></dict >", dictionary()),
    ])
  func read(_ text: String, _ wanted: PropertyList) throws {
    #expect(try PropertyList.xml(plist(text)) == wanted)
    #expect(try PropertyList.xml(Array(text.utf8)) == wanted, "a list without its frame")
    #expect(try PropertyList.xml([0xef, 0xbb, 0xbf] + plist(text)) == wanted)
    let wide = plist(text).flatMap { [0, $0] as [UInt8] }
    #expect(try PropertyList.xml([0xfe, 0xff] + wide) == wanted)
  }

  @Test("Keys that are canonically equal are two")
  func composition() throws {
    let text = "<dict><key>\u{e9}</key><true/><key>e\u{301}</key><false/></dict>"
    #expect(try PropertyList.xml(plist(text)).dictionary?.count == 2)
  }

  @Test(
    "What the form does not allow is an error at its place",
    arguments: [
      ("<dict><string>a</string></dict>", "expected <key>"), ("<string>a", "no end"),
      ("<string>a</data>", "expected </string>"), ("<string>&unknown;</string>", "expected &lt;"),
      ("<string>&#0;</string>", "expected &lt;"), ("<string>&#-1;</string>", "expected &lt;"),
      ("<integer>5x</integer>", "expected <dict>"), ("<data>A</data>", "expected <dict>"),
      ("<real></real>", "expected <dict>"),
      ("<date>2000-13-01T00:00:00Z</date>", "expected <dict>"),
      ("<word/>", "expected <dict>"), ("</dict>", "expected a value"), ("text", "expected a tag"),
      ("<dict><key>a</key></dict>", "expected a value"), ("<true>x</true>", "nothing in a truth"),
      ("<string>a</string><string>b</string>", "expected "), ("<!-- a", "no end"),
      ("<", "the name"),
    ])
  func mistakes(_ text: String, _ message: String) {
    let error = #expect(throws: PropertyListError.self) { try PropertyList.xml(Array(text.utf8)) }
    #expect(error?.message.contains(message) == true, "\(error as Any)")
  }

  @Test("Entities can't be declared, so none can grow")
  func entities() {
    let bomb = """
      <!DOCTYPE plist [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
      <plist><string>&b;</string></plist>
      """
    #expect(throws: PropertyListError.self) { try PropertyList.xml(Array(bomb.utf8)) }
  }

  @Test("However deep lists lie in each other, the answer is an error and not a crash")
  func depth() {
    for tag in ["<array>", "<dict><key>a</key>"] {
      let text = String(repeating: tag, count: 100_000)
      #expect(throws: PropertyListError.self) { try PropertyList.xml(Array(text.utf8)) }
    }
  }

  @Test("Cut short, or with any byte changed, a list gives a value or an error")
  func damage() throws {
    let whole = try #require(
      dictionary(("a<", .array([.data([1, 2, 3]), .boolean(true), .date(0), .real(1.5)]))).xml)
    for position in whole.indices {
      _ = try? PropertyList.xml(Array(whole.prefix(position)))
      for byte in [0, 9, 38, 47, 60, 62, 93, 128, 255] as [UInt8] {
        var damaged = whole
        damaged[position] = byte
        _ = try? PropertyList.xml(damaged)
      }
    }
  }

  @Test("What XML can't hold is not written", arguments: [[0xff], [0x01], Array("\u{ffff}".utf8)])
  func unwritable(_ text: [UInt8]) {
    #expect(PropertyList.string(text).xml == nil)
  }

  @Test("Base64 is the standard's", arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar"])
  func base64(_ text: String) {
    let letters = Base64.encoded(Array(text.utf8))
    #expect(String(decoding: letters, as: UTF8.self) == Data(text.utf8).base64EncodedString())
    #expect(Base64.decoded(letters) == Array(text.utf8))
  }

  @Test("What is no base64 is refused", arguments: ["A", "A===", "Zg==Zg==", "Z-g=", "Zg==="])
  func noBase64(_ text: String) {
    #expect(Base64.decoded(Array(text.utf8)) == nil)
  }
}
