// Which limits hold at a path: each rule with `quota=` is a limit of its own, for all together that
// it speaks of.

/// A set of an engine's limits.
///
/// The limit of the container as a whole is none of them.
public struct QuotaSet: OptionSet, Hashable, Sendable {
  /// How many limits there can be.
  public static let capacity = 63

  /// One bit for each limit.
  public let rawValue: UInt64

  /// A set of these bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The set of one limit, by its place among the engine's.
  init(number: Int) { rawValue = 1 << UInt64(number) }
}

/// A rule that sets a limit.
public struct QuotaRule: Hashable, Sendable {
  /// The rule.
  public let rule: RuleID
  /// What it allows.
  public let quota: Quota
}

extension PolicyEngine {
  /// The rules that set limits: the one at a place has that place's bit in a `QuotaSet`.
  public var quotaRules: [QuotaRule] {
    book.quotaRules.compactMap { index in
      let rule = book.rules[Int(index)]
      guard let quota = rule.quota else { return nil }
      return QuotaRule(rule: RuleID(rawValue: index), quota: quota)
    }
  }

  /// Whether any rule sets a limit.
  public var setsLimits: Bool { !book.quotaRules.isEmpty }

  /// The limits that hold in a zone.
  public func quotas(of zone: ZoneID) -> QuotaSet { self[zone].quotas }
}
