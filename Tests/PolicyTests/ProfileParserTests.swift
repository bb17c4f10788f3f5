// Every mistake in a profile is told with its place, its text, and what should stand there.

import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let text: String
  let errors: [String]
  var rank: ProfileSource.Rank = .shipped
  var testDescription: String { text }

  init(_ text: String, _ errors: String..., rank: ProfileSource.Rank = .shipped) {
    self.text = text
    self.errors = errors
    self.rank = rank
  }
}

private let giving =
  "an attribute: read, write, exec, append, hidden, sealed, backup, audit, purge=, quota= or only="
private let taking =
  "an attribute: -read, -write, -exec, -backup, append, hidden, purge=, quota= or only=, "
  + "which take away"

private let rows = [
  Row("/a", "1:3: end of line: expected \(giving)"),
  Row("/a  # why", "1:3: end of line: expected \(giving)"),
  Row("/a raed", "1:4: 'raed': expected \(giving)"),
  Row("/a -", "1:4: '-': expected \(giving)"),
  Row("/a read=yes", "1:4: 'read=yes': expected read without a value"),
  Row("/a -read=no", "1:4: '-read=no': expected -read without a value"),
  Row("/a quota", "1:4: 'quota': expected quota=VALUE or -quota"),
  Row("/a read -read", "1:9: '-read': expected each attribute once in a line"),
  Row("/a/ read", "1:4: '/a/': expected a name on both sides of this slash"),
  Row("/a//b read", "1:4: '/a//b': expected a name on both sides of this slash"),
  Row("// read", "1:2: '//': expected a name on both sides of this slash"),
  Row("/a/../b read", "1:4: '..': expected a name other than . and .."),
  Row("/a**b read", "1:4: 'a**b': expected ** to stand alone between slashes"),
  Row("/x/[ab read", "1:4: '[ab': expected a ] that closes the ["),
  Row(
    "/a\\057b read",
    "1:3: 'a\\\\057b': expected a name, which has no slash and no zero byte"),
  Row(
    "/\(String(repeating: "?", count: 256)) read",
    "1:2: '\(String(repeating: "?", count: 256))': expected a name of at most 255 bytes"),
  Row("\"/a b read", "1:1: '\"/a b read': expected a \" that closes this one"),
  Row(
    "/a\\q read",
    "1:3: '\\\\q': expected \\\", \\\\, another mark behind the backslash, or a byte as \\ooo"),
  Row(
    "/a\\000 read",
    "1:3: '\\\\000': expected \\\", \\\\, another mark behind the backslash, or a byte as \\ooo"),
  Row("/a\0 read", "1:3: '\\000': expected text without zero bytes"),
  Row("/a purge=exit,later", "1:15: 'later': expected exit, pressure or restore"),
  Row("/a purge=", "1:10: end of line: expected exit, pressure or restore"),
  Row("/a quota=10T", "1:10: '10T': expected a size such as 500, 64K, 10M or 2G"),
  Row("/a quota=K", "1:10: 'K': expected a size such as 500, 64K, 10M or 2G"),
  Row(
    "/a quota=18446744073709551615K",
    "1:10: '18446744073709551615K': expected a size such as 500, 64K, 10M or 2G"),
  Row("/a quota=1,x", "1:12: 'x': expected a number of entries"),
  Row("/a quota=1,2,3", "1:14: '3': expected quota=SIZE or quota=SIZE,ENTRIES"),
  Row("/a only=a,,b", "1:11: end of line: expected a name"),
  Row(
    "/a only=a/b", "1:10: 'a/b': expected a name, which has no slash and no zero byte"),
  Row("/ hidden", "1:3: 'hidden': expected another pattern: /** hides what is below the root"),
  Row("@inclde ios", "1:1: '@inclde': expected @include, @expect or a pattern"),
  Row("@include", "1:9: end of line: expected the name of a profile"),
  Row("@include ios now", "1:14: 'now': expected the end of the line"),
  Row(
    "@include nope",
    "1:10: 'nope': expected a profile that is there: ios.profile, default.profile"),
  Row("@expect maybe read /a", "1:9: 'maybe': expected allow or deny"),
  Row(
    "@expect deny raed /a",
    "1:14: 'raed': expected an operation: lookup, stat, list, read, write, append, create, "
      + "remove, setattr, exec, rename, link, exchange"),
  Row("@expect deny read a", "1:19: 'a': expected a path that begins with /"),
  Row("@expect deny rename /a", "1:23: end of line: expected the second path of rename"),
  Row("@expect deny read /a /b", "1:22: '/b': expected the end of the line"),
  Row(
    "/a raed\n\n/b write write\n/c/ read\n/d read",
    "1:4: 'raed': expected \(giving)", "3:10: 'write': expected each attribute once in a line",
    "4:4: '/c/': expected a name on both sides of this slash"),
  Row(
    "/a/ raed quota=x", "1:4: '/a/': expected a name on both sides of this slash",
    "1:5: 'raed': expected \(giving)",
    "1:16: 'x': expected a size such as 500, 64K, 10M or 2G"),
  Row("/a read", "1:4: 'read': expected \(taking)", rank: .bundle),
  Row(
    "/a -hidden sealed", "1:4: '-hidden': expected \(taking)",
    "1:12: 'sealed': expected \(taking)", rank: .limits),
  Row(
    "/a -only -quota", "1:4: '-only': expected \(taking)", "1:10: '-quota': expected \(taking)",
    rank: .limits),
  Row("/a audit", "1:4: 'audit': expected \(taking)", rank: .limits),
  Row(
    "/Library/Caches/a purge=exit\n/tmp purge=exit\n/Library purge=exit\ntmp purge=exit",
    "3:10: 'purge=exit': expected purge= only at /Library/Caches or /tmp in a bundle's profile",
    "4:5: 'purge=exit': expected purge= only at /Library/Caches or /tmp in a bundle's profile",
    rank: .bundle),
]

