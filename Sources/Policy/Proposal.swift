// From requests that were refused to the few lines that allow them: what a person would have
// written. Each line only gives `read`, `write` or names; what protects is never lifted.
//
// Many entries of one directory become one line for all of them, as long as that lifts no other
// rule than those that were in the way.

import Paths

/// Lines for the end of the container's own profile, and what they can't do.
public struct Proposal: Hashable, Sendable {
  /// The lines, each with a pattern and attributes.
  public var lines: [String] = []
  /// What none of them allows.
  public var left: [Question] = []
}

extension PolicyEngine {
  /// Lines that allow what is asked, as far as a line of the container's own profile can.
  ///
  /// `layers` are those that the engine was made of. The lines were tried: with them every question
  /// that is not left is answered with yes.
  public func proposal(
    for questions: [Question], layers: [ProfileSource], bundleName: [UInt8]
  ) -> Proposal {
    var wishes = Wishes(self)
    let lending = try? PolicyEngine(layers: layers, bundleName: bundleName, isLearning: true)
    // A line about a directory holds for all below: it must not lift what protects there.
    func isModest(_ question: Question) -> Bool {
      lending?.explain(question).verdict.isAllowed == true && !wouldLiftMore(question)
    }
    let modest = questions.filter(isModest)
    for question in modest { wishes.add(question) }
    let trial = ProposalTrial(questions: modest, layers: layers, bundleName: bundleName)
    var proposal = trial.proposal(startingWith: wishes.lines)
    proposal.left += questions.filter { !isModest($0) }
    return proposal
  }

  private func wouldLiftMore(_ question: Question) -> Bool {
    guard question.kind == .directory else { return false }
    let paths = [question.path, question.secondPath].compactMap(\.self)
    return paths.contains { path in
      let zone = zone(of: path)
      return [Attribute.read, .write].contains { attribute in
        let isGiven = self[zone].flags.contains(ZoneFlags(attribute))
        return !isGiven
          && protects(attribute, below: zone, besides: [self[zone].winner(attribute)])
      }
    }
  }

  /// Whether a rule below a zone's paths, other than these, says that an attribute is not given;
  /// or, of `write`, that something there is executed or sealed.
  fileprivate func protects(
    _ attribute: Attribute, below zone: ZoneID, besides overruled: Set<RuleID>
  ) -> Bool {
    let locks: AttributeSet = attribute == .write ? [.exec, .sealed] : []
    return rules(of: self[zone].live).contains { position in
      automaton.rulesBelow(position).contains { index in
        let number = automaton.rules[Int(index)]
        let rule = book.rules[Int(number)]
        // What the limits take away nobody gives back, whatever the line.
        guard rule.place.rank != .limits else { return false }
        let takes = rule.assigned.contains(attribute) && !rule.granted.contains(attribute)
        return takes && !overruled.contains(RuleID(rawValue: number))
          || !rule.granted.isDisjoint(with: locks)
      }
    }
  }
}

// MARK: - What is wanted

/// What questions want at which paths.
private struct Wishes {
  private let engine: PolicyEngine
  private var paths: [Attribute: Set<[[UInt8]]>] = [:]
  /// Names by the directories in which `only` does not allow them.
  private var names: [[[UInt8]]: Set<[UInt8]>] = [:]
  private var made: Set<[[UInt8]]> = []
  private var gone: Set<[[UInt8]]> = []

  init(_ engine: PolicyEngine) { self.engine = engine }

  mutating func add(_ question: Question) {
    let first = question.path.components
    let second = question.secondPath?.components ?? []
    switch question.operation {
    case .lookup, .readAttributes, .exec: break
    case .list, .read: want(.read, first)
    case .write, .append, .setattr: want(.write, first)
    case .remove: leave(first)
    case .create: make(first)
    case .rename:
      leave(first)
      make(second)
      let isShown = engine.attributes(of: engine.zone(of: ViewPath(components: second))).read
      if isShown { want(.read, first) }
    case .link: make(second)
    case .exchange:
      want(.write, first)
      want(.write, second)
    }
  }

