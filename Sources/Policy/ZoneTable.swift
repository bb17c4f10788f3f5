// The zones that have been met so far, and the steps between them.
//
// What is remembered of a step is not the name but the set of positions that the name led to: an
// app can invent names without end, and none of them is kept.

import Paths

/// Zones, interned and built as paths ask for them.
struct ZoneTable: Sendable {
  /// A step that some name has taken: from a zone, to the positions of a list.
  private struct Step: Sendable {
    var parent: UInt32
    var targets: UInt32
    var child: UInt32
  }

  private(set) var zones: [Zone] = []
  private(set) var lists = ListTable()
  private var zoneTable = IndexTable()
  private var steps: [Step] = []
  private var stepTable = IndexTable()
  /// The positions of the step being taken; kept for its capacity.
  private var targets: [UInt32] = []
  /// How many zones and steps are kept.
  ///
  /// Beyond them an app that looks for paths with ever new sets
  /// of patterns finds closed doors; no profile that was written by hand comes near.
  private let limit: Int
  /// The same for the elements of all lists together: hostile rules can make each list long.
  private let elementLimit: Int

  /// A table whose first zone is the root's; the second stands for all that are not kept.
  init(_ automaton: borrowing Automaton, _ book: borrowing RuleBook) {
    limit = max(1 << 16, automaton.nodes.count * 4)
    elementLimit = max(1 << 21, automaton.nodes.count * 8)
    targets.reserveCapacity(64)
    let root = zone(below: Zone(), reached: [0], automaton, book)
    _ = intern(root)
    var closed = Zone()
    closed.flags = [.closed, .uniform]
    closed.below = 1
    zones.append(closed)
  }

  /// The zone of an entry, one step below its directory's.
  @inline(__always)
  mutating func step(
    from parent: UInt32, name: Span<UInt8>, _ automaton: borrowing Automaton,
    _ book: borrowing RuleBook
  ) -> UInt32 {
    let zone = zones[Int(parent)]
    if zone.flags.contains(.uniform), zone.below != 0 { return zone.below }
    return find(from: parent, name: name, automaton, book)
  }

  private mutating func find(
    from parent: UInt32, name: Span<UInt8>, _ automaton: borrowing Automaton,
    _ book: borrowing RuleBook
  ) -> UInt32 {
    let nameHash = automaton.nameHash(name, 0..<name.count)
    targets.removeAll(keepingCapacity: true)
    for element in lists.range(zones[Int(parent)].live) {
      automaton.appendTargets(
        of: lists[element], name: name, nameHash: nameHash, to: &targets)
    }
    if targets.isEmpty { return unmatched(from: parent, automaton, book) }
    return matched(from: parent, automaton, book)
  }

  private mutating func unmatched(
    from parent: UInt32, _ automaton: borrowing Automaton, _ book: borrowing RuleBook
  ) -> UInt32 {
    let known = zones[Int(parent)].below
    if known != 0 { return known }
    let child = build(from: parent, automaton, book)
    zones[Int(parent)].below = child
    return child
  }

  private mutating func matched(
    from parent: UInt32, _ automaton: borrowing Automaton, _ book: borrowing RuleBook
  ) -> UInt32 {
    var hash = Hash(seed: UInt64(parent))
    for target in targets { hash.add(UInt64(target)) }
    let known = stepTable.find(hash.value) { index in
      let step = steps[Int(index)]
      return step.parent == parent && areTargets(step.targets)
    }
    if let known { return steps[Int(known)].child }
    let child = build(from: parent, automaton, book)
    guard steps.count < limit, lists.elementCount < elementLimit else { return child }
    stepTable.insert(UInt32(steps.count), hash: hash.value)
    steps.append(Step(parent: parent, targets: lists.intern(targets), child: child))
    return child
  }

