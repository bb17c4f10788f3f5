// The OpenStep form, as people and GNUstep write it, and as an attacker would.
import Foundation
import PropertyLists
import Testing

private func dictionary(_ entries: (String, PropertyList)...) -> PropertyList {
  var dictionary = PropertyDictionary()
  for (key, value) in entries { dictionary[key] = value }
  return .dictionary(dictionary)
}

@Suite struct OpenStepTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let text: [UInt8]
    let wanted: PropertyList
    var testDescription: String { String(decoding: text, as: UTF8.self).debugDescription }

    init(_ text: String, _ wanted: PropertyList) {
      self.init(Array(text.utf8), wanted)
    }

    init(_ text: [UInt8], _ wanted: PropertyList) {
      self.text = text
      self.wanted = wanted
    }
  }

  @Test(
    "What the form allows is read",
    arguments: [
      Row("{}", dictionary()),
      Row("()", .array([])),
      Row("<>", .data([])),
      Row(" /* c */ // d\n { } // e", dictionary()),
      Row("word", .string("word")),
      Row("\"two words\"", .string("two words")),
      Row("'single'", .string("single")),
      Row("(a,b)", .array([.string("a"), .string("b")])),
      Row("(a, b, )", .array([.string("a"), .string("b")])),
      Row("{a=b}", dictionary(("a", .string("b")))),
      Row("{ a = b; \"c d\" = (); }", dictionary(("a", .string("b")), ("c d", .array([])))),
      Row("{ z = 1; a = 2; z = 3; }", dictionary(("z", .string("3")), ("a", .string("2")))),
      Row("a = b;\n\"c\";", dictionary(("a", .string("b")), ("c", .string("c")))),
      Row("<0fBd 77>", .data([0x0f, 0xbd, 0x77])),
      Row("<[aGVsbG8=]>", .data(Array("hello".utf8))),
      Row("<[aGVs\nbG8h]>", .data(Array("hello!".utf8))),
      Row("<*I5>", .integer(5)),
      Row("<*I-9223372036854775808>", .integer(Int128(Int64.min))),
      Row("<*I18446744073709551615>", .integer(Int128(UInt64.max))),
      Row("<*I\"7\">", .integer(7)),
      Row("<*R1.5>", .real(1.5)),
      Row("<*R-2e3>", .real(-2000)),
      Row("<*BY>", .boolean(true)),
      Row("<*BN>", .boolean(false)),
      Row("<*D1970-01-01 00:00:00 +0000>", .date(0)),
      Row("<*D2003-11-30 12:34:56 +0130>", .date(1_070_190_296)),
      Row("<*D2000-02-29 00:00:00 +0000>", .date(951_782_400)),
      Row("http://example.org/a.b-c", .string("http://example.org/a.b-c")),
      Row("/usr/lib", .string("/usr/lib")),
      Row(#""a\n\t\"\\\101\U00e9\u20AC""#, .string("a\n\t\"\\A\u{e9}\u{20ac}")),
      Row(#""\351\q""#, .string("\u{e9}q")),
      Row(#""\Ud83d\Ude00""#, .string("\u{1f600}")),
      Row([0xef, 0xbb, 0xbf] + Array("\"é\"".utf8), .string("é")),
      Row([0x22, 0xe9, 0x22], .string("é")),
      Row([0xff, 0xfe, 0x22, 0, 0xac, 0x20, 0x22, 0], .string("€")),
      Row([0xfe, 0xff, 0, 0x22, 0x20, 0xac, 0, 0x22], .string("€")),
    ])
  func reading(_ row: Row) throws {
    #expect(try PropertyList.openStep(row.text) == row.wanted)
  }

  @Test(
    "What is wrong is told with its line and column",
    arguments: [
      ("", "1:1: nothing but blanks"),
      (" \n /* */", "2:7: nothing but blanks"),
      ("{", "1:2: expected a key or '}', not the end"),
      ("{\n  a = b\n  c = d; }", "3:3: expected ';'"),
      ("{ a = ; }", "1:7: expected a text"),
      ("(a b)", "1:4: expected ',' or ')'"),
      ("(", "1:2: expected a value, not the end"),
      ("{} x", "1:4: expected nothing after the end of the list"),
      ("a = b; }", "1:8: expected a text"),
      ("\n \"abc", "2:2: the text that begins here has no end"),
      ("\"abc\\", "1:6: expected a character after '\\'"),
      ("/* abc", "1:1: the comment that begins here has no end"),
      ("<0f7>", "1:5: half of a byte"),
      ("<xy>", "1:2: expected a hexadecimal digit or '>'"),
      ("<[aGVs", "1:7: expected a base64 digit or ']'"),
      ("<[a]>", "1:3: cut short"),
      ("<*", "1:3: expected a type after '<*'"),
      ("<*I5", "1:5: expected '>'"),
      (#""\Ud83d""#, "1:2: half of a character"),
      (#""\Uzz""#, "1:4: expected hexadecimal digits"),
    ])
  func mistakes(_ text: String, _ wanted: String) {
    #expect(mistake(text) == wanted)
  }

  @Test(
    "A typed value that is none is refused",
    arguments: [
      "<*I>", "<*Ix>", "<*I99999999999999999999>", "<*I1.5>", "<*R>", "<*Bx>", "<*BYES>", "<*Q1>",
      "<*D2003>", "<*D2003-13-01 00:00:00 +0000>", "<*D2003-01-01 24:00:00 +0000>",
      "<*D2003-01-01 00:00:00 GMT>", "<*D99999999999999999999-01-01 00:00:00 +0000>",
    ])
  func typedValues(_ text: String) {
    #expect(mistake(text)?.contains("expected <*I5>") == true)
  }

  private func mistake(_ text: String) -> String? {
    do throws(PropertyListError) {
      _ = try PropertyList.openStep(Array(text.utf8))
      return nil
    } catch {
      return error.description
    }
  }

  @Test("However deep lists lie in each other, the answer is an error and not a crash")
  func depth() {
    for opening in ["(", "{a=", "({a=", "("] {
      let deep = String(repeating: opening, count: 1_000_000)
      #expect(mistake(deep)?.contains("deep in each other") == true)
    }
    let limit = PropertyList.maximumDepth
    let allowed = String(repeating: "(", count: limit) + String(repeating: ")", count: limit)
    #expect(mistake(allowed) == nil)
  }

  @Test("Cut short, or with any byte changed, a list gives a value or an error")
  func damage() {
    let text = Array(
      #"{ a = <*I5>; "b\U00e9" = ( <0fbd>, <[aGVs]>, 'x' ); /* c */ d = <*D2003-11-30 12:00:00 +0000>; }"#
        .utf8)
    for position in text.indices {
      _ = try? PropertyList.openStep(Array(text.prefix(position)))
      for byte in UInt8.min...UInt8.max {
        var damaged = text
        damaged[position] = byte
        _ = try? PropertyList.openStep(damaged)
      }
    }
  }

  static let installed: [String] = {
    let root = "/usr/lib/GNUstep/Applications"
    let bundles = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return bundles.sorted().map { "\(root)/\($0)/Resources/Info-gnustep.plist" }
  }()

  @Test("The Info-gnustep.plist of every GNUstep app on this machine is read", arguments: installed)
  func realBundles(_ path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let list = try PropertyList.openStep(bytes)
    #expect(list["NSExecutable"]?.string?.isEmpty == false, "\(path)")
  }
}

@Suite struct PropertyDictionaryTests {
  @Test("Keys keep their order when one is replaced, removed or added")
  func order() {
    var dictionary = PropertyDictionary()
    for key in ["c", "a", "b"] { dictionary[key] = .string(key) }
    dictionary["a"] = .integer(1)
    #expect(dictionary.entries.map(\.key) == [[0x63], [0x61], [0x62]])
    dictionary["c"] = nil
    dictionary["c"] = .boolean(true)
    #expect(dictionary.entries.map(\.key) == [[0x61], [0x62], [0x63]])
    #expect(dictionary["b"] == .string("b"))
    #expect(dictionary.count == 3)
  }

  @Test("Keys that only look the same are two")
  func composition() {
    var dictionary = PropertyDictionary()
    dictionary["\u{e9}"] = .integer(1)
    dictionary["e\u{301}"] = .integer(2)
    #expect(dictionary.count == 2)
  }
}
