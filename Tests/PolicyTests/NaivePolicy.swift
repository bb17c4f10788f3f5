// The policy once more, as simply as it can be said: each path is matched whole against each rule.
//
// It shares no code with the engine but the words of the language.

import Policy

/// What a random rule says, beside its text.
struct NaiveRule {
  enum Part {
    case name([UInt8])
    /// Bytes, of which `*` and `?` are wildcards.
    case glob([UInt8])
    case anyDepth
  }

  var rank: ProfileSource.Rank
  var parts: [Part]
  /// The switches that it sets, and to what.
  var switches: [Attribute: Bool]
  /// nil: nothing said; an empty set: `-purge`.
  var purge: PurgeOccasions?
  /// nil: nothing said; `.some(nil)`: `-quota`.
  var quota: Quota??
  /// nil: nothing said; `.some(nil)`: `-only`.
  var only: [[UInt8]]??

  var takesAway: Bool { rank == .bundle || rank == .limits }

  /// Whether it holds for a path: it matches that or something above.
  func applies(to names: [[UInt8]]) -> Bool {
    (0...names.count).contains { Self.matches(parts[...], names[..<$0]) }
  }

  private static func matches(_ parts: ArraySlice<Part>, _ names: ArraySlice<[UInt8]>) -> Bool {
    guard let part = parts.first else { return names.isEmpty }
    let rest = parts.dropFirst()
    switch part {
    case .anyDepth:
      if rest.isEmpty { return !names.isEmpty }
      return (0...names.count).contains { matches(rest, names.dropFirst($0)) }
    case .name(let name):
      return names.first == name && matches(rest, names.dropFirst())
    case .glob(let glob):
      return names.first.map { globMatches(glob[...], $0[...]) } ?? false
        && matches(rest, names.dropFirst())
    }
  }

  static func globMatches(_ glob: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
    guard let first = glob.first else { return name.isEmpty }
    if first == UInt8(ascii: "*") {
      return (0...name.count).contains { globMatches(glob.dropFirst(), name.dropFirst($0)) }
    }
    guard let byte = name.first, first == UInt8(ascii: "?") || first == byte else { return false }
    return globMatches(glob.dropFirst(), name.dropFirst())
  }
}

/// What the rules say about one path.
struct NaiveDecision {
  var switches: [Attribute: Bool] = [:]
  var purge: PurgeOccasions = []
  var quota: Quota?
  /// Each of these sets must have a match.
  var only: [[[UInt8]]] = []

  /// Folds the rules that apply to a path in their order.
  init(_ rules: [NaiveRule], at names: [[UInt8]]) {
    for rule in rules where rule.applies(to: names) { apply(rule) }
  }

  private mutating func apply(_ rule: NaiveRule) {
    switches.merge(rule.switches) { $1 }
    if let value = rule.purge { purge = rule.takesAway ? purge.union(value) : value }
    if case .some(let value) = rule.quota { apply(value, takesAway: rule.takesAway) }
    if case .some(let value) = rule.only {
      if !rule.takesAway { only = [] }
      if let value { only.append(value) }
    }
  }

  private mutating func apply(_ value: Quota?, takesAway: Bool) {
    guard takesAway, let value else { return quota = value }
    let entries = [quota?.entryCount, value.entryCount].compactMap(\.self).min()
    quota = Quota(
      byteCount: min(quota?.byteCount ?? .max, value.byteCount), entryCount: entries)
  }

  func has(_ attribute: Attribute) -> Bool { switches[attribute] ?? false }

  func allowsName(_ name: [UInt8]) -> Bool {
    only.allSatisfy { set in set.contains { NaiveRule.globMatches($0[...], name[...]) } }
  }
}

/// Random rules with their text, and random paths for them.
struct RandomPolicy {
  var random: Random
  private(set) var rules: [NaiveRule] = []
  private(set) var layers: [ProfileSource] = []

  /// Short, so that patterns and paths meet; with a blank, a wildcard's byte, half a character.
  private static let names: [[UInt8]] = [
    Array("a".utf8), Array("b".utf8), Array("ab".utf8), Array("ba".utf8), Array(".a".utf8),
    Array("a b".utf8), Array("*".utf8), [0xC3], [0xC3, 0xA9], [0x01, 0xFF], Array("Library".utf8),
  ]
  private static let globs = ["*", "a*", "*b", "?", "a?", "*a*", "?*"]

  /// The attributes that the rules speak of.
  private let attributes: [Attribute]