  private func areTargets(_ list: UInt32) -> Bool {
    let range = lists.range(list)
    guard range.count == targets.count else { return false }
    for index in targets.indices where targets[index] != lists[range.lowerBound + index] {
      return false
    }
    return true
  }

  // MARK: Building

  private mutating func build(
    from parent: UInt32, _ automaton: borrowing Automaton, _ book: borrowing RuleBook
  ) -> UInt32 {
    let above = zones[Int(parent)]
    var reached = targets
    for position in lists.elements(of: above.live)
    where automaton.nodes[Int(position)].isAnyDepth {
      reached.append(position)
    }
    return intern(zone(below: above, reached: reached, automaton, book))
  }

  /// The zone of an entry whose name led to some positions.
  private mutating func zone(
    below above: Zone, reached: [UInt32], _ automaton: borrowing Automaton,
    _ book: borrowing RuleBook
  ) -> Zone {
    var zone = above
    zone.below = 0
    zone.flags.subtract([.structural, .uniform])
    zone.nameRules = above.only == 0 ? 0 : above.onlyRules
    var rules: [UInt32] = []
    for position in reached {
      let node = automaton.nodes[Int(position)]
      for index in node.ownRules { rules.append(automaton.rules[Int(index)]) }
      if node.isStructural { zone.flags.insert(.structural) }
      if node.isBundle { zone.flags.insert(.bundle) }
    }
    resolve(&zone, with: rules, book)
    // What is said of the root itself holds for all that there is: nothing of that is lent.
    if book.isLearning { lend(&zone, isRoot: reached == [0], with: rules, book) }
    setLive(&zone, reached: reached, automaton)
    return zone
  }

  private mutating func setLive(
    _ zone: inout Zone, reached: [UInt32], _ automaton: borrowing Automaton
  ) {
    var live: [UInt32] = []
    var isUniform = true
    for position in reached {
      let node = automaton.nodes[Int(position)]
      if node.hasEdges || node.isAnyDepth { live.append(position) }
      // `**` may stand for no name at all, so what follows it is live at once.
      if node.anyDepth != 0 { live.append(node.anyDepth) }
    }
    live.sort()
    for position in live where automaton.nodes[Int(position)].hasEdges { isUniform = false }
    zone.live = lists.intern(live.removingRepeats())
    if isUniform { zone.flags.insert(.uniform) }
  }

  private mutating func resolve(
    _ zone: inout Zone, with rules: [UInt32], _ book: borrowing RuleBook
  ) {
    guard !rules.isEmpty else { return }
    for index in rules {
      let assigned = book.rules[Int(index)].assigned
      for attribute in Attribute.allCases where !attribute.hasValue && assigned.contains(attribute)
      {
        let place = Int(attribute.rawValue)
        zone.winners[place] = max(zone.winners[place], index + 1)
      }
    }
    for attribute in Attribute.allCases where !attribute.hasValue {
      let winner = zone.winners[Int(attribute.rawValue)]
      let isGranted = winner > 0 && book.rules[Int(winner - 1)].granted.contains(attribute)
      if isGranted {
        zone.flags.insert(ZoneFlags(attribute))
      } else {
        zone.flags.remove(ZoneFlags(attribute))
      }
      if attribute == .audit {
        if winner > 0, !isGranted { zone.flags.insert(.silent) } else { zone.flags.remove(.silent) }
      }
    }
    resolveValues(&zone, with: rules, book)
  }

  /// Allows reading and writing unless the administrator has refused it, where nothing is executed
  /// or sealed.
  private func lend(
    _ zone: inout Zone, isRoot: Bool, with rules: [UInt32], _ book: borrowing RuleBook
  ) {
    for (place, attribute) in [Attribute.read, .write].enumerated() {
      for index in rules {
        let rule = book.rules[Int(index)]
        guard rule.place.rank.isAdministrators, rule.assigned.contains(attribute) else { continue }
        zone.guards[place] = max(zone.guards[place], index + 1)
      }
      let guardian = zone.guards[place]
      let isRefused = guardian > 0 && !book.rules[Int(guardian - 1)].granted.contains(attribute)
      let isLocked = attribute == .write && !zone.flags.isDisjoint(with: [.exec, .bundle])
      if !isRoot, !isRefused, !isLocked, !zone.flags.contains(.sealed) {
        zone.flags.insert(ZoneFlags(attribute))
      }
    }
  }

