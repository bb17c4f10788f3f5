// What of a batch is worth a line. An app that is refused all day, or that wants to push its first
// refusal out of a log of limited size, gets few lines for many requests, and not one is uncounted.

/// Lets each kind of record have a share of the log, and counts what is beyond it.
public struct AuditDigest: Sendable {
  /// How many bytes of lines a kind may have at once.
  public static let burstByteCount: Int64 = 128 << 10
  /// How many more it may have with each second.
  public static let bytesPerSecond: Int64 = 64
  /// How long a count waits for others to be added to it.
  public static let countMilliseconds: Int64 = 5000
  /// How many kinds are kept in mind.
  public static let kindLimit = 1024

  /// What a line of the log says.
  public enum Line: Equatable, Sendable {
    /// A record.
    case record(AuditRing.Taken)
    /// So many more of a kind.
    case more(AuditKind, Int)
    /// So many of which nothing is known.
    case lost(Int)
  }

  private struct Share {
    var credit = AuditDigest.burstByteCount
    var paidUntil: Int64
    var more = 0
    /// When the first of `more` came.
    var since: Int64 = 0
  }

  private var shares: [AuditKind: Share] = [:]

  /// A digest that has seen nothing.
  public init() {}

  /// Whether something was counted that is in no line yet.
  public private(set) var isWaiting = false

  /// The lines for a batch, in order.
  ///
  /// `size` is how long a record's line is.
  public mutating func lines(
    for batch: (records: [AuditRing.Taken], lost: Int), at milliseconds: Int64,
    size: (AuditRing.Taken) -> Int
  ) -> [Line] {
    var lines: [Line] = []
    if batch.lost > 0 { lines.append(.lost(batch.lost)) }
    for record in batch.records {
      makeRoom(for: record.kind, &lines)
      var share = shares[record.kind] ?? Share(paidUntil: milliseconds)
      let earned = max(0, milliseconds - share.paidUntil) * Self.bytesPerSecond / 1000
      if earned > 0 {
        share.credit = min(Self.burstByteCount, share.credit + earned)
        share.paidUntil = milliseconds
      }
      var more = record.more
      if share.credit > 0 {
        share.credit -= Int64(size(record))
        lines.append(.record(record))
      } else {
        more += record.count
      }
      if share.more == 0, more > 0 { share.since = milliseconds }
      share.more += more
      shares[record.kind] = share
    }
    return lines + counts(since: milliseconds - Self.countMilliseconds)
  }

  /// What was counted and is in no line yet, as lines.
  public mutating func rest() -> [Line] { counts(since: .max) }

  /// The same, which goes on waiting.
  public var waiting: [Line] {
    shares.filter { $0.value.more > 0 }.map { .more($0.key, $0.value.more) }
  }

  private mutating func counts(since limit: Int64) -> [Line] {
    var lines: [Line] = []
    isWaiting = false
    for (kind, share) in shares where share.more > 0 {
      if share.since > limit {
        isWaiting = true
      } else {
        lines.append(.more(kind, share.more))
        shares[kind]?.more = 0
      }
    }
    return lines
  }

  /// Forgets all kinds where one more would be too many.
  private mutating func makeRoom(for kind: AuditKind, _ lines: inout [Line]) {
    guard shares.count >= Self.kindLimit, shares[kind] == nil else { return }
    lines += rest()
    shares = [:]
  }
}

/// What goes to the system's journal: the first of each kind at once, its repeats as a count.
public struct JournalDigest: Sendable {
  /// How long repeats of a kind are counted before they are told.
  public static let quietMilliseconds: Int64 = 10_000

  private struct Turn {
    var toldAt: Int64
    /// The latest that was not told, and how many were not.
    var untold: (record: AuditRing.Taken, count: Int)?
  }

  private var turns: [AuditKind: Turn] = [:]

  /// A digest that has seen nothing.
  public init() {}

  /// Whether something is still to be told.
  public private(set) var isWaiting = false

  /// What to tell of a batch: records, each with how many of its kind it stands for.
  public mutating func messages(
    for records: [AuditRing.Taken], at milliseconds: Int64
  ) -> [(record: AuditRing.Taken, count: Int)] {
    var messages: [(record: AuditRing.Taken, count: Int)] = []
    for record in records {
      let count = record.count + record.more
      if turns[record.kind] != nil {
        let untold = turns[record.kind]?.untold?.count ?? 0
        turns[record.kind]?.untold = (record, untold + count)
        continue
      }
      if turns.count >= AuditDigest.kindLimit {
        messages += rest()
        turns = [:]
      }
      messages.append((record, count))
      turns[record.kind] = Turn(toldAt: milliseconds)
    }
    return messages + told(before: milliseconds - Self.quietMilliseconds, at: milliseconds)
  }

  /// All that is still to be told.
  public mutating func rest() -> [(record: AuditRing.Taken, count: Int)] {
    told(before: .max, at: 0)
  }

  private mutating func told(
    before limit: Int64, at milliseconds: Int64
  ) -> [(record: AuditRing.Taken, count: Int)] {
    var messages: [(record: AuditRing.Taken, count: Int)] = []
    isWaiting = false
    for (kind, turn) in turns {
      if turn.toldAt > limit {
        isWaiting = isWaiting || turn.untold != nil
      } else if let untold = turn.untold {
        messages.append(untold)
        turns[kind] = Turn(toldAt: milliseconds)
      } else {
        // It has been quiet for so long that its next one is told at once.
        turns[kind] = nil
      }
    }
    return messages
  }
}