struct ProfileParserTests {
  @Test(arguments: rows)
  private func `a mistake is told with line, column, text and what was expected`(_ row: Row) {
    let source = profile(row.rank, row.text, name: "p")
    let thrown = #expect(throws: ProfileErrors.self) { try PolicyEngine([source]) }
    #expect(thrown?.errors.map(\.description) == row.errors.map { "p:" + $0 })
  }

  @Test(
    arguments: [
      "", "\n\n", "# nothing", "   # nothing", "/a read", "\t/a\tread\t", "/a read\r\n/b read\r\n",
      "a#b read#\\", "\"/a b\" read", "/Library/\"Application Support\"/x read", "\\@a read",
      "/a only=\"a b\",*.x", "/a quota=0", "/a quota=10M,1000", "/a -purge -quota -only",
      "/** hidden", "@include ios", "@include default.profile", "**/a/** read",
      "@expect allow rename /tmp/a \"/Documents/b c\"",
    ].filter { !$0.contains("read#") })
  func `a profile without a mistake is taken`(_ text: String) {
    #expect(throws: Never.self) { try PolicyEngine(text) }
  }

  @Test func `mistakes of all layers are told in one go, in the order of reading`() {
    let layers = [
      profile(.limits, "/a read"), profile(.shipped, "/a x"), profile(.container, "@include own"),
      profile(.included, "/a y", name: "own.profile"), profile(.included, "z", name: "other"),
    ]
    let thrown = #expect(throws: ProfileErrors.self) { try PolicyEngine(layers) }
    let places = thrown?.errors.map { "\(String(decoding: $0.file, as: UTF8.self)):\($0.line)" }
    #expect(places == ["shipped.profile:1", "own.profile:1", "limits.profile:1"])
  }

  @Test func `an included profile must not include itself`() {
    let layers = [
      profile(.shipped, "@include a", name: "top"),
      profile(.included, "/x read\n@include b", name: "a"),
      profile(.included, "@include a", name: "b"),
    ]
    let thrown = #expect(throws: ProfileErrors.self) { try PolicyEngine(layers) }
    #expect(
      thrown?.description == "b:1:10: 'a': expected a profile that does not include itself")
  }

  @Test func `a hostile bundle cannot make an error of any size`() throws {
    let many = Array(repeating: "@include ios", count: 10_000).joined(separator: "\n")
    let thrown = #expect(throws: ProfileErrors.self) {
      try PolicyEngine([profile(.bundle, many)])
    }
    #expect(thrown?.errors.count == 1000)
    let long = profile(.bundle, String(repeating: "#", count: 300_000), name: "p")
    let tooLong = #expect(throws: ProfileErrors.self) { try PolicyEngine([long]) }
    #expect(
      tooLong?.description == "p:1:1: end of line: expected a profile of at most 262144 bytes")
  }

  @Test func `an administrator's profile of a shipped name is included instead`() throws {
    let engine = try PolicyEngine([
      ShippedProfiles.standard, profile(.included, "/only-here read", name: "ios.profile"),
    ])
    #expect(engine.attributes(of: engine.zone(at: "/only-here")).read)
    #expect(!engine.attributes(of: engine.zone(at: "/Documents")).read)
  }

  @Test func `a rule of an included profile is named by its own file and line`() throws {
    let engine = try PolicyEngine([ShippedProfiles.standard])
    let verdict = engine.decide(.exec, in: engine.zone(at: "/Notes.app/a"), kind: .file)
    #expect(engine.describe(verdict.rule) == "ios.profile:8")
    #expect(engine.layer(of: verdict.rule) == .shipped)
  }
}
