// Seals as Apple's tools write them, and as an attacker would.
import PropertyLists
import Seal
import Testing

private let sha1 = "<data>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</data>"
private let sha256 = "<data>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</data>"

private func seal(_ content: String) throws -> CodeResources {
  try CodeResources(try PropertyList.xml(Array("<plist><dict>\(content)</dict></plist>".utf8)))
}

private func files2(_ entries: String) throws -> CodeResources {
  try seal("<key>files2</key><dict>\(entries)</dict><key>rules2</key><dict/>")
}

@Suite struct CodeResourcesTests {
  @Test(
    "Each kind of entry is read",
    arguments: [
      (
        "<key>a</key>\(sha1)",
        SealedEntry.Content.file(sha1: [UInt8](repeating: 0, count: 20), sha256: nil), false
      ),
      (
        "<key>a</key><dict><key>hash</key>\(sha1)<key>hash2</key>\(sha256)</dict>",
        .file(sha1: [UInt8](repeating: 0, count: 20), sha256: [UInt8](repeating: 0, count: 32)),
        false
      ),
      (
        "<key>a</key><dict><key>hash2</key>\(sha256)<key>optional</key><true/></dict>",
        .file(sha1: nil, sha256: [UInt8](repeating: 0, count: 32)), true
      ),
      (
        "<key>a</key><dict><key>symlink</key><string>b/c</string></dict>", .link(Array("b/c".utf8)),
        false
      ),
      (
        "<key>a</key><dict><key>cdhash</key>\(sha1)<key>requirement</key><string>x</string></dict>",
        .code, false
      ),
    ])
  func entries(_ text: String, _ content: SealedEntry.Content, _ isOptional: Bool) throws {
    let book = try files2(text).book
    #expect(book.version == .two)
    #expect(
      book[Array("a".utf8)]
        == SealedEntry(path: Array("a".utf8), content: content, isOptional: isOptional))
  }

  @Test("The second book counts where there is one")
  func books() throws {
    let both = try seal("<key>files</key><dict><key>a</key>\(sha1)</dict><key>files2</key><dict/>")
    #expect(both.book.version == .two && both.book.entries.isEmpty)
    let first = try seal("<key>files</key><dict><key>a</key>\(sha1)</dict>")
    #expect(first.book.version == .one && first.book.entries.count == 1)
  }

  @Test(
    "What is no seal is refused with its reason",
    arguments: [
      ("", "neither 'files2' nor 'files'"),
      ("<key>files2</key><array/>", "'files2' is no dictionary"),
      ("<key>files2</key><dict><key>/a</key>\(sha1)</dict>", "'/a' does not lead down"),
      ("<key>files2</key><dict><key>a/../b</key>\(sha1)</dict>", "does not lead down"),
      ("<key>files2</key><dict><key></key>\(sha1)</dict>", "does not lead down"),
      ("<key>files2</key><dict><key>a</key><data>AAAA</data></dict>", "its digest"),
      (
        "<key>files2</key><dict><key>a</key><dict><key>hash2</key>\(sha1)</dict></dict>",
        "its digest"
      ),
      ("<key>files2</key><dict><key>a</key><dict/></dict>", "what it has of"),
      (
        "<key>files2</key><dict><key>a</key><dict><key>symlink</key><string>b</string><key>hash2</key>\(sha256)</dict></dict>",
        "what it has of"
      ),
      ("<key>files2</key><dict><key>a</key><true/></dict>", "its value"),
      ("<key>files2</key><dict/><key>rules2</key><array/>", "'rules2' is no dictionary"),
      (
        "<key>files2</key><dict/><key>rules2</key><dict><key>(a)\\1</key><true/></dict>",
        "refers back"
      ),
      (
        "<key>files2</key><dict/><key>rules2</key><dict><key>a{1,99}</key><true/></dict>",
        "counts repetitions"
      ),
      (
        "<key>files2</key><dict/><key>rules2</key><dict><key>a</key><dict><key>weight</key><real>nan</real></dict></dict>",
        "'weight'"
      ),
      (
        "<key>files2</key><dict/><key>rules2</key><dict><key>a</key><dict><key>omit</key><string>yes</string></dict></dict>",
        "neither true nor false"
      ),
      (
        "<key>files2</key><dict/><key>rules2</key><dict><key>a</key><string>yes</string></dict>",
        "neither true nor a dictionary"
      ),
    ])
  func refusals(_ text: String, _ reason: String) {
    let error = #expect(throws: SealError.self) { try seal(text) }
    #expect(error?.description.contains(reason) == true, "\(error as Any)")
  }

  @Test("What is written reads the same again")
  func writing() throws {
    let resources = try CodeResources(
      sealing: [
        SealableEntry(
          path: Array("a".utf8),
          content: .file(
            sha1: [UInt8](repeating: 1, count: 20), sha256: [UInt8](repeating: 2, count: 32))),
        SealableEntry(path: Array("b & c".utf8), content: .link(Array("a".utf8))),
      ], matches: { index, _ in index == 0 }, matches1: { index, _ in index == 0 })
    let bytes = try #require(resources.propertyList.xml)
    #expect(try CodeResources(try PropertyList.xml(bytes)) == resources)
    #expect(resources.version1?.entries.count == 1, "the first book names no links")
    #expect(resources.version2?.entries.count == 2)
  }

  @Test(
    "A name that a seal can't hold is refused by name",
    arguments: [
      ([[0x61, 0xff]], "not UTF-8"), ([Array("a\u{1}".utf8)], "control characters"),
      ([Array("\u{e9}".utf8), Array("e\u{301}".utf8)], "how their letters are composed"),
    ])
  func names(_ paths: [[UInt8]], _ reason: String) {
    let entries = paths.map { SealableEntry(path: $0, content: .link([0x62])) }
    let error = #expect(throws: SealError.self) {
      try CodeResources(sealing: entries, matches: { _, _ in true }, matches1: { _, _ in true })
    }
    #expect(error?.description.contains(reason) == true, "\(error as Any)")
  }
}

