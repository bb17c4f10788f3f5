// What was refused, between the requests and the one thread that writes it down: two batches, of
// which one is filled while the other is read. A request never waits for the log, and the lock is
// held for one record at most.
public import LinuxKit
public import Policy
internal import Synchronization

/// The latest records, in the order in which they came.
public final class AuditRing: @unchecked Sendable {
  private let batches: (AuditBatch, AuditBatch)
  private let lock: PlainLock
  private let bell = Doorbell()
  private let seed = UInt64.random(in: .min ... .max)
  /// Whether the second batch is the one that is filled.
  @exclusivity(unchecked) private var fillsSecond = false
  /// Held by who reads the other batch.
  private let reading = Mutex(())

  /// An empty ring.
  ///
  /// Throws ENOMEM.
  public init() throws(Errno) {
    let mapping = try Mapping(reserving: 4096 + 2 * AuditBatch.byteCount)
    lock = PlainLock(at: mapping.start)
    let first = mapping.start + 4096
    batches = (AuditBatch(at: first), AuditBatch(at: first + AuditBatch.byteCount))
  }

  /// Adds a record, and wakes the writer where it is the first of a batch.
  ///
  /// The paths and the command are bytes of the caller's, and the policy is not retained.
  func add(
    _ record: AuditRecord, command: UnsafeRawPointer, path: UnsafeRawPointer,
    secondPath: UnsafeRawPointer
  ) {
    let candidate = AuditCandidate(
      record, command: command, path: path, secondPath: secondPath, seed: seed)
    lock.lock()
    let batch = fillsSecond ? batches.1 : batches.0
    let isFirst = batch.isEmpty
    batch.add(candidate)
    lock.unlock()
    if isFirst { bell.ring() }
  }

  /// Waits until there is something to take.
  public func wait() { bell.wait() }

  /// A record as it was taken from the ring.
  public struct Taken: Equatable, Sendable {
    /// When it happened first.
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
    /// How often it came.
    public let count: Int
    /// How many more of its kind came with it for which there was no room.
    public let more: Int

    /// What it has in common with others that only differ in who asked and where.
    public var kind: AuditKind {
      AuditKind(operation: operation, code: code, rule: rule, uid: uid)
    }
  }

  /// Takes all records, and how many came for which there was not even room to count their kind.
  public func takeAll() -> (records: [Taken], lost: Int) {
    reading.withLock { _ in
      lock.lock()
      let batch = fillsSecond ? batches.1 : batches.0
      fillsSecond.toggle()
      lock.unlock()
      return batch.takeAll()
    }
  }
}

/// What records have in common that only differ in who asked and where: few, whatever an app does.
public struct AuditKind: Hashable, Sendable {
  /// What was wanted.
  public let operation: Operation
  /// The errno; 0 for what was allowed.
  public let code: Int32
  /// The rule that decided.
  public let rule: String
  /// The uid that asked.
  public let uid: UInt32

  /// A kind by its parts.
  public init(operation: Operation, code: Int32, rule: String, uid: UInt32) {
    self.operation = operation
    self.code = code
    self.rule = rule
    self.uid = uid
  }
}
