// Reads the attributes of one rule, and knows which of them its layer may say.

import Paths

/// Gathers what the words behind a pattern say.
struct RuleReader {
  private let rank: ProfileSource.Rank
  private var assigned: AttributeSet = []
  private var granted: AttributeSet = []
  private var purge: PurgeOccasions = []
  private var quota: Quota?
  private var only: [Glob]?

  init(rank: ProfileSource.Rank) { self.rank = rank }

  /// The rule, once every word was read.
  func rule(_ pattern: Pattern, at place: SourcePlace) -> ParsedRule {
    ParsedRule(
      pattern: pattern, place: place, assigned: assigned, granted: granted, purge: purge,
      quota: quota, only: only)
  }

  /// Whether it limits what may lie below.
  var setsLimit: Bool { quota != nil }

  /// How the attributes that a layer may say are spelled.
  static func spellings(for rank: ProfileSource.Rank) -> String {
    rank.onlyTakesAway
      ? "-read, -write, -exec, -backup, append, hidden, purge=, quota= or only=, which take away"
      : "read, write, exec, append, hidden, sealed, backup, audit, purge=, quota= or only="
  }

  /// Reads `name`, `-name` or `name=value`.
  mutating func read(_ word: Word, on pattern: Pattern?) throws(LineError) {
    let isNegated = word.bytes.first?.isSpecial("-") ?? false
    let equals = word.bytes.firstIndex { $0.isSpecial("=") }
    let nameRange = (isNegated ? 1 : 0)..<(equals ?? word.bytes.count)
    guard nameRange.lowerBound <= nameRange.upperBound,
      let attribute = Self.attribute(word.part(nameRange).plain)
    else {
      throw LineError(word, expected: "an attribute: \(Self.spellings(for: rank))")
    }
    try checkForm(word, of: attribute, isNegated: isNegated, hasValue: equals != nil)
    try checkLayer(word, of: attribute, isNegated: isNegated, on: pattern)
    guard !assigned.contains(attribute) else {
      throw LineError(word, expected: "each attribute once in a line")
    }
    if let equals {
      try readValue(word.part((equals + 1)..<word.bytes.count), of: attribute)
    }
    assigned.insert(AttributeSet(attribute))
    if !isNegated { granted.insert(AttributeSet(attribute)) }
  }

  private static func attribute(_ name: [UInt8]) -> Attribute? {
    Attribute.allCases.first { Array($0.name.utf8) == name }
  }

  private func checkForm(
    _ word: Word, of attribute: Attribute, isNegated: Bool, hasValue: Bool
  ) throws(LineError) {
    let name = attribute.name
    if isNegated {
      if hasValue { throw LineError(word, expected: "-\(name) without a value") }
    } else if attribute.hasValue != hasValue {
      throw LineError(
        word, expected: attribute.hasValue ? "\(name)=VALUE or -\(name)" : "\(name) without a value"
      )
    }
  }

  /// What a layer may not say.
  private func checkLayer(
    _ word: Word, of attribute: Attribute, isNegated: Bool, on pattern: Pattern?
  ) throws(LineError) {
    if attribute == .hidden, !isNegated, let pattern, pattern.components.isEmpty {
      throw LineError(word, expected: "another pattern: /** hides what is below the root")
    }
    guard rank.onlyTakesAway else { return }
    guard Self.takesAway(attribute, isNegated: isNegated) else {
      throw LineError(word, expected: "an attribute: \(Self.spellings(for: rank))")
    }
    guard rank == .bundle, attribute == .purge, let pattern else { return }
    guard pattern.isWithin(["tmp"]) || pattern.isWithin(["Library", "Caches"]) else {
      throw LineError(
        word, expected: "purge= only at /Library/Caches or /tmp in a bundle's profile")
    }
  }

  private static func takesAway(_ attribute: Attribute, isNegated: Bool) -> Bool {
    switch attribute {
    case .read, .write, .exec, .backup: isNegated
    case .append, .hidden, .purge, .quota, .only: !isNegated
    case .sealed, .audit: false
    }
  }

  // MARK: Values

  private mutating func readValue(_ value: Word, of attribute: Attribute) throws(LineError) {
    switch attribute {
    case .purge: purge = try Self.purge(value)
    case .quota: quota = try Self.quota(value)
    case .only:
      var globs: [Glob] = []
      for part in value.split(separator: ",") { globs.append(try Pattern.glob(part)) }
      only = globs
    default: preconditionFailure("only purge, quota and only carry a value")
    }
  }

  private static func purge(_ value: Word) throws(LineError) -> PurgeOccasions {
    var occasions: PurgeOccasions = []
    for part in value.split(separator: ",") {
      switch String(decoding: part.plain, as: UTF8.self) {
      case "exit": occasions.insert(.exit)
      case "pressure": occasions.insert(.pressure)
      case "restore": occasions.insert(.restore)
      default: throw LineError(part, expected: "exit, pressure or restore")
      }
    }
    return occasions
  }

  private static func quota(_ value: Word) throws(LineError) -> Quota {
    let parts = value.split(separator: ",")
    if parts.count > 2 { throw LineError(parts[2], expected: "quota=SIZE or quota=SIZE,ENTRIES") }
    guard let size = Quota.byteCount(parts[0].plain) else {
      throw LineError(parts[0], expected: "a size such as 500, 64K, 10M or 2G")
    }
    guard parts.count == 2 else { return Quota(byteCount: size) }
    guard let entries = Quota.number(parts[1].plain[...]) else {
      throw LineError(parts[1], expected: "a number of entries")
    }
    return Quota(byteCount: size, entryCount: entries)
  }
}