@Suite struct SealRuleTests {
  private func rule(_ pattern: String, _ weight: Double, omits: Bool = false) -> SealRule {
    SealRule(Array(pattern.utf8), weight: weight, omits: omits)
  }

  @Test("The heaviest rule holds, and of equal ones the one that omits")
  func weights() {
    let rules = [rule("a", 1), rule("b", 20), rule("c", 20, omits: true), rule("d", 5)]
    func holding(_ matching: Set<Int>) -> SealRule? {
      SealRule.ruling(of: rules) { matching.contains($0) }
    }
    #expect(holding([]) == nil)
    #expect(holding([0, 3]) == rules[3])
    #expect(holding([0, 1, 2, 3]) == rules[2])
    #expect(holding([0, 1]) == rules[1])
    let turned = Array(rules.reversed())
    #expect(SealRule.ruling(of: turned) { _ in true } == rules[2], "whichever comes first")
  }

  @Test(
    "A pattern that could take for ever is not tried",
    arguments: [
      (#"^.*\.lproj/locversion\.plist$"#, String?.none), ("^Info[.]plist$", nil), ("[]a]b", nil),
      ("[[:alpha:]({]", nil), (#"a\{b"#, nil), (#"(a)\1"#, "refers back"), ("a{2}", "counts"),
      (#"a\"#, "ends with a backslash"), ("[a", "no ']'"), ("(a", "no ')'"), ("a)", "no '('"),
      (String(repeating: "(", count: 40), "too deep"),
      (String(repeating: "a", count: 513), "more than"),
      ("", "empty"), ("a\0b", "NUL"),
    ])
  func patterns(_ pattern: String, _ reason: String?) {
    let mistake = SealRule.mistake(in: Array(pattern.utf8))
    if let reason {
      #expect(mistake?.contains(reason) == true, "\(mistake as Any)")
    } else {
      #expect(mistake == nil)
    }
  }
}

@Suite struct SealSurveyTests {
  private static func path(_ text: String) -> [UInt8] { Array(text.utf8) }
  private static let digest = [UInt8](repeating: 7, count: 32)
  /// Rule 0 seals everything, rule 1 omits what begins with `junk`.
  private static let book = SealBook(
    version: .two,
    entries: [
      SealedEntry(path: path("file"), content: .file(sha1: nil, sha256: digest)),
      SealedEntry(path: path("link"), content: .link(path("file"))),
      SealedEntry(path: path("code"), content: .code),
      SealedEntry(path: path("may"), content: .file(sha1: nil, sha256: digest), isOptional: true),
    ], rules: [SealRule(path("^.*")), SealRule(path("^junk"), weight: 2, omits: true)])

  private func survey(_ entries: [(String, BundleEntry.Kind)], _ book: SealBook) -> SealSurvey {
    SealSurvey(
      of: entries.map { BundleEntry(path: Self.path($0.0), kind: $0.1) }, by: book,
      executable: Self.path("Main")
    ) { index, path in index == 0 || path.starts(with: Self.path("junk")) }
  }

  @Test(
    "Each entry is what the seal says of it",
    arguments: [
      ("file", BundleEntry.Kind.file, SealSurvey.Standing.sha256(digest)),
      ("file", .link(path("x")), .changed), ("file", .nested, .changed), ("file", .other, .changed),
      ("link", .link(path("file")), .link), ("link", .link(path("other")), .changed),
      ("link", .file, .changed), ("code", .file, .code), ("code", .nested, .code),
      ("code", .link(path("file")), .changed), ("junk", .file, .unsealed), ("junk", .other, .added),
      ("new", .file, .added), ("new", .link(path("file")), .added), ("Main", .file, .unsealed),
      ("Main", .link(path("file")), .added), ("_CodeSignature/CodeResources", .file, .unsealed),
      ("_CodeSignature/CodeResources", .link(path("file")), .added),
      ("_CodeSignature/evil", .file, .added), ("sub/_CodeSignature/CodeResources", .file, .added),
      ("CodeResources", .link(path("_CodeSignature/CodeResources")), .unsealed),
      ("CodeResources", .file, .added), ("_MASReceipt/receipt", .file, .unsealed),
    ])
  func standings(_ name: String, _ kind: BundleEntry.Kind, _ wanted: SealSurvey.Standing) {
    #expect(survey([(name, kind)], Self.book).standings == [wanted])
  }

  @Test("What is missing is named, unless it is optional")
  func missing() {
    let found = survey([("file", .file)], Self.book)
    #expect(found.missing == [Self.path("code"), Self.path("link")])
  }

  @Test("Where no rule matches, nothing is sealed; the first book names no links")
  func unruled() {
    let empty = SealBook(version: .two, entries: [], rules: [])
    #expect(survey([("new", .file)], empty).standings == [.unsealed])
    let first = SealBook(version: .one, entries: [], rules: [SealRule(Self.path("^.*"))])
    #expect(
      survey([("new", .link(Self.path("a"))), ("old", .file)], first).standings == [
        .unsealed, .added,
      ])
  }
}
