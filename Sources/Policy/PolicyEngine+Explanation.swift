// Why: the same decision as ever, with the path where it fell and the rules that lost.
//
// Nothing here is fast, and nothing here decides.

public import Paths

/// What is asked of the policy.
public struct Question: Hashable, Sendable {
  /// What is to be done.
  public var operation: Operation
  /// What it is done to; a slash at the end means a directory.
  public var path: ViewPath
  /// The second path of rename, link and exchange.
  public var secondPath: ViewPath?
  /// What the first path is.
  public var kind: NodeKind
  /// What is at the second path; nil if nothing is.
  public var existing: NodeKind?

  /// A question; without a kind the path says whether a file or a directory is meant.
  public init(
    _ operation: Operation, _ path: ViewPath, secondPath: ViewPath? = nil, kind: NodeKind? = nil,
    existing: NodeKind? = nil
  ) {
    self.operation = operation
    self.path = path
    self.secondPath = secondPath
    self.kind = kind ?? (path.namesDirectory ? .directory : .file)
    self.existing = existing
  }
}

/// A verdict with its reasons.
public struct Explanation: Hashable, Sendable {
  /// The verdict.
  public let verdict: Verdict
  /// The path whose rules decided: one of the question's, or a hidden directory above it.
  public let path: ViewPath
  /// The rules that also speak of the deciding attribute at that path and lost, the last one first.
  public let losers: [RuleID]
}

/// An expectation that the rules do not meet.
public struct UnmetExpectation: Sendable {
  /// What was expected.
  public let expectation: Expectation
  /// What is.
  public let explanation: Explanation
}

extension PolicyEngine {
  /// Decides and says why; the paths need not exist.
  ///
  /// A name above them that is hidden decides first, as it would for a program.
  public func explain(_ question: Question) -> Explanation {
    for path in [question.path, question.secondPath].compactMap(\.self) {
      if let explanation = explainHiddenDirectory(above: path) { return explanation }
    }
    let verdict = decide(question)
    return explanation(verdict, decidedAt: decidingPath(of: question, verdict))
  }

  /// The expectations of the layers' own profiles that are not met.
  public func unmetExpectations() -> [UnmetExpectation] {
    expectations.compactMap { expectation in
      let question = Question(
        expectation.operation, expectation.path, secondPath: expectation.secondPath)
      let explanation = explain(question)
      guard explanation.verdict.isAllowed != expectation.isAllowed else { return nil }
      return UnmetExpectation(expectation: expectation, explanation: explanation)
    }
  }

  /// The zone of a path, a step for each name.
  public func zone(of path: ViewPath) -> ZoneID {
    path.components.reduce(ZoneID.root) { zone(named: $1.span, in: $0) }
  }

  /// The rules that say which names may be created in a zone's directory: each must allow a name.
  public func nameRules(of zone: ZoneID) -> [RuleID] {
    rules(of: self[zone].onlyRules).map(RuleID.init(rawValue:))
  }

  // MARK: Parts

  private func decide(_ question: Question) -> Verdict {
    let zone = zone(of: question.path)
    let name = question.path.components.last ?? []
    if question.operation == .create {
      return decideCreate(named: name.span, in: zone, kind: question.kind)
    }
    guard question.operation.takesTwoPaths, let second = question.secondPath else {
      return decide(question.operation, in: zone, kind: question.kind)
    }
    return decide(question, from: zone, to: self.zone(of: second), second)
  }

  private func decide(
    _ question: Question, from zone: ZoneID, to target: ZoneID, _ second: ViewPath
  ) -> Verdict {
    let entry = RenamedEntry(zone: zone, kind: question.kind)
    let name = second.components.last ?? []
    switch question.operation {
    case .rename:
      let place = RenameTarget(zone: target, existing: question.existing)
      return decideRename(from: entry, to: place, named: name.span)
    case .link:
      return decideLink(from: zone, kind: question.kind, to: target, named: name.span)
    default:
      return decideExchange(
        entry, RenamedEntry(zone: target, kind: question.existing ?? question.kind))
    }
  }

  func explainHiddenDirectory(above path: ViewPath) -> Explanation? {
    var zone = ZoneID.root
    for (index, name) in path.components.dropLast().enumerated() {
      zone = self.zone(named: name.span, in: zone)
      let verdict = decide(.lookup, in: zone, kind: .directory)
      guard verdict.isAllowed else {
        let directory = ViewPath(
          components: Array(path.components[...index]), namesDirectory: true)
        return explanation(verdict, decidedAt: directory)
      }
    }
    return nil
  }

  /// The second path if the verdict's rule is its own and not the first one's.
  private func decidingPath(of question: Question, _ verdict: Verdict) -> ViewPath {
    guard let second = question.secondPath else { return question.path }
    let first = question.path
    if rules(matching: first).contains(verdict.rule.rawValue) { return first }
    if rules(matching: second).contains(verdict.rule.rawValue) { return second }
    let isFirst = !self[zone(of: first)].verdictOnLeaving().isAllowed
    return isFirst || verdict.isAllowed ? first : second
  }

  private func explanation(_ verdict: Verdict, decidedAt path: ViewPath) -> Explanation {
    guard let attribute = verdict.attribute else {
      return Explanation(verdict: verdict, path: path, losers: [])
    }
    let losers = rules(matching: path)
      .filter { book.rules[Int($0)].assigned.contains(attribute) && $0 != verdict.rule.rawValue }
      .sorted(by: >)
      .map(RuleID.init(rawValue:))
    return Explanation(verdict: verdict, path: path, losers: losers)
  }

  /// The rules whose patterns match a path or something above it.
  func rules(matching path: ViewPath) -> Set<UInt32> {
    var found: Set<UInt32> = []
    var live: Set<UInt32> = []
    var reached: [UInt32] = [0]
    for name in [nil] + path.components.map(Optional.some) {
      if let name { reached = step(from: live, name) }
      live = []
      for position in reached {
        let node = automaton.nodes[Int(position)]
        for index in node.ownRules { found.insert(automaton.rules[Int(index)]) }
        live.insert(position)
        if node.anyDepth != 0 { live.insert(node.anyDepth) }
      }
    }
    return found
  }

  private func step(from live: Set<UInt32>, _ name: [UInt8]) -> [UInt32] {
    let hash = automaton.nameHash(name.span, 0..<name.count)
    var reached: [UInt32] = []
    for position in live {
      automaton.appendTargets(of: position, name: name.span, nameHash: hash, to: &reached)
      if automaton.nodes[Int(position)].isAnyDepth { reached.append(position) }
    }
    return reached
  }
}
