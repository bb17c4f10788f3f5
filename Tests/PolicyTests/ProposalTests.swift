// What is learned: which lines are proposed for what a program wanted, and what is lent meanwhile.

import Paths
import Policy
import Testing

private let own = """
  /Documents/old    -write
  /Documents/shut   -read
  /Documents/log    append
  /Documents/none   hidden
  *.key             -read
  /Documents/deep/keep/*.txt  -write
  /Documents/deep   -write
  """

private struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let wishes: [(Operation, String, String?)]
  let lines: [String]
  let left: Int

  init(
    _ what: String, _ wishes: [(Operation, String, String?)], _ lines: [String], left: Int = 0
  ) {
    testDescription = what
    self.wishes = wishes
    self.lines = lines
    self.left = left
  }
}

private func each(_ operation: Operation, _ paths: String...) -> [(Operation, String, String?)] {
  paths.map { (operation, $0, nil) }
}

private let rows = [
  Row("nothing", [], []),
  Row("one file", each(.create, "/a"), ["/a write"]),
  Row("one file, again and again", each(.create, "/a") + each(.write, "/a"), ["/a write"]),
  Row(
    "two files stay two", each(.write, "/Documents/old/a", "/Documents/old/b"),
    ["/Documents/old/a write", "/Documents/old/b write"]),
  Row(
    "three files become one line",
    each(.write, "/Documents/old/a", "/Documents/old/b", "/Documents/old/c.txt"),
    ["/Documents/old/* write"]),
  Row(
    "what they end in is kept",
    each(.write, "/Documents/old/a.txt", "/Documents/old/b.txt", "/Documents/old/c.txt"),
    ["/Documents/old/*.txt write"]),
  Row(
    "never all of the root", each(.create, "/a", "/b", "/c", "/d", "/e"),
    ["/a write", "/b write", "/c write", "/d write", "/e write"]),
  Row(
    "a directory that is made covers what is made in it",
    each(.create, "/state/", "/state/a", "/state/b/", "/state/b/c"), ["/state write"]),
  Row("reading", each(.list, "/Documents/shut"), ["/Documents/shut read"]),
  Row(
    "reading and writing stand on one line",
    each(.read, "/Documents/shut/a.key") + each(.write, "/Documents/old/a")
      + each(.read, "/Documents/old/a"),
    ["/Documents/old/a write", "/Documents/shut/a.key read"]),
  Row(
    "what another rule protects below is not lifted with the rest",
    each(.write, "/Documents/deep/a", "/Documents/deep/b", "/Documents/deep/c"),
    ["/Documents/deep/a write", "/Documents/deep/b write", "/Documents/deep/c write"]),
  Row(
    "nor with a directory that is listed", each(.list, "/Documents/shut/"), [], left: 1),
  Row(
    "names that a program makes up anew each time",
    each(.create, "/Documents/old/sedX1yZw2")
      + [(.rename, "/Documents/old/sedX1yZw2", "/Documents/old/a")],
    ["/Documents/old/* write"]),
  Row(
    "the same in the root",
    each(.create, "/sedX1yZw2", "/.state-AbCdEf")
      + [(.rename, "/sedX1yZw2", "/a")] + each(.remove, "/.state-AbCdEf"),
    ["/.state-* write", "/a write", "/sed* write"]),
  Row(
    "bytes and blanks", each(.create, "/a b", "/c*,\u{1}"),
    [#""/a b" write"#, #"/c\*\,\001 write"#]),
  Row(
    "names that only= lacks", each(.create, "/Library/Preferences/a.conf"),
    ["/Library/Preferences only=*.plist,*.plist??????,.lck,.GNUstep*,a.conf"]),
  Row(
    "many such names",
    each(.create, "/Library/Preferences/a.conf", "/Library/Preferences/b.conf")
      + each(.create, "/Library/Preferences/c.conf"),
    ["/Library/Preferences only=*.plist,*.plist??????,.lck,.GNUstep*,*.conf"]),
  Row("append is kept", each(.write, "/Documents/log/a"), [], left: 1),
  Row("what is hidden stays so", each(.create, "/Documents/none"), [], left: 1),
  Row("limits hold", each(.write, "/Documents/limited"), [], left: 1),
  Row("structural entries stay", each(.remove, "/tmp/"), [], left: 1),
  Row("the bundle stays", each(.write, "/Notes.app/a"), [], left: 1),
  Row("execution is not learned", each(.exec, "/tmp/a"), [], left: 1),
]

struct ProposalTests {
  private let layers = [
    ShippedProfiles.ios, profile(.container, own, name: "own"),
    profile(.limits, "/Documents/limited -write", name: "limits.profile"),
  ]

  @Test(arguments: rows)
  private func `what was wanted becomes few lines`(_ row: Row) throws {
    let questions = try row.wishes.map { operation, path, second in
      Question(
        operation, try ViewPath(path.utf8), secondPath: try second.map { try ViewPath($0.utf8) })
    }
    // A rule for all keys protects below every directory that is read.
    let engine = try PolicyEngine(layers)
    let proposal = engine.proposal(
      for: questions, layers: layers, bundleName: Array("Notes.app".utf8))
    #expect(proposal.lines == row.lines)
    #expect(proposal.left.count == row.left)
  }

  /// What is lent is never more than a line of the container's own profile could give.
  @Test func `on random rules all that is lent and not left is given by the lines`() throws {
    let bundle = Array("Notes.app".utf8)
    var (lentCount, leftCount) = (0, 0)
    for seed in UInt64(1)...80 {
      var random = RandomPolicy(seed: seed)
      let engine = try PolicyEngine(random.layers)
      let lending = try PolicyEngine(
        layers: random.layers, bundleName: bundle, isLearning: true)
      let questions = (0..<60).map { _ in random.question() }.filter { question in
        let denial = engine.explain(question).verdict.denial
        // A view does not lend what a copy does.
        return denial != nil && denial != .crossZone && lending.explain(question).verdict.isAllowed
      }
      let proposal = engine.proposal(
        for: questions, layers: random.layers, bundleName: bundle)
      var layers = random.layers
      layers.append(
        profile(.container, proposal.lines.joined(separator: "\n"), name: "learned"))
      let taught = try PolicyEngine(layers)
      for question in questions where !proposal.left.contains(question) {
        #expect(taught.explain(question).verdict.isAllowed, "seed \(seed)")
      }
      lentCount += questions.count
      leftCount += proposal.left.count
      for question in questions {
        let rule = engine.explain(question).verdict.rule
        let layer = engine.layer(of: rule)
        #expect(layer != .limits && layer != .administrator, "seed \(seed)")
        #expect(question.operation != .exec)
      }
    }
    #expect(lentCount > 40)
    #expect(leftCount < lentCount / 2)
  }

  @Test func `what the administrator refuses is not lent, whatever the container says`() throws {
    let layers = [
      ShippedProfiles.ios,
      profile(.administrator, "/Documents/a -write\n/Documents/a/b write", name: "admin"),
      profile(.container, "/Documents -write -read", name: "own"),
      profile(.limits, "/Documents/c -read", name: "limits"),
    ]
    let lending = try PolicyEngine(
      layers: layers, bundleName: Array("Notes.app".utf8), isLearning: true)
    let answers: [(Operation, String, Bool)] = [
      (.write, "/Documents/x", true), (.read, "/Documents/x", true),
      (.write, "/Documents/a/x", false), (.read, "/Documents/a/x", true),
      (.write, "/Documents/a/b/x", true), (.read, "/Documents/c", false),
      (.create, "/x", true), (.setattr, "/", false), (.create, "/x.app/", false),
      (.write, "/Notes.app/x", false), (.remove, "/tmp/", false), (.exec, "/tmp/x", false),
    ]
    for (operation, path, isAllowed) in answers {
      let question = Question(operation, try ViewPath(path.utf8))
      let verdict = lending.explain(question).verdict
      #expect(verdict.isAllowed == isAllowed, "\(operation.name) \(path)")
    }
  }
}