  private mutating func leave(_ path: [[UInt8]]) {
    gone.insert(path)
    want(.write, path)
  }

  private mutating func make(_ path: [[UInt8]]) {
    made.insert(path)
    want(.write, path)
    guard let name = path.last else { return }
    let zone = engine[engine.zone(of: ViewPath(components: path))]
    if engine.firstRule(of: zone.nameRules, refusing: name.span) != nil {
      names[Array(path.dropLast()), default: []].insert(name)
    }
  }

  private mutating func want(_ attribute: Attribute, _ path: [[UInt8]]) {
    let attributes = engine.attributes(of: engine.zone(of: ViewPath(components: path)))
    let isThere = attribute == .read ? attributes.read : attributes.write
    if !isThere { paths[attribute, default: []].insert(path) }
  }

  /// Whether a name was only there for a while, and looks as if the next run would take another.
  private func isTemporary(_ path: [[UInt8]]) -> Bool {
    guard let name = path.last, made.contains(path), gone.contains(path) else { return false }
    return temporaryPattern(of: name) != Presentation.patternText(name)
  }

  // MARK: Lines

  var lines: [String] {
    var attributes: [String: [Attribute]] = [:]
    for attribute in [Attribute.read, .write] {
      var tree = WishTree()
      for path in paths[attribute] ?? [] { tree.insert(path) }
      for pattern in patterns(of: tree, at: [], attribute).patterns {
        attributes[pattern, default: []].append(attribute)
      }
    }
    return attributes.sorted { $0.key < $1.key }.map { pattern, attributes in
      "\(Presentation.quotedPattern(pattern)) \(attributes.map(\.name).joined(separator: " "))"
    } + nameLines
  }

  /// The patterns for what is wanted below a path, and the rules that are in its way.
  private func patterns(
    of tree: WishTree, at path: [[UInt8]], _ attribute: Attribute
  ) -> (patterns: [String], rules: Set<RuleID>) {
    if tree.isWanted {
      return (
        [pattern(of: path)], [engine[engine.zone(of: ViewPath(components: path))].winner(attribute)]
      )
    }
    var all: [String] = []
    var rules: Set<RuleID> = []
    var wholeCount = 0
    for (name, child) in tree.children {
      let below = patterns(of: child, at: path + [name], attribute)
      all += below.patterns
      rules.formUnion(below.rules)
      if child.isWanted || below.patterns.contains(where: { $0.hasSuffix("/*") }) {
        wholeCount += 1
      }
    }
    let hasTemporary = tree.children.contains { $1.isWanted && isTemporary(path + [$0]) }
    let isWorth = wholeCount >= 3 || all.count > 8 || hasTemporary
    let zone = engine.zone(of: ViewPath(components: path))
    guard isWorth, !path.isEmpty, !engine.protects(attribute, below: zone, besides: rules) else {
      return (all, rules)
    }
    let ending = hasTemporary ? nil : tree.commonEnding
    let name = ending.map { "*." + Presentation.patternText($0) } ?? "*"
    return ([text(of: path) + "/" + name], rules)
  }

  private func text(of path: [[UInt8]]) -> String {
    path.map { "/" + Presentation.patternText($0) }.joined()
  }

  private func pattern(of path: [[UInt8]]) -> String {
    guard let name = path.last, isTemporary(path) else { return text(of: path) }
    return text(of: path.dropLast()) + "/" + temporaryPattern(of: name)
  }

  /// The sets of names that hold once more, each with more.
  private var nameLines: [String] {
    names.sorted { text(of: $0.key) < text(of: $1.key) }.compactMap { line(allowing: $1, in: $0) }
  }

  /// nil where several sets hold together: no one line of ours makes one of them larger.
  private func line(allowing names: Set<[UInt8]>, in directory: [[UInt8]]) -> String? {
    let zone = engine.zone(of: ViewPath(components: directory))
    let limits = engine.nameRules(of: zone).filter { !engine.names(allowedBy: $0).isEmpty }
    guard limits.count == 1 else { return nil }
    let all = engine.names(allowedBy: limits[0]).map(\.text) + namePatterns(names, in: directory)
    let value = Presentation.quotedPattern("only=" + all.joined(separator: ","))
    return "\(Presentation.pattern(directory)) \(value)"
  }

