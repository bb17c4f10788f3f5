// What was noted between two looks of the writer, in plain memory: a request copies its record in
// and counts what repeats, without an allocation and without a search that could become long.
//
// Whatever an app does, a batch stays as large as it is. The first record of each kind has a place
// of its own, so that many of one kind cannot keep another out.
import LinuxKit
import Policy

/// One refusal, or one operation that a rule wants logged.
struct AuditRecord {
  /// The longest path that is kept, in bytes; of a longer one the end.
  static let pathLimit = 1000
  /// The longest text of a rule that is kept, in bytes; of a longer one the beginning.
  static let ruleLimit = 512

  var seconds: Int64
  var nanoseconds: Int64
  var process: Int32
  var uid: UInt32
  /// The operation's number.
  var operation: UInt32
  /// The errno; 0 if it was allowed.
  var code: Int32
  var rule: RuleID
  /// The number of the policy that the rule is of.
  var policy: UInt32
  var ruleCount: UInt16 = 0
  var commandCount: UInt16
  var pathCount: UInt16
  var secondPathCount: UInt16
}

/// A record that may come into a batch, with the bytes that it speaks of, which are the caller's.
struct AuditCandidate {
  let record: AuditRecord
  let rule: UnsafeRawPointer
  let command: UnsafeRawPointer
  let path: UnsafeRawPointer
  let secondPath: UnsafeRawPointer
  /// Of all but the time; and of what records of one kind have in common.
  let (hash, kindHash): (UInt64, UInt64)

  /// `seed` is nobody's to guess, so that nobody makes names that fall on one place.
  init(
    _ record: AuditRecord, rule: UnsafeRawPointer, command: UnsafeRawPointer,
    path: UnsafeRawPointer, secondPath: UnsafeRawPointer, seed: UInt64
  ) {
    self.record = record
    self.rule = rule
    self.command = command
    self.path = path
    self.secondPath = secondPath
    var kind = AuditHash(state: seed)
    kind.add(UInt64(record.operation) << 32 | UInt64(UInt32(bitPattern: record.code)))
    kind.add(UInt64(record.rule.rawValue) << 32 | UInt64(record.uid))
    kind.add(UInt64(record.policy))
    kindHash = kind.state
    kind.add(UInt64(UInt32(bitPattern: record.process)))
    kind.add(command, Int(record.commandCount))
    kind.add(path, Int(record.pathCount))
    kind.add(secondPath, Int(record.secondPathCount))
    hash = kind.state
  }
}

private struct AuditHash {
  var state: UInt64

  @inline(__always)
  mutating func add(_ word: UInt64) {
    let mixed = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    state = mixed.high ^ mixed.low
  }

