// What would have allowed what a log tells of: few lines for many refusals, each of them tried.
//
// Nothing here is fast, but the work is bounded: a log may be full of what an app made up.

public import Paths

/// A refusal, as a log tells of it.
public struct ToldRefusal: Hashable, Sendable {
  /// What was asked for.
  public var operation: Operation
  /// Where.
  public var path: ViewPath
  /// The second path of what has two.
  public var secondPath: ViewPath?
  /// The errno's name.
  public var errnoName: String
  /// The rule that refused, as `FILE:LINE` or `built-in:NAME`.
  public var rule: String

  /// A refusal with all that is told of it.
  public init(
    _ operation: Operation, _ path: ViewPath, secondPath: ViewPath? = nil, errnoName: String,
    rule: String
  ) {
    self.operation = operation
    self.path = path
    self.secondPath = secondPath
    self.errnoName = errnoName
    self.rule = rule
  }
}

/// The smallest change of rules that would have allowed refusals, and those that none would have.
public struct Suggestion: Sendable {
  /// A line for the end of the container's own profile.
  public struct Line: Hashable, Sendable {
    /// The line.
    public var text: String
    /// How many of the refusals it answers; some need another line too.
    public var refusalCount: Int
    /// How many paths they were at.
    public var pathCount: Int
    /// What was asked for there.
    public var operations: [Operation]
  }

  /// Refusals of one sort that no line of the container's own profile would have prevented.
  public struct Hopeless: Hashable, Sendable {
    /// What was asked for.
    public var operation: Operation
    /// The rule that refuses.
    public var rule: String
    /// What would help instead.
    public var reason: String
    /// The paths of one of them.
    public var paths: [ViewPath]
    /// How many there were.
    public var refusalCount: Int
  }

  /// Lines, those that answer most first.
  public internal(set) var lines: [Line] = []
  /// What lines can't answer, the most frequent first.
  public internal(set) var hopeless: [Hopeless] = []
  /// How many refusals the rules would allow by now.
  public internal(set) var allowedCount = 0
  /// How many were not looked at, since there are lines enough for a person.
  public internal(set) var omittedCount = 0

  /// So many lines are the most that are suggested.
  public static let lineLimit = 64
  /// The same about so many names in one directory becomes one line for all names in it.
  static let namesPerPattern = 4
}

extension PolicyEngine {
  /// Suggests what would have allowed `refusals`, each with how often it was.
  ///
  /// `layers` are those that the engine was made of.
  public func suggestion(
    for refusals: [ToldRefusal: Int], layers: [ProfileSource], bundleName: [UInt8]
  ) -> Suggestion {
    var search = SuggestionSearch(self, layers, bundleName)
    search.look(at: refusals)
    return search.suggestion
  }
}

/// Adds lines to the container's own profile, one group of refusals after the other.
private struct SuggestionSearch {
  let engine: PolicyEngine
  let layers: [ProfileSource]
  let bundleName: [UInt8]
  var suggestion = Suggestion()
  private var lines: [ProposedLine] = []
  /// The engine with all lines so far.
  private var trial: PolicyEngine
  /// What lines are to answer.
  private var asked: [Asked] = []

  struct Asked {
    var question: Question
    var count: Int
  }

  /// Refusals that differ in the last name alone.
  struct Group: Hashable {
    var operation: Operation
    var directory: [[UInt8]]
    var verdict: Verdict
  }

  init(_ engine: PolicyEngine, _ layers: [ProfileSource], _ bundleName: [UInt8]) {
    self.engine = engine
    self.layers = layers
    self.bundleName = bundleName
    trial = engine
  }

