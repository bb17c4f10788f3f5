// A verdict comes with its reasons, and a profile's expectations are held against it.

import Paths
import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let operation: Operation
  let path: String
  var second: String?
  let want: String

  init(_ operation: Operation, _ path: String, to second: String? = nil, _ want: String) {
    self.operation = operation
    self.path = path
    self.second = second
    self.want = want
  }

  var testDescription: String { "\(operation.name) \(path)" }
}

/// Verdict, deciding attribute, rule, where, and who lost.
private let rows = [
  Row(.write, "/Documents/a", "ok write ios.profile:3 /Documents/a; ios.profile:2"),
  Row(.exec, "/Documents/a", "EACCES exec built-in:unset /Documents/a;"),
  Row(.write, "/Notes.app/a", "EROFS write ios.profile:8 /Notes.app/a; ios.profile:2"),
  Row(.remove, "/tmp", "EPERM - built-in:structural /tmp;"),
  Row(.read, "/Documents/x/secret", "ENOENT hidden own:2 /Documents/x;"),
  Row(.read, "/Documents/x", "ENOENT hidden own:2 /Documents/x;"),
  Row(
    .write, "/Documents/old", "EACCES write own:1 /Documents/old; ios.profile:3 ios.profile:2"),
  Row(.rename, "/tmp/a", to: "/Documents/a", "ok write ios.profile:3 /Documents/a; ios.profile:2"),
  Row(
    .rename, "/tmp/a", to: "/Documents/old",
    "EACCES write own:1 /Documents/old; ios.profile:3 ios.profile:2"),
  Row(
    .create, "/Library/Preferences/a",
    "EACCES only ios.profile:6 /Library/Preferences/a;"),
  Row(.link, "/tmp/a", to: "/Documents/a", "EXDEV backup ios.profile:3 /Documents/a;"),
]

struct ExplanationTests {
  private func engine(_ own: String) throws -> PolicyEngine {
    let ios = String(decoding: ShippedProfiles.ios.text, as: UTF8.self)
      .replacing("/                      read\n", with: "/ read -write\n")
    return try PolicyEngine([
      profile(.shipped, ios, name: "ios.profile"), profile(.container, own, name: "own"),
    ])
  }

  @Test(arguments: rows)
  private func `a question is answered with the rules that won and lost`(_ row: Row) throws {
    let engine = try engine("/Documents/old -write\n/Documents/x hidden")
    let question = Question(
      row.operation, try ViewPath(Array(row.path.utf8)),
      secondPath: try row.second.map { try ViewPath(Array($0.utf8)) })
    let explanation = engine.explain(question)
    let verdict = explanation.verdict
    let parts = [
      written(verdict), verdict.attribute?.name ?? "-", engine.describe(verdict.rule),
      Presentation.path(explanation.path.components) + ";",
    ]
    let losers = explanation.losers.map(engine.describe)
    #expect((parts + losers).joined(separator: " ") == row.want)
  }

  @Test func `expectations that are met say nothing, the others say why`() throws {
    let engine = try engine(
      """
      @expect deny exec /tmp/x.so
      @expect allow exec /tmp/x.so
      @expect allow rename /tmp/a /Documents/a
      @expect deny remove /Documents/
      @expect allow create "/Documents/a b/"
      @expect deny read /Documents/a
      """)
    let unmet = engine.unmetExpectations()
    #expect(unmet.map(\.expectation.line) == [2, 6])
    #expect(unmet.map { written($0.explanation.verdict) } == ["EACCES", "ok"])
    #expect(engine.expectations.count == 6)
  }

  @Test func `an included profile's expectations are its own matter`() throws {
    let engine = try PolicyEngine([
      profile(.shipped, "@include strict\n/ read", name: "top"),
      profile(.included, "@expect deny read /a", name: "strict"),
    ])
    #expect(engine.expectations.isEmpty)
  }
}
