// What the policy says about a path, and which policy: a request is judged by one from its
// beginning to its end, also if another is set meanwhile.
import LinuxKit
import Policy

/// One policy of a view.
///
/// Zones of one mean nothing to another.
final class PolicyGeneration: Sendable {
  let engine: PolicyEngine
  /// 1 for the policy of the mount, and one more with each change.
  let number: UInt32
  /// Where requests are noted from which rules are learned; nil at all other times.
  let lesson: Lesson?
  /// Whether anything is to be noted of what is allowed.
  let notesWhatIsAllowed: Bool

  init(_ engine: PolicyEngine, number: UInt32, _ lesson: Lesson? = nil) {
    self.engine = engine
    self.number = number
    self.lesson = lesson
    notesWhatIsAllowed = engine.logsWhatIsAllowed || lesson != nil
  }
}

/// A path's zone, in the policy by which its request is judged.
///
/// No reference is counted: a policy that was replaced stays until every request that began under
/// it has ended.
struct Ruling {
  let generation: Unmanaged<PolicyGeneration>
  /// The table's epoch in which the zone was computed.
  let epoch: UInt32
  let zone: ZoneID

  /// The zone of what no path leads to any more.
  static let withoutPath = ZoneID(rawValue: .max)

  @inline(__always)
  private func asking<Answer>(_ question: (PolicyEngine) -> Answer) -> Answer {
    generation._withUnsafeGuaranteedRef { question($0.engine) }
  }

  /// The number of the policy.
  @inline(__always)
  var number: UInt32 { generation._withUnsafeGuaranteedRef { $0.number } }

  /// The ruling about an entry of this directory.
  @inline(__always)
  func below(_ name: Name) -> Ruling {
    Ruling(
      generation: generation, epoch: epoch,
      zone: asking { $0.zone(named: name.bytes.span, in: zone) })
  }

  @inline(__always)
  func decide(_ operation: Operation, _ kind: NodeKind) -> Verdict {
    if zone == Ruling.withoutPath { return .withoutPath(operation) }
    return asking { $0.decide(operation, in: zone, kind: kind) }
  }

  @inline(__always)
  func decideCreate(_ name: Name, _ kind: NodeKind) -> Verdict {
    asking { $0.decideCreate(named: name.bytes.span, in: zone, kind: kind) }
  }

  @inline(__always)
  func decideLink(to target: Ruling, _ name: Name, _ kind: NodeKind) -> Verdict {
    if zone == Ruling.withoutPath { return target.decideCreate(name, kind) }
    return asking {
      $0.decideLink(from: zone, kind: kind, to: target.zone, named: name.bytes.span)
    }
  }

  @inline(__always)
  func decideRename(_ entry: RenamedEntry, to target: RenameTarget, _ name: Name) -> Verdict {
    asking { $0.decideRename(from: entry, to: target, named: name.bytes.span) }
  }

  @inline(__always)
  func decideExchange(_ entry: RenamedEntry, _ other: RenamedEntry) -> Verdict {
    asking { $0.decideExchange(entry, other) }
  }

  /// The limits that hold there.
  @inline(__always)
  var quotas: QuotaSet { asking { $0.quotas(of: zone) } }

  @inline(__always)
  var attributes: ZoneAttributes {
    asking { $0.attributes(of: zone == Ruling.withoutPath ? .root : zone) }
  }

  /// Whether a name in this directory may be hidden.
  @inline(__always)
  var mayHideNamesBelow: Bool {
    zone != Ruling.withoutPath && asking { $0.hidesNames && !$0.isUniform(below: zone) }
  }

  @inline(__always)
  var notesWhatIsAllowed: Bool {
    generation._withUnsafeGuaranteedRef { $0.notesWhatIsAllowed }
  }

  var lesson: Lesson? { generation._withUnsafeGuaranteedRef { $0.lesson } }

  func describe(_ rule: RuleID) -> String { asking { $0.describe(rule) } }
}