  mutating func look(at refusals: [ToldRefusal: Int]) {
    var groups: [Group: [Asked]] = [:]
    // In an order that does not change from one run to the next.
    for (refusal, count) in refusals.sorted(by: { $0.key.order < $1.key.order }) {
      guard let question = question(refusal) else {
        suggestion.allowedCount += count
        continue
      }
      let explanation = engine.explain(question)
      let group = Group(
        operation: refusal.operation, directory: explanation.path.components.dropLast(),
        verdict: explanation.verdict)
      groups[group, default: []].append(Asked(question: question, count: count))
    }
    // The largest first: their lines may answer others.
    for (group, asked) in groups.sorted(by: { order($0) < order($1) }) { answer(asked, of: group) }
    finish()
  }

  private func order(_ group: (key: Group, value: [Asked])) -> (Int, [UInt8]) {
    let path = group.value.first?.question.path.order ?? []
    return (-group.value.count, path + [0, 0, group.key.operation.rawValue])
  }

  /// What was asked, with kinds of files by which it is refused as it was; nil if it is allowed.
  private func question(_ refusal: ToldRefusal) -> Question? {
    var candidates: [Question] = []
    let existing: [NodeKind?] = refusal.secondPath == nil ? [nil] : [nil, .file, .directory]
    for kind in [NodeKind.file, .directory, .symlink, .device] {
      candidates += existing.map {
        Question(
          refusal.operation, refusal.path, secondPath: refusal.secondPath, kind: kind, existing: $0)
      }
    }
    let verdicts = candidates.map { ($0, engine.explain($0).verdict) }
    let same = verdicts.first { _, verdict in
      verdict.denial?.errnoName == refusal.errnoName
        && engine.describe(verdict.rule) == refusal.rule
    }
    // A file or a directory: the others are refused where these are not for being what they are.
    let alike = verdicts.prefix(existing.count * 2).first { !$0.1.isAllowed }
    return (same ?? alike)?.0
  }

  // MARK: One group

  private mutating func answer(_ asked: [Asked], of group: Group) {
    let names = Set(asked.map(\.question.path)).count
    if names >= Suggestion.namesPerPattern, !group.directory.isEmpty,
      let line = ProposedLine(for: group.verdict, inAll: group.directory),
      let next = trial(with: line),
      asked.allSatisfy({ next.explain($0.question).verdict.isAllowed })
    {
      lines = next.lines
      trial = next.engine
      self.asked += asked
      return
    }
    for one in asked { answer(one) }
  }

  private mutating func answer(_ asked: Asked) {
    if trial.explain(asked.question).verdict.isAllowed { return self.asked.append(asked) }
    guard lines.count < Suggestion.lineLimit, suggestion.hopeless.count < Suggestion.lineLimit
    else {
      suggestion.omittedCount += asked.count
      return
    }
    let remedy = trial.remedy(
      for: asked.question, layers: layers.addingOwn(lines.map(\.text)), bundleName: bundleName)
    switch remedy {
    case nil: self.asked.append(asked)
    case .lines(let texts):
      for text in texts {
        guard let next = trial(with: ProposedLine(text)) else { return giveUp(asked, "") }
        lines = next.lines
        trial = next.engine
      }
      self.asked.append(asked)
    case .change(let rule):
      giveUp(asked, "a change of \(trial.describe(rule)), which has the last word")
    case .outsideRules(let instead): giveUp(asked, instead)
    }
  }

  private mutating func giveUp(_ asked: Asked, _ reason: String) {
    let question = asked.question
    let rule = engine.describe(engine.explain(question).verdict.rule)
    let index = suggestion.hopeless.firstIndex {
      $0.operation == question.operation && $0.rule == rule && $0.reason == reason
    }
    if let index {
      suggestion.hopeless[index].refusalCount += asked.count
      return
    }
    suggestion.hopeless.append(
      Suggestion.Hopeless(
        operation: question.operation, rule: rule, reason: reason,
        paths: [question.path] + (question.secondPath.map { [$0] } ?? []),
        refusalCount: asked.count))
  }

  // MARK: Lines

  private struct Next {
    let engine: PolicyEngine
    let lines: [ProposedLine]

