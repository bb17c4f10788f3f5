// The policy of one view: profiles in, zones and verdicts out.
//
// The engine is immutable but for the table of zones, which grows as paths are met and is behind a
// lock that is held for a step or a copy, never across a call of anyone else's.

public import Paths
import Synchronization

/// Decides what may be done in a view.
///
/// Safe to use from several threads. `zone(named:in:)` and the functions `decide…` allocate nothing
/// once the zones that they meet are known.
public final class PolicyEngine: Sendable {
  let automaton: Automaton
  let book: RuleBook
  private let table: Mutex<ZoneTable>

  /// Whether any rule wants what is allowed to be logged too.
  public let logsWhatIsAllowed: Bool

  /// Whether any rule hides names.
  public let hidesNames: Bool
  /// Whether any rule has each write judged when it is made: by how much is stored, or by where the
  /// file ends.
  public let judgesWrites: Bool
  /// Whether any rule lets something be executed besides bundles.
  public let executesBesidesBundles: Bool

  /// What the layers' own profiles expect.
  public let expectations: [Expectation]

  /// Reads profiles, in the order of their ranks and, within one, as they come.
  ///
  /// `bundleName` is empty for a container without a bundle. `isLearning` makes an engine that
  /// also allows what a line of the container's own profile could allow without overruling the
  /// administrator: reading, writing and names, and nothing that is hidden, sealed, executed or
  /// kept by `append`. Throws all mistakes of all profiles.
  public init(
    layers: [ProfileSource], bundleName: [UInt8], isLearning: Bool = false
  ) throws(ProfileErrors) {
    let profile = try ProfileParser.read(layers)
    var builder = AutomatonBuilder(seed: UInt64.random(in: 0...UInt64.max))
    for (index, rule) in profile.rules.enumerated() {
      let hasConduct = !rule.assigned.isDisjoint(with: .conduct)
      builder.insert(rule.pattern, rule: UInt32(index), hasConduct: hasConduct)
    }
    for names in StructuralPaths.all { builder.insertStructural(names, isBundle: false) }
    if !bundleName.isEmpty { builder.insertStructural([bundleName], isBundle: true) }
    let automaton = builder.finish()
    let book = RuleBook(profile, isLearning: isLearning)
    self.automaton = automaton
    hidesNames = profile.rules.contains { $0.granted.contains(.hidden) }
    judgesWrites = profile.rules.contains {
      !$0.granted.isDisjoint(with: [.quota, .append])
    }
    executesBesidesBundles = profile.rules.contains {
      $0.granted.contains(.exec) && !$0.pattern.isOfBundles
    }
    logsWhatIsAllowed = profile.rules.contains { $0.granted.contains(.audit) }
    self.book = book
    expectations = profile.expectations
    table = Mutex(ZoneTable(automaton, book))
  }

  // MARK: Zones

  /// The zone of an entry, from its directory's.
  public func zone(named name: Span<UInt8>, in parent: ZoneID) -> ZoneID {
    table.withLock { table in
      ZoneID(
        rawValue: table.step(from: parent.rawValue, name: name, automaton, book))
    }
  }

  /// What the policy says about a zone.
  public func attributes(of zone: ZoneID) -> ZoneAttributes {
    self[zone].attributes
  }

  /// Whether everything below a zone's paths is in one zone, its own one step below: no rule
  /// speaks of a name there.
  public func isUniform(below zone: ZoneID) -> Bool {
    self[zone].flags.contains(.uniform)
  }

  /// How many zones have been met.
  public var zoneCount: Int { table.withLock { $0.zones.count } }

  subscript(zone: ZoneID) -> Zone {
    table.withLock { $0.zones[Int(zone.rawValue)] }
  }

  func pair(_ one: ZoneID, _ other: ZoneID) -> (Zone, Zone) {
    table.withLock { ($0.zones[Int(one.rawValue)], $0.zones[Int(other.rawValue)]) }
  }

  func rules(of list: UInt32) -> [UInt32] {
    table.withLock { Array($0.lists.elements(of: list)) }
  }

  /// The first rule of a list whose `only` refuses a name.
  func firstRule(of list: UInt32, refusing name: Span<UInt8>) -> RuleID? {
    guard list != 0 else { return nil }
    return table.withLock { table in
      for element in table.lists.range(list) {
        let rule = table.lists[element]
        if !book.allowsName(name, by: rule) { return RuleID(rawValue: rule) }
      }
      return nil
    }
  }

  // MARK: Names of rules

  /// Where a rule stands: `default.profile:7`, or `built-in:structural`.
  public func describe(_ rule: RuleID) -> String { book.describe(rule) }

  /// The layer that said so; nil for a rule that is built in.
  public func layer(of rule: RuleID) -> ProfileSource.Rank? {
    guard Int(rule.rawValue) < book.rules.count else { return nil }
    return book.rules[Int(rule.rawValue)].place.rank
  }

  /// The line that a rule is, as it was written; nil for a rule that is built in.
  ///
  /// `layers` are those that the engine was made of: it keeps no text.
  public func text(of rule: RuleID, in layers: [ProfileSource]) -> [UInt8]? {
    guard Int(rule.rawValue) < book.rules.count else { return nil }
    let place = book.rules[Int(rule.rawValue)].place
    let text =
      switch book.files[place.file].origin {
      case .source(let index): layers[index].text
      case .shipped(let index): ShippedProfiles.all[index].text
      }
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return Array(lines[place.line - 1])
  }

  /// The names that a rule's `only=` lets be created; none if it is no limit.
  public func names(allowedBy rule: RuleID) -> [Glob] { book.names(of: rule.rawValue) }

  /// The rules that give an attribute what it is in a zone, in the order of reading; none where no
  /// rule says anything.
  public func rules(for attribute: Attribute, in zone: ZoneID) -> [RuleID] {
    let zone = self[zone]
    switch attribute {
    case .purge: return rules(of: zone.purgeRules).map(RuleID.init(rawValue:))
    case .quota: return rules(of: zone.quotaRules).map(RuleID.init(rawValue:))
    case .only: return rules(of: zone.onlyRules).map(RuleID.init(rawValue:))
    default:
      let winner = zone.winner(attribute)
      return winner == .unset ? [] : [winner]
    }
  }
}

/// The entries that every view has; the bundle comes to them.
enum StructuralPaths {
  static let all: [[[UInt8]]] = [
    [],
    ["Documents"],
    ["Library"],
    ["Library", "Application Support"],
    ["Library", "ApplicationSupport"],
    ["Library", "Caches"],
    ["Library", "Preferences"],
    ["tmp"],
  ].map { (names: [String]) in names.map { Array($0.utf8) } }
}

extension Zone {
  /// The zone's decision, for others.
  var attributes: ZoneAttributes {
    ZoneAttributes(
      read: flags.contains(.read), write: flags.contains(.write), exec: flags.contains(.exec),
      append: flags.contains(.append), hidden: flags.contains(.hidden),
      sealed: flags.contains(.sealed), backup: flags.contains(.backup),
      audit: flags.contains(.silent)
        ? .silent : flags.contains(.audit) ? .everything : .denials,
      purge: purge, quota: quota, limitsNames: only != 0,
      isStructural: flags.contains(.structural), isBundle: flags.contains(.bundle))
  }

  private var quota: Quota? {
    guard quotaBytes != .max || quotaEntries != .max else { return nil }
    return Quota(byteCount: quotaBytes, entryCount: quotaEntries == .max ? nil : quotaEntries)
  }
}
