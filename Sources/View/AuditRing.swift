// What was refused: a ring of plain records between the requests and the one thread that writes
// them down. A request never waits for the log: what does not fit is counted.
public import LinuxKit
public import Policy

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
  /// The policy that the rule is of; retained for the record.
  var generation: Unmanaged<PolicyGeneration>
  var commandCount: UInt16
  var pathCount: UInt16
  var secondPathCount: UInt16
}

/// The latest records, in the order in which they came.
public final class AuditRing: @unchecked Sendable {
  private static let capacity = 512
  private static let stride = 2304
  private static let commandOffset = 128
  private static let pathOffset = 256
  private static let secondPathOffset = 256 + 1024

  private let start: UnsafeMutableRawPointer
  private let lock: PlainLock
  private let bell = Doorbell()
  @exclusivity(unchecked) private var first = 0
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var lost = 0

  /// An empty ring.
  ///
  /// Throws ENOMEM.
  public init() throws(Errno) {
    let mapping = try Mapping(reserving: 4096 + AuditRing.capacity * AuditRing.stride)
    lock = PlainLock(at: mapping.start)
    start = mapping.start + 4096
  }

  /// Adds a record and wakes the writer.
  ///
  /// The paths and the command are bytes of the caller's.
  func add(
    _ record: AuditRecord, command: UnsafeRawPointer, path: UnsafeRawPointer,
    secondPath: UnsafeRawPointer
  ) {
    lock.lock()
    if count == AuditRing.capacity {
      lost += 1
      record.generation.release()
    } else {
      let slot = slot((first + count) % AuditRing.capacity)
      slot.storeBytes(of: record, as: AuditRecord.self)
      (slot + AuditRing.commandOffset).copyMemory(
        from: command, byteCount: Int(record.commandCount))
      (slot + AuditRing.pathOffset).copyMemory(from: path, byteCount: Int(record.pathCount))
      (slot + AuditRing.secondPathOffset).copyMemory(
        from: secondPath, byteCount: Int(record.secondPathCount))
      count += 1
    }
    lock.unlock()
    bell.ring()
  }

  private func slot(_ index: Int) -> UnsafeMutableRawPointer { start + index * AuditRing.stride }

  /// Waits until there is something to take.
  public func wait() { bell.wait() }

  /// A record as it was taken from the ring.
  public struct Taken: Equatable, Sendable {
    /// When it happened.
    public let time: WallTime
    /// The process, and its name if it was still there.
    public let process: Int32
    /// The name of the process's program.
    public let command: [UInt8]
    /// The uid that asked.
    public let uid: UInt32
    /// What it wanted.
    public let operation: Operation
    /// The errno that it got; 0 if it was allowed.
    public let code: Int32
    /// The rule that decided, such as `default.profile:7`.
    public let rule: String
    /// The path in the view.
    public let path: [UInt8]
    /// The other path of an operation that has two.
    public let secondPath: [UInt8]
  }

  /// Takes all records, and how many were lost before them because the ring was full.
  public func takeAll() -> (records: [Taken], lost: Int) {
    lock.lock()
    defer { lock.unlock() }
    let taken = (0..<count).map { take((first + $0) % AuditRing.capacity) }
    let missing = lost
    first = 0
    count = 0
    lost = 0
    return (taken, missing)
  }

  private func take(_ index: Int) -> Taken {
    let slot = slot(index)
    let record = slot.load(as: AuditRecord.self)
    func bytes(_ offset: Int, _ count: UInt16) -> [UInt8] {
      Array(UnsafeRawBufferPointer(start: slot + offset, count: Int(count)))
    }
    return Taken(
      time: WallTime(seconds: record.seconds, nanoseconds: record.nanoseconds),
      process: record.process, command: bytes(AuditRing.commandOffset, record.commandCount),
      uid: record.uid, operation: record.operation, code: record.code,
      rule: record.generation.takeRetainedValue().engine.describe(record.rule),
      path: bytes(AuditRing.pathOffset, record.pathCount),
      secondPath: bytes(AuditRing.secondPathOffset, record.secondPathCount))
  }
}
