// The words behind a key of `defaults write`.

import Preferences
import PropertyLists
import Testing

private func change(_ words: String...) throws -> DefaultsChange {
  try DefaultsChange(words: words.map { Array($0.utf8) })
}

@Suite("What 'defaults write' is told")
struct DefaultsChangeTests {
  @Test(
    "a kind and a value, or a property list, is one value",
    arguments: [
      (["Drafts"], PropertyList.string("Drafts")), (["-5"], .string("-5")), ([""], .string("")),
      (["5"], .string("5")), (["\"a b\""], .string("a b")), (["-string", "-5"], .string("-5")),
      (["-string", "{ }"], .string("{ }")), (["-int", "-5"], .integer(-5)),
      (["-integer", "18446744073709551615"], .integer(18_446_744_073_709_551_615)),
      (["-float", "1.5"], .real(1.5)), (["-bool", "YES"], .boolean(true)),
      (["-bool", "false"], .boolean(false)), (["-date", "1970-01-02"], .date(86_400)),
      (["-date", "1970-01-01T00:01:00Z"], .date(60)),
      (["-date", "1970-01-01 01:00:00 +0100"], .date(0)),
      (["-data", "0fBD77"], .data([15, 189, 119])),
      (["-data", ""], .data([])), (["(a, b)"], .array([.string("a"), .string("b")])),
      (["<0fbd>"], .data([15, 189])), (["<integer>7</integer>"], .integer(7)),
      (["-array"], .array([])),
      (["-array", "a", "-int", "1"], .array([.string("a"), .integer(1)])),
    ])
  func value(_ words: [String], _ want: PropertyList) throws {
    #expect(try DefaultsChange(words: words.map { Array($0.utf8) }) == .set(want))
  }

  @Test("a dictionary has keys and values by turns")
  func dictionary() throws {
    var want = PropertyDictionary()
    want["a"] = .integer(1)
    want["-b"] = .string("c")
    #expect(try change("-dict", "a", "-int", "1", "-b", "c") == .set(.dictionary(want)))
    #expect(try change("-dict-add", "a", "-int", "1", "-b", "c") == .merge(want))
  }

  @Test("what is added comes behind what is there, and to nothing of another kind")
  func adding() throws {
    let more = try change("-array-add", "b")
    #expect(try more.applied(to: nil) == .array([.string("b")]))
    #expect(try more.applied(to: .array([.integer(1)])) == .array([.integer(1), .string("b")]))
    #expect(throws: DefaultsMistake.self) { try more.applied(to: .string("a")) }
    var old = PropertyDictionary()
    old["a"] = .integer(1)
    old["b"] = .integer(2)
    var want = old
    want["a"] = .string("new")
    let entries = try change("-dict-add", "a", "new")
    #expect(try entries.applied(to: .dictionary(old)) == .dictionary(want))
    #expect(throws: DefaultsMistake.self) { try entries.applied(to: .array([])) }
  }

  @Test(
    "what means nothing is refused, and the line says what was expected",
    arguments: [
      (["-int", "5.5"], "'5.5': expected a whole number of 64 bits"),
      (["-int", "18446744073709551616"], "expected a whole number"), (["-int"], "expected a whole"),
      (["-bool", "maybe"], "expected true, false, yes or no"), (["-data", "0f1"], "hexadecimal"),
      (["-data", "zz"], "hexadecimal"), (["-date", "2003-13-01"], "expected a date"),
      (["-date", "2024-02-30"], "expected a date"), (["-date", "2023-02-29"], "expected a date"),
      (
        ["-int", String(repeating: "9x", count: 5000)], "'\(String(repeating: "9x", count: 30))...'"
      ),
      (["-float", "x"], "expected a number"),
      (["-dict", "a"], "expected a value behind the key 'a'"),
      (["-array", "-array", "a"], "can stand only directly behind the key"),
      (["-foo"], "'-foo' is no type"), (["--help"], "options stand before the key"),
      (["a", "b"], "expected one value"), (["{ a = }"], "is no property list"),
      (["-string", "\u{1}"], "control characters"), (["<zz>"], "is no property list"),
    ])
  func mistakes(_ words: [String], _ part: String) {
    let error = #expect(throws: DefaultsMistake.self) {
      try DefaultsChange(words: words.map { Array($0.utf8) })
    }
    #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
  }
}
