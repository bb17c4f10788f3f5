// What a zone answers: the one place where an operation becomes an errno.
//
// The order of the questions is the order in which a refusal is told: what cannot be seen first,
// then what can never be, then what a rule says.

extension Zone {
  /// The answer to an operation on one object of this zone.
  func verdict(on operation: Operation, kind: NodeKind) -> Verdict {
    switch operation {
    case .lookup, .readAttributes: refusalOfSight() ?? allowance(.hidden)
    case .list, .read: refusalOfSight() ?? refusal(without: .read) ?? allowance(.read)
    case .exec: refusalOfSight() ?? refusal(without: .exec) ?? allowance(.exec)
    case .append, .setattr:
      refusalOfSight() ?? refusalOfChange() ?? allowance(.write)
    case .write:
      refusalOfSight() ?? refusalOfChange() ?? refusalOfLoss() ?? allowance(.write)
    case .remove, .rename, .exchange: verdictOnLeaving()
    case .create, .link: verdictOnCreation(kind: kind)
    }
  }

  /// The answer to taking an entry from its place.
  func verdictOnLeaving() -> Verdict {
    refusalOfSight() ?? refusalOfStructure() ?? refusalOfChange() ?? refusalOfLoss()
      ?? allowance(.write)
  }

  /// The answer to putting an entry where none is, whatever its name.
  ///
  /// A hidden name is refused like any other that may not be written, so that nothing tells whether
  /// something is behind it.
  func verdictOnCreation(kind: NodeKind) -> Verdict {
    let isInBundle = flags.contains(.bundle) && !flags.contains(.structural)
    if isInBundle, let refusal = refusalOfChange() { return refusal }
    if flags.contains(.hidden) { return denial(.accessDenied, .hidden) }
    if let refusal = refusalOfStructure() { return refusal }
    if kind == .device { return Verdict(.notPermitted, builtIn: .device) }
    return refusalOfChange() ?? allowance(.write)
  }

  /// The answer to putting an entry in the place of another one, whatever its name.
  func verdictOnReplacing(kind: NodeKind) -> Verdict {
    let verdict = verdictOnCreation(kind: kind)
    guard verdict.isAllowed else { return verdict }
    return refusalOfLoss() ?? verdict
  }

  // MARK: Reasons

  private func refusalOfSight() -> Verdict? {
    flags.contains(.hidden) ? denial(.notFound, .hidden) : nil
  }

  private func refusalOfStructure() -> Verdict? {
    flags.contains(.structural) ? Verdict(.notPermitted, builtIn: .structural) : nil
  }

  private func refusal(without attribute: Attribute) -> Verdict? {
    guard !flags.contains(ZoneFlags(attribute)) else { return nil }
    if flags.contains(.closed) { return Verdict(.accessDenied, builtIn: .zoneLimit) }
    return denial(.accessDenied, attribute)
  }

  /// In the bundle a rule that takes `write` is named if there is one; without it the answer is the
  /// same.
  private func refusalOfChange() -> Verdict? {
    guard flags.contains(.bundle) else { return refusal(without: .write) }
    let isTaken = !flags.contains(.write) && winner(.write) != .unset
    return isTaken ? denial(.readOnly, .write) : Verdict(.readOnly, builtIn: .bundle)
  }

  private func refusalOfLoss() -> Verdict? {
    flags.contains(.append) ? denial(.notPermitted, .append) : nil
  }

  /// A refusal for what an attribute says.
  @inline(__always)
  func denial(_ denial: Denial, _ attribute: Attribute) -> Verdict {
    Verdict(denial: denial, rule: winner(attribute), attribute: attribute)
  }

  @inline(__always)
  private func allowance(_ attribute: Attribute) -> Verdict {
    Verdict(denial: nil, rule: winner(attribute), attribute: attribute)
  }
}

extension Verdict {
  /// A refusal that no rule could lift.
  @inline(__always)
  init(_ denial: Denial, builtIn rule: RuleID) {
    self.init(denial: denial, rule: rule, attribute: nil)
  }
}
