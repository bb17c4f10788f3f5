// The decisions: one zone, or two and what lies between them.

extension PolicyEngine {
  /// Whether an operation on one object is allowed; the zone is the object's own.
  ///
  /// For a file of an `append` zone the opening for writing is asked as `append` if every write
  /// begins at the end, and as `write` otherwise.
  public func decide(_ operation: Operation, in zone: ZoneID, kind: NodeKind) -> Verdict {
    self[zone].verdict(on: operation, kind: kind)
  }

  /// Whether an entry may be created; the zone is the new entry's own.
  public func decideCreate(
    named name: Span<UInt8>, in zone: ZoneID, kind: NodeKind
  ) -> Verdict {
    let zone = self[zone]
    let verdict = zone.verdictOnCreation(kind: kind)
    guard verdict.isAllowed else { return verdict }
    return refusalOfName(name, in: zone) ?? verdict
  }

  /// Whether an entry may be renamed to a place, where something may be replaced.
  ///
  /// `EXDEV` makes `mv` copy: for what cannot change its zone in one step, or is in use.
  public func decideRename(
    from entry: RenamedEntry, to target: RenameTarget, named name: Span<UInt8>
  ) -> Verdict {
    let (source, place) = pair(entry.zone, target.zone)
    let leaving = source.verdictOnLeaving()
    guard leaving.isAllowed else { return leaving }
    let arriving =
      target.existing == nil
      ? place.verdictOnCreation(kind: entry.kind) : place.verdictOnReplacing(kind: entry.kind)
    guard arriving.isAllowed else { return arriving }
    if let refusal = refusalOfName(name, in: place) { return refusal }
    return refusalOfMoving(entry, source, to: target.zone, place) ?? arriving
  }

  /// Whether two entries may change places.
  public func decideExchange(_ one: RenamedEntry, _ other: RenamedEntry) -> Verdict {
    let (first, second) = pair(one.zone, other.zone)
    // Both names are looked up before anything is exchanged.
    let seeing = second.verdict(on: .lookup, kind: other.kind)
    guard seeing.isAllowed || first.flags.contains(.hidden) else { return seeing }
    let leaving = first.verdictOnLeaving()
    guard leaving.isAllowed else { return leaving }
    let leavingToo = second.verdictOnLeaving()
    guard leavingToo.isAllowed else { return leavingToo }
    let hasDirectory = one.kind == .directory || other.kind == .directory
    guard first.decides(like: second),
      !hasDirectory || haveSameFuture(one.zone, first, other.zone, second)
    else { return difference(.accessDenied, first, second) }
    return leaving
  }

  /// Whether a file may get a second name; the zones are those of both names themselves.
  public func decideLink(
    from zone: ZoneID, kind: NodeKind, to target: ZoneID, named name: Span<UInt8>
  ) -> Verdict {
    let (source, place) = pair(zone, target)
    let seeing = source.verdict(on: .lookup, kind: kind)
    guard seeing.isAllowed else { return seeing }
    let arriving = place.verdictOnCreation(kind: kind)
    guard arriving.isAllowed else { return arriving }
    if let refusal = refusalOfName(name, in: place) { return refusal }
    return source.decides(like: place) ? arriving : difference(.crossZone, source, place)
  }

  // MARK: Parts

  private func refusalOfName(_ name: Span<UInt8>, in zone: Zone) -> Verdict? {
    guard let rule = firstRule(of: zone.nameRules, refusing: name) else { return nil }
    return Verdict(denial: .accessDenied, rule: rule, attribute: .only)
  }

  private func refusalOfMoving(
    _ entry: RenamedEntry, _ source: Zone, to target: ZoneID, _ place: Zone
  ) -> Verdict? {
    if entry.zone == target { return nil }
    if entry.kind == .directory {
      guard source.conducts(like: place), haveSameFuture(entry.zone, source, target, place) else {
        return difference(.crossZone, source, place)
      }
      return nil
    }
    if source.conducts(like: place) { return nil }
    // A move is a copy for whoever reads the new place, so it must not open what was closed.
    if place.flags.contains(.read), !source.flags.contains(.read) {
      return source.denial(.accessDenied, .read)
    }
    let isInUse = entry.isOpen && (source.flags.union(place.flags)).contains(.append)
    guard !entry.hasSeveralLinks, !entry.isOpenForWriting, !isInUse else {
      return difference(.crossZone, source, place)
    }
    return nil
  }

  /// A refusal because two zones differ: by the first switch that does, and by the rule that the
  /// second zone has for it, else the first.
  private func difference(_ denial: Denial, _ one: Zone, _ other: Zone) -> Verdict {
    var index: UInt8 = 0
    while let attribute = Attribute(rawValue: index), !attribute.hasValue {
      let flag = ZoneFlags(attribute)
      if one.flags.contains(flag) != other.flags.contains(flag) {
        let hasRule = other.winner(attribute) != .unset
        return (hasRule ? other : one).denial(denial, attribute)
      }
      index += 1
    }
    return Verdict(denial, builtIn: .zones)
  }

  /// Whether all that can ever lie below two zones' directories is under the same rules.
  ///
  /// Only asked when a directory changes its zone, so it may look at many rules.
  private func haveSameFuture(
    _ one: ZoneID, _ first: Zone, _ other: ZoneID, _ second: Zone
  ) -> Bool {
    if one == other { return true }
    let live = conductPositions(first)
    guard live == conductPositions(second) else { return false }
    guard !live.isEmpty else { return true }
    return standing(first, before: live) == standing(second, before: live)
  }

  /// The live positions behind which a rule has a say in what is allowed.
  private func conductPositions(_ zone: Zone) -> [UInt32] {
    rules(of: zone.live).filter { automaton.nodes[Int($0)].hasConductBelow }
  }

  /// For each attribute, which rule of those that may still come is the first to beat the one that
  /// holds: with the same rules to come and the same standing, the outcome is the same.
  private func standing(_ zone: Zone, before live: [UInt32]) -> [UInt32] {
    var first = [UInt32](repeating: .max, count: Attribute.allCases.count)
    for position in live {
      for index in automaton.rulesBelow(position) {
        let rule = automaton.rules[Int(index)]
        let assigned = book.rules[Int(rule)].assigned.intersection(.conduct)
        for attribute in Attribute.allCases where assigned.contains(attribute) {
          let place = Int(attribute.rawValue)
          if rule >= lastRule(of: zone, attribute) { first[place] = min(first[place], rule) }
        }
      }
    }
    return first
  }

  /// One more than the rule that holds, as an index; of `quota` and `only`, the one that gives.
  private func lastRule(of zone: Zone, _ attribute: Attribute) -> UInt32 {
    switch attribute {
    case .quota: lastGivingRule(of: zone.quotaRules)
    case .only: lastGivingRule(of: zone.onlyRules)
    default: attribute.hasValue ? 0 : zone.winners[Int(attribute.rawValue)]
    }
  }

  private func lastGivingRule(of list: UInt32) -> UInt32 {
    guard let first = rules(of: list).first,
      !book.rules[Int(first)].place.rank.onlyTakesAway
    else { return 0 }
    return first + 1
  }
}