  private mutating func resolveValues(
    _ zone: inout Zone, with rules: [UInt32], _ book: borrowing RuleBook
  ) {
    zone.purgeRules = merge(zone.purgeRules, with: rules, .purge, book)
    zone.purge = lists.elements(of: zone.purgeRules).reduce(into: []) {
      $0.formUnion(book.rules[Int($1)].purge)
    }
    zone.quotaRules = merge(zone.quotaRules, with: rules, .quota, book)
    zone.quotaBytes = .max
    zone.quotaEntries = .max
    zone.quotas = []
    for index in lists.elements(of: zone.quotaRules) {
      guard let quota = book.rules[Int(index)].quota else { continue }
      zone.quotas.insert(book.quotaBit(of: index))
      zone.quotaBytes = min(zone.quotaBytes, quota.byteCount)
      zone.quotaEntries = min(zone.quotaEntries, quota.entryCount ?? .max)
    }
    zone.onlyRules = merge(zone.onlyRules, with: rules, .only, book)
    var sets = lists.elements(of: zone.onlyRules).map { book.rules[Int($0)].only }
    sets.removeAll { $0 == 0 }
    sets.sort()
    zone.only = lists.intern(sets.removingRepeats())
  }

  /// The rules that together give a value: the last one that may also give, and behind it all that
  /// only take away.
  private mutating func merge(
    _ list: UInt32, with rules: [UInt32], _ attribute: Attribute, _ book: borrowing RuleBook
  ) -> UInt32 {
    var all = Array(lists.elements(of: list))
    for index in rules where book.rules[Int(index)].assigned.contains(attribute) {
      all.append(index)
    }
    all.sort()
    let base = all.lastIndex { !book.rules[Int($0)].place.rank.onlyTakesAway }
    return lists.intern(Array(all[(base ?? 0)...]).removingRepeats())
  }

  // MARK: Interning

  private mutating func intern(_ zone: Zone) -> UInt32 {
    let hash = Self.hash(zone)
    let known = zoneTable.find(hash) { Self.isSame(zones[Int($0)], zone) }
    if let known { return known }
    guard zones.count < limit, lists.elementCount < elementLimit else { return 1 }
    let number = UInt32(zones.count)
    zones.append(zone)
    zoneTable.insert(number, hash: hash)
    return number
  }

  private static func isSame(_ one: Zone, _ other: Zone) -> Bool {
    one.winners == other.winners && one.guards == other.guards && one.flags == other.flags
      && one.live == other.live && one.purgeRules == other.purgeRules
      && one.quotaRules == other.quotaRules
      && one.onlyRules == other.onlyRules && one.nameRules == other.nameRules
  }

  private static func hash(_ zone: Zone) -> UInt32 {
    var hash = Hash(seed: UInt64(zone.flags.rawValue))
    for index in zone.winners.indices { hash.add(UInt64(zone.winners[index])) }
    hash.add(UInt64(zone.guards[0]) << 32 | UInt64(zone.guards[1]))
    hash.add(UInt64(zone.live) << 32 | UInt64(zone.nameRules))
    hash.add(UInt64(zone.purgeRules) << 32 | UInt64(zone.quotaRules))
    hash.add(UInt64(zone.onlyRules))
    return hash.value
  }
}

extension [UInt32] {
  /// A sorted list with each element once.
  fileprivate func removingRepeats() -> Self {
    var result: Self = []
    for element in self where element != result.last { result.append(element) }
    return result
  }
}
