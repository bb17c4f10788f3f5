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

  var seconds: Int64
  var nanoseconds: Int64
  var process: Int32
  var uid: UInt32
  var operation: Operation
  /// The errno; 0 if it was allowed.
  var code: Int32
  var rule: RuleID
  /// The policy that the rule is of: retained for a record that is kept, by the batch.
  var generation: Unmanaged<PolicyGeneration>
  /// Its number.
  var policy: UInt32
  var commandCount: UInt16
  var pathCount: UInt16
  var secondPathCount: UInt16
}

/// A record that may come into a batch, with the bytes that it speaks of, which are the caller's.
struct AuditCandidate {
  let record: AuditRecord
  let command: UnsafeRawPointer
  let path: UnsafeRawPointer
  let secondPath: UnsafeRawPointer
  /// Of all but the time; and of what records of one kind have in common.
  let (hash, kindHash): (UInt64, UInt64)

  /// `seed` is nobody's to guess, so that nobody makes names that fall on one place.
  init(
    _ record: AuditRecord, command: UnsafeRawPointer, path: UnsafeRawPointer,
    secondPath: UnsafeRawPointer, seed: UInt64
  ) {
    self.record = record
    self.command = command
    self.path = path
    self.secondPath = secondPath
    var kind = AuditHash(state: seed)
    kind.add(UInt64(record.operation.rawValue) << 32 | UInt64(UInt32(bitPattern: record.code)))
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
  private static let kindsOffset = tableOffset + tableCount * 2
  private static let kindTableOffset = kindsOffset + kindLimit * MemoryLayout<Kind>.stride
  private static let kindTableCount = 1024
  private static let slotsOffset = (kindTableOffset + kindTableCount * 2 + 4095) & ~4095
  /// A search gives up after so many places, and the record is only counted.
  private static let probeLimit = 32

  private let start: UnsafeMutableRawPointer

  /// An empty batch in memory that is zero.
  init(at start: UnsafeMutableRawPointer) { self.start = start }

  private struct Head {
    var slotCount: Int
    var kindCount: Int
    var lost: Int
  }

  private struct Kind {
    var hash: UInt64
    /// The first record of it.
    var slot: UInt32
    /// How many came that are no record.
    var more: Int
  }

  struct Slot {
    static let stride = 2304
    static let commandOffset = 128
    static let pathOffset = 256
    static let secondPathOffset = 256 + 1024

    var record: AuditRecord
    var hash: UInt64
    /// How often it came.
    var count: Int
  }

  private var head: UnsafeMutablePointer<Head> { start.assumingMemoryBound(to: Head.self) }

  private var table: UnsafeMutablePointer<UInt16> {
    (start + AuditBatch.tableOffset).assumingMemoryBound(to: UInt16.self)
  }

  private var kindTable: UnsafeMutablePointer<UInt16> {
    (start + AuditBatch.kindTableOffset).assumingMemoryBound(to: UInt16.self)
  }

  private var kinds: UnsafeMutablePointer<Kind> {
    (start + AuditBatch.kindsOffset).assumingMemoryBound(to: Kind.self)
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

  /// Notes a record, or counts it where it is noted already or there is no room.
  func add(_ candidate: AuditCandidate) {
    let place = place(of: candidate)
    if let slot = place.slot {
      self.slot(slot).pointee.count += 1
      return
    }
    let kind = kind(of: candidate)
    let others = head.pointee.slotCount - head.pointee.kindCount
    if kind.isNew, let index = kind.index {
      head.pointee.kindCount = index + 1
      kindTable[kind.place] = UInt16(index + 1)
      kinds[index] = Kind(
        hash: candidate.kindHash, slot: UInt32(head.pointee.slotCount), more: 0)
      note(candidate, at: place.free)
    } else if let free = place.free, others < AuditBatch.recordLimit {
      note(candidate, at: free)
    } else if let index = kind.index {
      kinds[index].more += 1
    } else {
      head.pointee.lost += 1
    }
  }

  private func note(_ candidate: AuditCandidate, at place: Int?) {
    let index = head.pointee.slotCount
    // Without a place its repeats are only counted.
    if let place { table[place] = UInt16(index + 1) }
    head.pointee.slotCount = index + 1
    let record = candidate.record
    _ = record.generation.retain()
    slot(index).initialize(to: Slot(record: record, hash: candidate.hash, count: 1))
    let address = address(index)
    (address + Slot.commandOffset).copyMemory(
      from: candidate.command, byteCount: Int(record.commandCount))
    (address + Slot.pathOffset).copyMemory(from: candidate.path, byteCount: Int(record.pathCount))
    (address + Slot.secondPathOffset).copyMemory(
      from: candidate.secondPath, byteCount: Int(record.secondPathCount))
  }

  /// The slot that has the same record, or the free place where its number would go.
  private func place(of candidate: AuditCandidate) -> (slot: Int?, free: Int?) {
    var place = Int(truncatingIfNeeded: candidate.hash) & (AuditBatch.tableCount - 1)
    for _ in 0..<AuditBatch.probeLimit {
      let number = Int(table[place])
      if number == 0 { return (nil, place) }
      if slot(number - 1).pointee.hash == candidate.hash, isSame(number - 1, candidate) {
        return (number - 1, nil)
      }
      place = (place + 1) & (AuditBatch.tableCount - 1)
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

  /// The number of a record's kind, also of one that would be new; nil where there is no room.
  private func kind(of candidate: AuditCandidate) -> (index: Int?, isNew: Bool, place: Int) {
    var place = Int(truncatingIfNeeded: candidate.kindHash) & (AuditBatch.kindTableCount - 1)
    for _ in 0..<AuditBatch.probeLimit {
      let number = Int(kindTable[place])
      if number == 0 {
        let count = head.pointee.kindCount
        return (count < AuditBatch.kindLimit ? count : nil, true, place)
      }
      let kind = kinds[number - 1]
      if kind.hash == candidate.kindHash,
        isSameKind(slot(Int(kind.slot)).pointee.record, candidate.record)
      {
        return (number - 1, false, place)
      }
      place = (place + 1) & (AuditBatch.kindTableCount - 1)
    }
    return (nil, true, place)
  }

  // MARK: Taking

  /// Empties it; what was in it, and how many were not even counted by their kind.
  func takeAll() -> (records: [AuditRing.Taken], lost: Int) {
    let (slotCount, kindCount) = (head.pointee.slotCount, head.pointee.kindCount)
    var more = [Int](repeating: 0, count: slotCount)
    for index in 0..<kindCount { more[Int(kinds[index].slot)] = kinds[index].more }
    let records = (0..<slotCount).map { take($0, more: more[$0]) }
    let lost = head.pointee.lost
    // The slots need not be zero.
    start.initializeMemory(as: UInt8.self, repeating: 0, count: AuditBatch.slotsOffset)
    return (records, lost)
  }

  private func take(_ index: Int, more: Int) -> AuditRing.Taken {
    let address = address(index)
    let (record, count) = (slot(index).pointee.record, slot(index).pointee.count)
    func bytes(_ offset: Int, _ count: UInt16) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: address + offset, count: Int(count)))
    }
    return AuditRing.Taken(
      time: WallTime(seconds: record.seconds, nanoseconds: record.nanoseconds),
      process: record.process, command: bytes(Slot.commandOffset, record.commandCount),
      uid: record.uid, operation: record.operation, code: record.code,
      rule: record.generation.takeRetainedValue().engine.describe(record.rule),
      path: bytes(Slot.pathOffset, record.pathCount),
      secondPath: bytes(Slot.secondPathOffset, record.secondPathCount), count: count, more: more)
  }
}
