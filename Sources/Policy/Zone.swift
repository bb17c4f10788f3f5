// A zone: what the policy has resolved for a set of paths.

/// The switches of a zone, and what it is.
struct ZoneFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  /// The switch of an attribute.
  init(_ attribute: Attribute) { rawValue = 1 << UInt16(attribute.rawValue) }

  init(rawValue: UInt16) { self.rawValue = rawValue }

  static let read = Self(.read)
  static let write = Self(.write)
  static let exec = Self(.exec)
  static let append = Self(.append)
  static let hidden = Self(.hidden)
  static let sealed = Self(.sealed)
  static let backup = Self(.backup)
  static let audit = Self(.audit)
  /// This very path is structural.
  static let structural = Self(rawValue: 1 << 8)
  /// The bundle, or in it.
  static let bundle = Self(rawValue: 1 << 9)
  /// A rule says `-audit`.
  static let silent = Self(rawValue: 1 << 10)
  /// Whatever name comes next, the zone below is the same.
  static let uniform = Self(rawValue: 1 << 11)
  /// Stands for all zones beyond those that are kept.
  static let closed = Self(rawValue: 1 << 12)

  /// What decides about operations.
  static let conduct: Self = [.read, .write, .exec, .append, .hidden, .sealed, .bundle, .closed]
  /// What the rules decided in all.
  static let decision: Self = conduct.union([.backup, .audit, .silent])
}

/// One zone; plain data, so that it is copied without counting references.
struct Zone: Sendable {
  /// One rule for each switch: its index plus one; 0 where no rule says anything.
  var winners = SIMD8<UInt32>()
  /// For `read` and `write` the administrator's last rule, likewise; only kept while learning.
  var guards = SIMD2<UInt32>()
  var flags: ZoneFlags = []
  var purge: PurgeOccasions = []
  /// Lists of rules (0 is empty) that together say what `purge`, `quota` and `only` are.
  var purgeRules: UInt32 = 0
  var quotaRules: UInt32 = 0
  var onlyRules: UInt32 = 0
  /// The list of sets of names of `onlyRules`: equal lists say the same; 0 is no limit.
  var only: UInt32 = 0
  /// The `onlyRules` of the directory above: this zone's own name must be allowed by them.
  var nameRules: UInt32 = 0
  var quotaBytes = UInt64.max
  var quotaEntries = UInt64.max
  /// The rules of `quotaRules` that set a limit, as a set of `QuotaRule`s' bits.
  var quotas: QuotaSet = []
  /// The live positions, a list.
  var live: UInt32 = 0
  /// The zone below for names that no pattern speaks of; 0 while it is unknown, since the root is
  /// below nothing.
  var below: UInt32 = 0

  /// The rule that decided about a switch.
  @inline(__always)
  func winner(_ attribute: Attribute) -> RuleID {
    RuleID(rawValue: winners[Int(attribute.rawValue)] &- 1)
  }

  /// Whether the same operations are allowed here as there.
  func conducts(like other: Zone) -> Bool {
    flags.intersection(.conduct) == other.flags.intersection(.conduct) && only == other.only
      && quotas == other.quotas
  }

  /// Whether every attribute is the same here as there.
  func decides(like other: Zone) -> Bool {
    conducts(like: other) && purge == other.purge
      && flags.intersection(.decision) == other.flags.intersection(.decision)
  }
}
