// What would allow something that is refused: the fewest lines of a profile, each tried.

import Paths

/// What it takes to allow what is refused.
public enum Remedy: Hashable, Sendable {
  /// Lines at the end of the container's own profile.
  case lines([String])
  /// A change of this rule, which no layer before its own can overrule.
  case change(RuleID)
  /// No rule can allow it; the text says what to do instead.
  case outsideRules(String)
}

extension PolicyEngine {
  /// The smallest change of rules that would allow what is asked; nil if it is allowed.
  ///
  /// `layers` are those that the engine was made of. Each proposed line was tried: with all of them
  /// the answer is yes.
  public func remedy(
    for question: Question, layers: [ProfileSource], bundleName: [UInt8]
  ) -> Remedy? {
    var trial = Trial(question: question, layers: layers, bundleName: bundleName)
    return trial.remedy(self)
  }
}

/// Adds lines to the container's own profile until the answer is yes.
private struct Trial {
  let question: Question
  let layers: [ProfileSource]
  let bundleName: [UInt8]
  private var lines: [String] = []

  /// More than there are attributes that can refuse at two paths.
  private static let maximumLineCount = 8

  init(question: Question, layers: [ProfileSource], bundleName: [UInt8]) {
    self.question = question
    self.layers = layers
    self.bundleName = bundleName
  }

  mutating func remedy(_ engine: PolicyEngine) -> Remedy? {
    var engine = engine
    while lines.count <= Self.maximumLineCount {
      let explanation = engine.explain(question)
      if explanation.verdict.isAllowed { return remedy }
      if let remedy = unchangeable(explanation, engine) { return remedy }
      guard let next = nextEngine(after: explanation, engine) else { break }
      engine = next
    }
    return .outsideRules("no line of the container's own profile")
  }

  /// The lines that were needed: one of them may have made an earlier one superfluous.
  private var remedy: Remedy? {
    var needed = lines
    for line in lines {
      let fewer = needed.filter { $0 != line }
      let engine = try? PolicyEngine(layers: adding(fewer), bundleName: bundleName)
      if engine?.explain(question).verdict.isAllowed == true { needed = fewer }
    }
    return needed.isEmpty ? nil : .lines(needed)
  }

  /// What no line of the container's can change.
  private func unchangeable(_ explanation: Explanation, _ engine: PolicyEngine) -> Remedy? {
    let verdict = explanation.verdict
    switch verdict.denial {
    case .crossZone: return .outsideRules("a copy instead, as mv(1) makes: the two places differ")
    case .readOnly:
      return .outsideRules("another version of the app, installed: its bundle never changes")
    default: break
    }
    guard let attribute = verdict.attribute else {
      return .outsideRules("nothing: this holds whatever the rules say")
    }
    let isDifference =
      question.operation == .exchange
      && ![.hidden, .write, .append].contains(attribute)
    if isDifference { return .outsideRules("two renames instead: the two places differ") }
    guard engine.layer(of: verdict.rule) == .limits else { return nil }
    // The limits are read last, so each line that was tried has moved them on by one rule.
    return .change(RuleID(rawValue: verdict.rule.rawValue - UInt32(lines.count)))
  }

  private mutating func nextEngine(
    after explanation: Explanation, _ engine: PolicyEngine
  ) -> PolicyEngine? {
    let paths = [explanation.path, question.path, question.secondPath].compactMap(\.self)
    for path in paths {
      guard let line = line(for: explanation.verdict, at: path, engine), !lines.contains(line),
        let next = try? PolicyEngine(layers: adding(lines + [line]), bundleName: bundleName)
      else { continue }
      guard next.explain(question) != explanation else { continue }
      lines.append(line)
      return next
    }
    return nil
  }

  private func line(
    for verdict: Verdict, at path: ViewPath, _ engine: PolicyEngine
  ) -> String? {
    let pattern = Presentation.pattern(path.components)
    switch verdict.attribute {
    case .read: return "\(pattern) read"
    case .write: return "\(pattern) write"
    case .exec: return "\(pattern) exec"
    case .hidden: return "\(pattern) -hidden"
    case .append: return "\(pattern) -append"
    case .only: return lineAllowingName(of: path, verdict.rule, engine)
    default: return nil
    }
  }

  /// The set of names once more, with one more; nil where several sets limit them.
  private func lineAllowingName(
    of path: ViewPath, _ rule: RuleID, _ engine: PolicyEngine
  ) -> String? {
    guard let name = path.components.last else { return nil }
    let directory = ViewPath(components: path.components.dropLast(), namesDirectory: true)
    let limits = engine.nameRules(of: engine.zone(of: directory)).filter {
      !engine.names(allowedBy: $0).isEmpty
    }
    guard limits == [rule] else { return nil }
    let names = engine.names(allowedBy: rule).map(\.text) + [Presentation.patternText(name)]
    let value = Presentation.quotedPattern("only=" + names.joined(separator: ","))
    return "\(Presentation.pattern(directory.components)) \(value)"
  }

  private func adding(_ lines: [String]) -> [ProfileSource] { layers.addingOwn(lines) }
}

extension [ProfileSource] {
  /// The layers with more lines at the end of the container's own profile.
  func addingOwn(_ lines: [String]) -> [ProfileSource] {
    let text = Array<UInt8>(("\n" + lines.joined(separator: "\n") + "\n").utf8)
    var layers = self
    guard let index = layers.lastIndex(where: { $0.rank == .container }) else {
      let name = Array<UInt8>("profile".utf8)
      return layers + [ProfileSource(rank: .container, name: name, text: text)]
    }
    layers[index].text += text
    return layers
  }
}
