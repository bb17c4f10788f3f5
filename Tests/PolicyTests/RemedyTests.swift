// What would allow what is refused: lines that were tried, as few as can be, or why there are none.

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

private let rows = [
  Row(.read, "/Documents/a", "allowed"),
  Row(.create, "/a", "/a write"), Row(.create, "/a b*/", #""/a b\*" write"#),
  Row(.write, "/Documents/log/a", "/Documents/log/a -append"),
  Row(.read, "/Documents/secret/a/b", "/Documents/secret -hidden"),
  Row(
    .create, "/Library/Preferences/a,b",
    #"/Library/Preferences only=*.plist,*.plist\?\?\?\?\?\?,.lck,.GNUstep*,a\,b"#
      .replacing(#"\?"#, with: "?")),
  Row(.read, "/Documents/gone", "change limits.profile:1"),
  Row(.rename, "/a", to: "/limited/b", "change limits.profile:2"),
  Row(.exec, "/tmp/a", "/tmp/a exec"), Row(.rename, "/tmp/a", to: "/b", "/b write"),
  Row(.rename, "/a", to: "/b", "/a write; /b write"),
  Row(.remove, "/tmp/", "none: nothing: this holds whatever the rules say"),
  Row(
    .write, "/Notes.app/a",
    "none: another version of the app, installed: its bundle never changes"),
  Row(
    .link, "/tmp/a", to: "/Documents/a",
    "none: a copy instead, as mv(1) makes: the two places differ"),
  Row(
    .exchange, "/tmp/a", to: "/Documents/a", "none: two renames instead: the two places differ"),
]

struct RemedyTests {
  private let layers = [
    ShippedProfiles.ios,
    profile(.container, "/Documents/log append\n/Documents/secret hidden", name: "own"),
    profile(.limits, "/Documents/gone -read\n/limited -write", name: "limits.profile"),
  ]

  @Test(arguments: rows)
  private func `a refusal comes with what would lift it`(_ row: Row) throws {
    let engine = try PolicyEngine(layers)
    let question = Question(
      row.operation, try ViewPath(row.path.utf8),
      secondPath: try row.second.map { try ViewPath($0.utf8) })
    let remedy = engine.remedy(for: question, layers: layers, bundleName: Array("Notes.app".utf8))
    let text =
      switch remedy {
      case nil: "allowed"
      case .lines(let lines): lines.joined(separator: "; ")
      case .change(let rule): "change \(engine.describe(rule))"
      case .outsideRules(let reason): "none: \(reason)"
      }
    #expect(text == row.want)
  }

  @Test func `on random rules the lines that are proposed allow it, and none is too many`() throws {
    var proposedCount = 0
    for seed in UInt64(1)...60 {
      var random = RandomPolicy(seed: seed)
      let engine = try PolicyEngine(random.layers)
      for _ in 0..<40 {
        let question = random.question()
        let bundle = Array("Notes.app".utf8)
        let remedy = engine.remedy(for: question, layers: random.layers, bundleName: bundle)
        guard case .lines(let lines) = remedy else {
          #expect((remedy == nil) == engine.explain(question).verdict.isAllowed)
          continue
        }
        proposedCount += 1
        #expect(try answer(question, random.layers, lines), "seed \(seed): \(lines)")
        for index in lines.indices {
          var fewer = lines
          fewer.remove(at: index)
          let isEnough = try answer(question, random.layers, fewer)
          #expect(!isEnough, "seed \(seed): \(lines), \(question)")
        }
      }
    }
    #expect(proposedCount > 100)
  }

  private func answer(
    _ question: Question, _ layers: [ProfileSource], _ lines: [String]
  ) throws -> Bool {
    let own = profile(.container, lines.joined(separator: "\n"))
    return try PolicyEngine(layers + [own]).explain(question).verdict.isAllowed
  }
}

extension RandomPolicy {
  /// A question about random paths.
  mutating func question() -> Question {
    let operation = random.element(of: Operation.allCases)
    let first = ViewPath(components: path())
    return Question(
      operation, first, secondPath: operation.takesTwoPaths ? ViewPath(components: path()) : nil)
  }
}