  mutating func add(_ start: UnsafeRawPointer, _ count: Int) {
    var offset = 0
    while offset + 8 <= count {
      add(start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var last: UInt64 = 0
    while offset < count {
      last = last << 8 | UInt64(start.load(fromByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    add(last)
    add(UInt64(count))
  }
}

/// Records and counts, in memory of the caller's; nothing here is locked.
///
/// The slots and the head's counts are primary; the tables by which they are found are derived, and
/// `rebuild` makes them anew.
struct AuditBatch {
  /// How many records there are besides the first ones of kinds.
  static let recordLimit = 512
  /// How many kinds are told apart.
  static let kindLimit = 256
  private static let slotLimit = recordLimit + kindLimit

  /// What it takes, a whole number of pages.
  static let byteCount = (slotsOffset + slotLimit * Slot.stride + 4095) & ~4095

  private static let tableOffset = 64
  private static let tableCount = 2048
  private static let kindTableOffset = tableOffset + tableCount * 2
  private static let kindTableCount = 1024
  private static let slotsOffset = (kindTableOffset + kindTableCount * 2 + 4095) & ~4095
  /// A search gives up after so many places, and the record is only counted.
  private static let probeLimit = 32

  private let start: UnsafeMutableRawPointer

  /// An empty batch in memory that is zero.
  init(at start: UnsafeMutableRawPointer) { self.start = start }

  private struct Head {
    // Primary.
    var slotCount: Int
    var lost: Int
    // Derived.
    var kindCount: Int
  }

  struct Slot {
    static let stride = 2816
    static let commandOffset = 128
    static let ruleOffset = 256
    static let pathOffset = 256 + AuditRecord.ruleLimit
    static let secondPathOffset = pathOffset + 1024

    var record: AuditRecord
    var hash: UInt64
    var kindHash: UInt64
    /// How often it came.
    var count: Int
    /// Of the first record of a kind: how many came that are no record.
    var more: Int
    var isFirst: Bool

    static let countOffset = MemoryLayout<Slot>.offset(of: \.count) ?? 0
    static let moreOffset = MemoryLayout<Slot>.offset(of: \.more) ?? 0
  }

  private var head: UnsafeMutablePointer<Head> { start.assumingMemoryBound(to: Head.self) }

  private var table: UnsafeMutablePointer<UInt16> {
    (start + AuditBatch.tableOffset).assumingMemoryBound(to: UInt16.self)
  }

  private var kindTable: UnsafeMutablePointer<UInt16> {
    (start + AuditBatch.kindTableOffset).assumingMemoryBound(to: UInt16.self)
  }

  private func address(_ slot: Int) -> UnsafeMutableRawPointer {
    start + AuditBatch.slotsOffset + slot * Slot.stride
  }

  private func slot(_ index: Int) -> UnsafeMutablePointer<Slot> {
    address(index).assumingMemoryBound(to: Slot.self)
  }

  /// Whether there is nothing in it.
  var isEmpty: Bool { head.pointee.slotCount == 0 && head.pointee.lost == 0 }

  // MARK: Adding

  /// A count that has yet to be stored: with it a record is in the batch, and without it is not.
  struct Change {
    let place: UnsafeMutableRawPointer
    let value: Int
  }

  /// Makes all ready to note a record, or to count it where it is noted already or there is no
  /// room.
  func prepare(_ candidate: AuditCandidate) -> Change {
    let place = place(of: candidate)
    if let slot = place.slot { return increment(address(slot) + Slot.countOffset) }
    let kind = kind(of: candidate)
    let others = head.pointee.slotCount - head.pointee.kindCount
    if kind.slot == nil, let free = kind.free, head.pointee.kindCount < AuditBatch.kindLimit {
      let change = note(candidate, at: place.free, isFirst: true)
      kindTable[free] = UInt16(change.value)
      head.pointee.kindCount += 1
      return change
    }
    if let free = place.free, others < AuditBatch.recordLimit {
      return note(candidate, at: free, isFirst: false)
    }
    if let first = kind.slot { return increment(address(first) + Slot.moreOffset) }
    return increment(start + (MemoryLayout<Head>.offset(of: \.lost) ?? 0))
  }

  private func increment(_ place: UnsafeMutableRawPointer) -> Change {
    Change(place: place, value: place.load(as: Int.self) + 1)
  }

  private func note(_ candidate: AuditCandidate, at place: Int?, isFirst: Bool) -> Change {
    let index = head.pointee.slotCount
    // Without a place its repeats are only counted.
    if let place { table[place] = UInt16(index + 1) }
    let record = candidate.record
    slot(index).initialize(
      to: Slot(
        record: record, hash: candidate.hash, kindHash: candidate.kindHash, count: 1, more: 0,
        isFirst: isFirst))
    let address = address(index)
    (address + Slot.commandOffset).copyMemory(
      from: candidate.command, byteCount: Int(record.commandCount))
    (address + Slot.ruleOffset).copyMemory(from: candidate.rule, byteCount: Int(record.ruleCount))
    (address + Slot.pathOffset).copyMemory(from: candidate.path, byteCount: Int(record.pathCount))
    (address + Slot.secondPathOffset).copyMemory(
      from: candidate.secondPath, byteCount: Int(record.secondPathCount))
    return increment(start + (MemoryLayout<Head>.offset(of: \.slotCount) ?? 0))
  }

  /// The slot that has the same record, or the free place where its number would go.
  private func place(of candidate: AuditCandidate) -> (slot: Int?, free: Int?) {
    find(in: table, AuditBatch.tableCount, candidate.hash) { index in
      slot(index).pointee.hash == candidate.hash && isSame(index, candidate)
    }
  }

  /// The slot of the first record of the same kind, or the free place where its number would go.
  private func kind(of candidate: AuditCandidate) -> (slot: Int?, free: Int?) {
    find(in: kindTable, AuditBatch.kindTableCount, candidate.kindHash) { index in
      slot(index).pointee.kindHash == candidate.kindHash
        && isSameKind(slot(index).pointee.record, candidate.record)
    }
  }

  private func find(
    in table: UnsafeMutablePointer<UInt16>, _ count: Int, _ hash: UInt64,
    where isIt: (Int) -> Bool
  ) -> (slot: Int?, free: Int?) {
    var place = Int(truncatingIfNeeded: hash) & (count - 1)
    for _ in 0..<AuditBatch.probeLimit {
      let number = Int(table[place])
      if number == 0 { return (nil, place) }
      if isIt(number - 1) { return (number - 1, nil) }
      place = (place + 1) & (count - 1)
    }
    return (nil, nil)
  }

  private func isSame(_ index: Int, _ candidate: AuditCandidate) -> Bool {
    let (one, other) = (slot(index).pointee.record, candidate.record)
    guard isSameKind(one, other), one.process == other.process,
      one.commandCount == other.commandCount, one.pathCount == other.pathCount,
      one.secondPathCount == other.secondPathCount
    else { return false }
    let address = address(index)
    return isEqual(address + Slot.commandOffset, candidate.command, Int(one.commandCount))
      && isEqual(address + Slot.pathOffset, candidate.path, Int(one.pathCount))
      && isEqual(address + Slot.secondPathOffset, candidate.secondPath, Int(one.secondPathCount))
  }

  private func isEqual(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Bool {
    for offset in 0..<count
    where one.load(fromByteOffset: offset, as: UInt8.self)
      != other.load(fromByteOffset: offset, as: UInt8.self)
    {
      return false
    }
    return true
  }

  private func isSameKind(_ one: AuditRecord, _ other: AuditRecord) -> Bool {
    one.operation == other.operation && one.code == other.code && one.rule == other.rule
      && one.uid == other.uid && one.policy == other.policy
  }

  // MARK: Taking

  /// What is in it, and how many were not even counted by their kind.
  func read() -> (records: [AuditRing.Taken], lost: Int) {
    ((0..<head.pointee.slotCount).map(read), head.pointee.lost)
  }

  private func read(_ index: Int) -> AuditRing.Taken {
    let address = address(index)
    let slot = slot(index).pointee
    let record = slot.record
    func bytes(_ offset: Int, _ count: UInt16) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: address + offset, count: Int(count)))
    }
    return AuditRing.Taken(
      time: WallTime(seconds: record.seconds, nanoseconds: record.nanoseconds),
      process: record.process, command: bytes(Slot.commandOffset, record.commandCount),
      uid: record.uid, operation: operation(record.operation) ?? .lookup,
      code: record.code,
      rule: String(decoding: bytes(Slot.ruleOffset, record.ruleCount), as: UTF8.self),
      path: bytes(Slot.pathOffset, record.pathCount),
      secondPath: bytes(Slot.secondPathOffset, record.secondPathCount), count: slot.count,
      more: slot.more)
  }

  /// Empties it.
  func clear() {
    // The counts first: without them the rest is nothing. The slots need not be zero.
    head.pointee = Head(slotCount: 0, lost: 0, kindCount: 0)
    clearTables()
  }

  private func clearTables() {
    (start + AuditBatch.tableOffset).initializeMemory(
      as: UInt8.self, repeating: 0, count: AuditBatch.slotsOffset - AuditBatch.tableOffset)
  }

  // MARK: After the death of a process

  /// Makes the tables from the slots; false if these can't be what a process has left.
  func rebuild() -> Bool {
    clearTables()
    head.pointee.kindCount = 0
    guard (0...AuditBatch.slotLimit).contains(head.pointee.slotCount), head.pointee.lost >= 0
    else { return false }
    for index in 0..<head.pointee.slotCount {
      let slot = slot(index).pointee
      guard isSound(slot) else { return false }
      enter(index, slot.hash, in: table, AuditBatch.tableCount)
      guard slot.isFirst else { continue }
      enter(index, slot.kindHash, in: kindTable, AuditBatch.kindTableCount)
      head.pointee.kindCount += 1
    }
    return head.pointee.kindCount <= AuditBatch.kindLimit
  }

  private func operation(_ number: UInt32) -> Operation? {
    UInt8(exactly: number).flatMap { Operation(rawValue: $0) }
  }

  private func isSound(_ slot: Slot) -> Bool {
    let record = slot.record
    return operation(record.operation) != nil && slot.count > 0 && slot.more >= 0
      && record.commandCount <= Slot.ruleOffset - Slot.commandOffset
      && record.ruleCount <= AuditRecord.ruleLimit && record.pathCount <= AuditRecord.pathLimit
      && record.secondPathCount <= AuditRecord.pathLimit
  }

  private func enter(
    _ index: Int, _ hash: UInt64, in table: UnsafeMutablePointer<UInt16>, _ count: Int
  ) {
    if let free = find(in: table, count, hash, where: { _ in false }).free {
      table[free] = UInt16(index + 1)
    }
  }
}