  private func namePatterns(_ names: Set<[UInt8]>, in directory: [[UInt8]]) -> [String] {
    var tree = WishTree()
    for name in names { tree.insert([name]) }
    if names.count >= 3, let ending = tree.commonEnding {
      return ["*." + Presentation.patternText(ending)]
    }
    let patterns = names.map { name in
      isTemporary(directory + [name])
        ? temporaryPattern(of: name) : Presentation.patternText(name)
    }
    return Set(patterns).sorted()
  }
}

/// The name of a file that is there for a while: its last run of six or more letters and digits is
/// what mkstemp(3) and its kin choose anew each time.
///
/// At the beginning of a name the first three stay, as in `sedX1yZw2`: a pattern for every name is
/// none.
private func temporaryPattern(of name: [UInt8]) -> String {
  var run = name[name.endIndex...]
  var start = name.endIndex
  for index in name.indices.reversed() {
    guard name[index].isLetterOrDigit else {
      start = index
      continue
    }
    let candidate = name[index..<start].prefix { $0.isLetterOrDigit }
    if candidate.count >= 6 { run = candidate } else if !run.isEmpty { break }
  }
  guard !run.isEmpty else { return Presentation.patternText(name) }
  let kept = run.startIndex == name.startIndex ? 3 : 0
  return Presentation.patternText(Array(name[..<(run.startIndex + kept)])) + "*"
    + Presentation.patternText(Array(name[run.endIndex...]))
}

extension UInt8 {
  fileprivate var isLetterOrDigit: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }
}

/// Paths as a tree.
private struct WishTree {
  var isWanted = false
  var children: [[UInt8]: WishTree] = [:]

  mutating func insert(_ path: some Collection<[UInt8]>) {
    guard let name = path.first else {
      isWanted = true
      return
    }
    children[name, default: WishTree()].insert(Array(path.dropFirst()))
  }

  /// What all names end in behind their last dot, if all are wanted themselves.
  var commonEnding: [UInt8]? {
    var common: [UInt8]?
    for (name, child) in children {
      guard child.isWanted, let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else {
        return nil
      }
      let ending = Array(name[(dot + 1)...])
      guard !ending.isEmpty, common == nil || common == ending else { return nil }
      common = ending
    }
    return common
  }
}

// MARK: - Trying

/// Holds lines against the questions, and adds what is still missing.
private struct ProposalTrial {
  let questions: [Question]
  let layers: [ProfileSource]
  let bundleName: [UInt8]

  /// How often something may be added; beyond it a question is left.
  private static let maximumAdditions = 100

  func proposal(startingWith lines: [String]) -> Proposal {
    var proposal = Proposal(lines: lines)
    var additions = 0
    guard var engine = engine(with: lines) else { return Proposal(left: questions) }
    for question in questions where !engine.explain(question).verdict.isAllowed {
      additions += 1
      let layers = layers.addingOwn(proposal.lines)
      guard additions <= Self.maximumAdditions,
        case .lines(let more) = engine.remedy(
          for: question, layers: layers, bundleName: bundleName),
        more.allSatisfy(Self.isGift),
        let next = self.engine(with: proposal.lines + more)
      else {
        proposal.left.append(question)
        continue
      }
      proposal.lines += more
      engine = next
    }
    proposal.left += questions.filter { question in
      !engine.explain(question).verdict.isAllowed && !proposal.left.contains(question)
    }
    return proposal
  }

  /// Whether a line gives what may be learned; the others lift what protects.
  private static func isGift(_ line: String) -> Bool {
    line.hasSuffix(" read") || line.hasSuffix(" write") || line.contains("only=")
  }

  private func engine(with lines: [String]) -> PolicyEngine? {
    try? PolicyEngine(layers: layers.addingOwn(lines), bundleName: bundleName)
  }
}
