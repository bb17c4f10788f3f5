// What a log's refusals suggest: few lines, each of which is needed, and all of which together
// would have allowed what lines can allow.

import Paths
import Policy
import Testing

private let bundle = Array("Notes.app".utf8)

/// `OPERATION PATH [PATH2]`, refused as the rules refuse it, so often.
private func told(
  _ rows: [(String, Int)], by engine: PolicyEngine
) throws -> [ToldRefusal: Int] {
  var refusals: [ToldRefusal: Int] = [:]
  for (row, count) in rows {
    let words = row.split(separator: " ").map { String($0).replacing("%20", with: " ") }
    let operation = try #require(Operation(name: words[0]))
    let path = try ViewPath(words[1].utf8)
    let second = words.count > 2 ? try ViewPath(words[2].utf8) : nil
    let verdict = engine.explain(Question(operation, path, secondPath: second)).verdict
    let refusal = ToldRefusal(
      operation, path, secondPath: second, errnoName: verdict.denial?.errnoName ?? "EACCES",
      rule: engine.describe(verdict.rule))
    refusals[refusal, default: 0] += count
  }
  return refusals
}

private func shown(_ suggestion: Suggestion) -> [String] {
  suggestion.lines.map { line in
    "\(line.text)  # \(line.refusalCount) at \(line.pathCount): "
      + line.operations.map(\.name).joined(separator: " ")
  }
}

private func shown(_ hopeless: [Suggestion.Hopeless]) -> [String] {
  hopeless.map { one in
    let paths = one.paths.map { Presentation.path($0.components) }.joined(separator: " ")
    return "\(one.refusalCount) \(one.operation.name) \(paths) by \(one.rule): \(one.reason)"
  }
}

struct SuggestionTests {
  private let layers = [
    ShippedProfiles.ios,
    profile(
      .container,
      "/Documents/log append\n/Documents/secret hidden\n/Documents/closed -read -write", name: "own"
    ),
    profile(.limits, "/Documents/gone -read", name: "limits.profile"),
  ]

  private func suggestion(_ rows: [(String, Int)]) throws -> Suggestion {
    let engine = try PolicyEngine(layers)
    return engine.suggestion(
      for: try told(rows, by: engine), layers: layers, bundleName: bundle)
  }