  init(seed: UInt64, ruleCount: Int = 12, attributes: [Attribute] = Attribute.allCases) {
    random = Random(seed: seed)
    self.attributes = attributes
    for rank in [ProfileSource.Rank.shipped, .bundle, .administrator, .container, .limits] {
      var text = "# \(rank.name)\n\n"
      for _ in 0..<random.number(below: ruleCount) {
        let (rule, line) = randomRule(rank)
        rules.append(rule)
        text += line + "\n"
      }
      layers.append(profile(rank, text))
    }
  }

  mutating func path() -> [[UInt8]] {
    (0..<random.number(below: 6)).map { _ in random.element(of: Self.names) }
  }

  private mutating func randomRule(_ rank: ProfileSource.Rank) -> (NaiveRule, String) {
    var rule = NaiveRule(rank: rank, parts: [], switches: [:])
    var line = pattern(&rule)
    var words: [String] = []
    for attribute in attributes where random.chance(oneIn: 3) {
      if let word = word(attribute, &rule) { words.append(word) }
    }
    if words.isEmpty {
      let gives = !rule.takesAway && random.chance(oneIn: 2)
      rule.switches[.write] = gives
      words = [gives ? "write" : "-write"]
    }
    line += " " + words.joined(separator: " ")
    return (rule, line)
  }

  private mutating func pattern(_ rule: inout NaiveRule) -> String {
    if random.chance(oneIn: 4) {
      let (part, text) = part()
      rule.parts = [.anyDepth, part]
      return text
    }
    var text = ""
    for _ in 0..<random.number(below: 4) {
      if random.chance(oneIn: 5) {
        text += "/**"
        if case .anyDepth = rule.parts.last {} else { rule.parts.append(.anyDepth) }
      } else {
        let (part, name) = part()
        rule.parts.append(part)
        text += "/" + name
      }
    }
    return text.isEmpty ? "/" : text
  }

  private mutating func part() -> (NaiveRule.Part, String) {
    if random.chance(oneIn: 2) {
      let glob = random.element(of: Self.globs)
      return (.glob(Array(glob.utf8)), glob)
    }
    let name = random.element(of: Self.names)
    return (.name(name), written(name))
  }

  /// A name in which no byte has a special meaning.
  private func written(_ name: [UInt8]) -> String {
    name.map { byte in
      switch byte {
      case UInt8(ascii: "*"): return "\\*"
      case UInt8(ascii: " "): return "\" \""
      case 0x21..<0x7F: return String(UnicodeScalar(byte))
      default:
        let octal = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
      }
    }.joined()
  }

  private mutating func word(_ attribute: Attribute, _ rule: inout NaiveRule) -> String? {
    let isRoot = rule.parts.isEmpty
    switch attribute {
    case .purge: return purge(&rule)
    case .quota: return quota(&rule)
    case .only: return only(&rule)
    case .sealed, .audit:
      guard !rule.takesAway else { return nil }
    case .hidden:
      guard !isRoot else { return nil }
    default: break
    }
    let gives = attribute != .append && attribute != .hidden
    let isOn = rule.takesAway ? !gives : random.chance(oneIn: 2)
    rule.switches[attribute] = isOn
    return (isOn ? "" : "-") + attribute.name
  }

  private mutating func purge(_ rule: inout NaiveRule) -> String? {
    guard rule.rank != .bundle else { return nil }
    if !rule.takesAway, random.chance(oneIn: 4) {
      rule.purge = []
      return "-purge"
    }
    let bit = random.number(below: 3)
    rule.purge = PurgeOccasions(rawValue: 1 << UInt8(bit))
    return "purge=" + ["exit", "pressure", "restore"][bit]
  }

  private mutating func quota(_ rule: inout NaiveRule) -> String? {
    if !rule.takesAway, random.chance(oneIn: 4) {
      rule.quota = .some(nil)
      return "-quota"
    }
    let size = UInt64(random.number(below: 4))
    let entries = random.chance(oneIn: 2) ? UInt64(random.number(below: 4)) : nil
    rule.quota = Quota(byteCount: size << 10, entryCount: entries)
    return "quota=\(size)K" + (entries.map { ",\($0)" } ?? "")
  }

  private mutating func only(_ rule: inout NaiveRule) -> String? {
    if !rule.takesAway, random.chance(oneIn: 4) {
      rule.only = .some(nil)
      return "-only"
    }
    let globs = (0...random.number(below: 2)).map { _ in random.element(of: Self.globs) }
    rule.only = .some(globs.map { Array($0.utf8) })
    return "only=" + globs.joined(separator: ",")
  }
}
