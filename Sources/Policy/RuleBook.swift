// The rules in the order of reading: what a zone is computed from, and what `explain` names.

import Paths

/// One rule, without its pattern.
struct Rule: Sendable {
  var place: SourcePlace
  var assigned: AttributeSet
  var granted: AttributeSet
  var purge: PurgeOccasions
  var quota: Quota?
  /// The set of names that may be created, as an index into the book's; 0 for any.
  var only: UInt32
}

/// All rules of an engine.
struct RuleBook: Sendable {
  let files: [ProfileFile]
  /// Whether what the administrator has not refused is allowed, to learn what is wanted.
  let isLearning: Bool
  private(set) var rules: [Rule] = []
  /// The rules that set a limit, in the order of reading.
  private(set) var quotaRules: [UInt32] = []
  private(set) var globs = GlobTable()
  /// The globs of each set of names, as a range of `onlyGlobs`.
  private var onlySets: [Range<Int>] = [0..<0]
  private var onlyGlobs: [GlobTable.ID] = []

  init(_ profile: Profile, isLearning: Bool = false) {
    files = profile.files
    self.isLearning = isLearning
    var known: [Set<Glob>: UInt32] = [:]
    for parsed in profile.rules {
      if parsed.quota != nil { quotaRules.append(UInt32(rules.count)) }
      rules.append(
        Rule(
          place: parsed.place, assigned: parsed.assigned, granted: parsed.granted,
          purge: parsed.purge, quota: parsed.quota, only: only(parsed.only, known: &known)))
    }
  }

  /// The number of a set of names: equal sets have the same, and one with `*` is no limit.
  private mutating func only(_ names: [Glob]?, known: inout [Set<Glob>: UInt32]) -> UInt32 {
    guard let names, !names.contains(where: \.matchesEverything) else { return 0 }
    let set = Set(names)
    if let number = known[set] { return number }
    let start = onlyGlobs.count
    for glob in names { onlyGlobs.append(globs.insert(glob)) }
    let number = UInt32(onlySets.count)
    onlySets.append(start..<onlyGlobs.count)
    known[set] = number
    return number
  }

  /// The bit of a rule that sets a limit.
  func quotaBit(of rule: UInt32) -> QuotaSet {
    // Sorted, and as few as a set has bits: the parser sees to it.
    QuotaSet(number: quotaRules.firstIndex(of: rule) ?? 0)
  }

  /// Whether a rule's `only` lets a name be created.
  func allowsName(_ name: Span<UInt8>, by rule: UInt32) -> Bool {
    let number = rules[Int(rule)].only
    guard number != 0 else { return true }
    if isLearning, !rules[Int(rule)].place.rank.isAdministrators { return true }
    for index in onlySets[Int(number)] where globs.matches(onlyGlobs[index], name) { return true }
    return false
  }

  /// The names that a rule's `only` lets be created; none if it is no limit.
  func names(of rule: UInt32) -> [Glob] {
    let byNumber = globs.globs
    return onlySets[Int(rules[Int(rule)].only)].compactMap { byNumber[onlyGlobs[$0]] }
  }

  /// Where a rule stands, for people: `default.profile:7`.
  func describe(_ rule: RuleID) -> String {
    if let name = RuleID.builtIn.first(where: { $0.rule == rule })?.name { return name }
    let place = rules[Int(rule.rawValue)].place
    return "\(Presentation.escaped(files[place.file].name)):\(place.line)"
  }
}