  @Test func `each line says how many it answers, those that answer most first`() throws {
    let suggestion = try suggestion([
      ("create /cache/", 3), ("create /cache/a", 4), ("write /Documents/log/l", 20),
      ("rename /tmp/a /b", 1), ("create /Documents/secret", 2),
    ])
    #expect(
      shown(suggestion) == [
        "/Documents/log/l -append  # 20 at 1: write", "/cache write  # 7 at 2: create",
        "/Documents/secret -hidden  # 2 at 1: create", "/b write  # 1 at 1: rename",
      ])
    #expect(suggestion.hopeless.isEmpty && suggestion.allowedCount == 0)
  }

  @Test func `what needs two attributes at one path is one line`() throws {
    let suggestion = try suggestion([
      ("read /Documents/closed/a", 1), ("write /Documents/closed/a", 1),
    ])
    #expect(shown(suggestion) == ["/Documents/closed/a read write  # 2 at 1: read write"])
  }

  @Test func `many names in a directory are one pattern, but not in the root`() throws {
    let inside = try suggestion((0..<50).map { ("read /Documents/closed/a%20b/\($0)", 2) })
    #expect(shown(inside) == [#""/Documents/closed/a b/*" read  # 100 at 50: read"#])
    let inRoot = try suggestion((0..<5).map { ("create /n\($0)", 1) })
    #expect(shown(inRoot) == (0..<5).map { "/n\($0) write  # 1 at 1: create" })
    let few = try suggestion((0..<3).map { ("read /Documents/closed/\($0)", 1) })
    #expect(few.lines.count == 3)
  }

  @Test func `several names that only= refuses are added to one set`() throws {
    let suggestion = try suggestion([
      ("create /Library/Preferences/a", 1), ("create /Library/Preferences/b,c", 2),
    ])
    #expect(
      shown(suggestion) == [
        #"/Library/Preferences only=*.plist,*.plist??????,.lck,.GNUstep*,a,b\,c  # 3 at 2: create"#
      ])
  }

  @Test func `what no rule can allow is told with its reason`() throws {
    let suggestion = try suggestion([
      ("remove /tmp/", 2), ("rename /Documents/ /tmp/x", 1), ("write /Notes.app/a", 5),
      ("write /Notes.app/b", 2), ("read /Documents/gone", 9), ("link /tmp/a /Documents/a", 1),
    ])
    #expect(suggestion.lines.isEmpty)
    #expect(
      shown(suggestion.hopeless) == [
        "9 read /Documents/gone by limits.profile:1: a change of limits.profile:1, which has the "
          + "last word",
        "7 write /Notes.app/a by ios.profile:8: another version of the app, installed: its bundle "
          + "never changes",
        "2 remove /tmp by built-in:structural: nothing: this holds whatever the rules say",
        "1 rename /Documents /tmp/x by built-in:structural: nothing: this holds whatever the rules "
          + "say",
        "1 link /tmp/a /Documents/a by ios.profile:3: a copy instead, as mv(1) makes: the two "
          + "places differ",
      ])
  }

  @Test func `what the rules allow by now is only counted`() throws {
    let engine = try PolicyEngine(layers)
    let refusal = ToldRefusal(
      .create, try ViewPath("/Documents/a".utf8), errnoName: "EACCES", rule: "profile:3")
    let suggestion = engine.suggestion(for: [refusal: 6], layers: layers, bundleName: bundle)
    #expect(suggestion.allowedCount == 6 && suggestion.lines.isEmpty)
  }

  @Test func `a log full of made-up names takes lines with an end`() throws {
    var rows = (0..<300).map { ("create /n\($0)", 1) }
    rows += (0..<2000).map { ("create /m\($0)/x", 1) }
    let suggestion = try suggestion(rows)
    #expect(suggestion.lines.count == Suggestion.lineLimit)
    #expect(
      suggestion.lines.reduce(suggestion.omittedCount) { $0 + $1.refusalCount } == rows.count)
  }

  @Test func `on random rules all lines together allow it, and none is too many`() throws {
    var lineCount = 0
    for seed in UInt64(1)...40 {
      var random = RandomPolicy(seed: seed)
      let engine = try PolicyEngine(random.layers)
      var refusals: [ToldRefusal: Int] = [:]
      for _ in 0..<30 {
        let question = random.question()
        let verdict = engine.explain(question).verdict
        guard let denial = verdict.denial else { continue }
        let refusal = ToldRefusal(
          question.operation, question.path, secondPath: question.secondPath,
          errnoName: denial.errnoName, rule: engine.describe(verdict.rule))
        refusals[refusal] = 1
      }
      let suggestion = engine.suggestion(
        for: refusals, layers: random.layers, bundleName: bundle)
      lineCount += suggestion.lines.count
      let hopeless = suggestion.hopeless.reduce(0) { $0 + $1.refusalCount }
      let texts = suggestion.lines.map(\.text)
      let refused = try refused(refusals, random.layers, texts)
      #expect(refused <= hopeless, "seed \(seed): \(texts)")
      for index in texts.indices {
        var fewer = texts
        fewer.remove(at: index)
        #expect(
          try self.refused(refusals, random.layers, fewer) > refused, "seed \(seed): \(texts)")
      }
    }
    #expect(lineCount > 100)
  }

  private func refused(
    _ refusals: [ToldRefusal: Int], _ layers: [ProfileSource], _ lines: [String]
  ) throws -> Int {
    let own = profile(.container, lines.joined(separator: "\n"))
    let engine = try PolicyEngine(layers + [own])
    return refusals.keys.filter { refusal in
      let question = Question(refusal.operation, refusal.path, secondPath: refusal.secondPath)
      return !engine.explain(question).verdict.isAllowed
    }.count
  }
}
