// What a zone answers: the one place where an operation becomes an errno.
//
// The order of the questions is the order in which a refusal is told: what cannot be seen first,
// then what can never be, then what a rule says.

extension Zone {
  /// The answer to an operation on one object of this zone.
  func verdict(on operation: Operation, kind: NodeKind) -> Verdict {
    switch operation {
    case .lookup, .readAttributes: refusalOfSight() ?? .allowed(by: winner(.hidden))
    case .list, .read: refusalOfSight() ?? refusal(without: .read) ?? .allowed(by: winner(.read))
    case .exec: refusalOfSight() ?? refusal(without: .exec) ?? .allowed(by: winner(.exec))
    case .append, .setattr:
      refusalOfSight() ?? refusalOfChange() ?? .allowed(by: winner(.write))
    case .write:
      refusalOfSight() ?? refusalOfChange() ?? refusalOfLoss() ?? .allowed(by: winner(.write))
    case .remove, .rename, .exchange: verdictOnLeaving()
    case .create, .link: verdictOnCreation(kind: kind)
    }
  }

  /// The answer to taking an entry from its place.
  func verdictOnLeaving() -> Verdict {
    refusalOfSight() ?? refusalOfStructure() ?? refusalOfChange() ?? refusalOfLoss()
      ?? .allowed(by: winner(.write))
  }

  /// The answer to putting an entry where none is, whatever its name.
  ///
  /// A hidden name is refused like any other that may not be written, so that nothing tells whether
  /// something is behind it.
  func verdictOnCreation(kind: NodeKind) -> Verdict {
    if flags.contains(.bundle) { return refusalOfChange() ?? .denied(.readOnly, by: .bundle) }
    if flags.contains(.hidden) { return .denied(.accessDenied, by: winner(.hidden)) }
    if let refusal = refusalOfStructure() { return refusal }
    if kind == .device { return .denied(.notPermitted, by: .device) }
    return refusalOfChange() ?? .allowed(by: winner(.write))
  }

  /// The answer to putting an entry in the place of another one, whatever its name.
  func verdictOnReplacing(kind: NodeKind) -> Verdict {
    let verdict = verdictOnCreation(kind: kind)
    guard verdict.isAllowed else { return verdict }
    return refusalOfLoss() ?? verdict
  }

  // MARK: Reasons

  private func refusalOfSight() -> Verdict? {
    flags.contains(.hidden) ? .denied(.notFound, by: winner(.hidden)) : nil
  }

  private func refusalOfStructure() -> Verdict? {
    flags.contains(.structural) ? .denied(.notPermitted, by: .structural) : nil
  }

  private func refusal(without attribute: Attribute) -> Verdict? {
    guard !flags.contains(ZoneFlags(attribute)) else { return nil }
    let rule = flags.contains(.closed) ? RuleID.zoneLimit : winner(attribute)
    return .denied(.accessDenied, by: rule)
  }

  private func refusalOfChange() -> Verdict? {
    if flags.contains(.bundle) {
      return .denied(.readOnly, by: flags.contains(.write) ? .bundle : winner(.write))
    }
    return refusal(without: .write)
  }

  private func refusalOfLoss() -> Verdict? {
    flags.contains(.append) ? .denied(.notPermitted, by: winner(.append)) : nil
  }
}