    func explain(_ question: Question) -> Explanation { engine.explain(question) }
  }

  /// The engine with one more line, which goes into the one about the same path if there is one.
  private func trial(with line: ProposedLine) -> Next? {
    var lines = lines
    if let index = lines.firstIndex(where: { $0.pattern == line.pattern }) {
      lines[index].add(line)
    } else {
      lines.append(line)
    }
    return engine(with: lines).map { Next(engine: $0, lines: lines) }
  }

  private func engine(with lines: [ProposedLine]) -> PolicyEngine? {
    try? PolicyEngine(layers: layers.addingOwn(lines.map(\.text)), bundleName: bundleName)
  }

  /// Drops what others have made superfluous, and counts what each line answers.
  private mutating func finish() {
    for line in lines where needing(line).isEmpty { lines.removeAll { $0 == line } }
    for line in lines {
      let answered = needing(line)
      suggestion.lines.append(
        Suggestion.Line(
          text: line.text, refusalCount: answered.reduce(0) { $0 + $1.count },
          pathCount: Set(answered.map(\.question.path)).count,
          operations: Operation.allCases.filter { operation in
            answered.contains { $0.question.operation == operation }
          }))
    }
    suggestion.lines.sort { ($1.refusalCount, $0.text) < ($0.refusalCount, $1.text) }
    suggestion.hopeless.sort { $0.refusalCount > $1.refusalCount }
  }

  /// What would be refused if a line were missing.
  private func needing(_ line: ProposedLine) -> [Asked] {
    guard let without = engine(with: lines.filter { $0 != line }) else { return asked }
    return asked.filter { !without.explain($0.question).verdict.isAllowed }
  }
}

/// A pattern and attributes, as a profile has them.
private struct ProposedLine: Hashable {
  let pattern: String
  private var attributes: [String]

  var text: String { ([pattern] + attributes).joined(separator: " ") }

  /// Reads a line of a remedy's: no blank stands in it but between words and in quotes.
  init(_ text: String) {
    var words: [String] = [""]
    var (isQuoted, isEscaped) = (false, false)
    for character in text {
      if character == " ", !isQuoted {
        words.append("")
        continue
      }
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = character == "\\" && !isEscaped
      words[words.count - 1].append(character)
    }
    pattern = words[0]
    attributes = Array(words.dropFirst())
  }

  /// What lifts a refusal for every name in a directory; nil where it depends on the name.
  init?(for verdict: Verdict, inAll directory: [[UInt8]]) {
    let attribute: String
    switch verdict.attribute {
    case .read: attribute = "read"
    case .write: attribute = "write"
    case .exec: attribute = "exec"
    case .append: attribute = "-append"
    case .hidden: attribute = "-hidden"
    default: return nil
    }
    let path = directory.map { "/" + Presentation.patternText($0) }.joined()
    pattern = Presentation.quotedPattern(path + "/*")
    attributes = [attribute]
  }

  /// Takes over what another line says about the same pattern; a set of names replaces the one
  /// before it.
  mutating func add(_ other: ProposedLine) {
    for attribute in other.attributes where !attributes.contains(attribute) {
      if attribute.isSetOfNames { attributes.removeAll(where: \.isSetOfNames) }
      attributes.append(attribute)
    }
  }
}

extension String {
  fileprivate var isSetOfNames: Bool { hasPrefix("only=") || hasPrefix("\"only=") }
}

extension ViewPath {
  fileprivate var order: [UInt8] { Array(components.joined(separator: [0])) }
}

extension ToldRefusal {
  fileprivate var order: [UInt8] {
    [operation.rawValue] + path.order + [0, 0] + (secondPath?.order ?? []) + Array(rule.utf8)
  }
}

private func < (left: [UInt8], right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }

private func < (left: (Int, [UInt8]), right: (Int, [UInt8])) -> Bool {
  left.0 == right.0 ? left.1 < right.1 : left.0 < right.0
}
