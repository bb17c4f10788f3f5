// What was refused, between the requests and the one thread that writes it down: two batches, of
// which one is filled while the other is read. A request never waits for the log, and the lock is
// held for one record at most.
//
// It lies in memory that outlives the process that serves: what that one had not written down is
// there for the next one, and a step that was under way is found whole or not at all.
internal import FuseKit
public import LinuxKit
public import Policy
internal import Synchronization

/// The latest records, in the order in which they came.
public final class AuditRing: @unchecked Sendable {
  /// How many bytes it needs, aligned to a page.
  static let byteCount = textsOffset + 2 * textByteCount

  /// The longest text that is kept for whoever takes over.
  public static let textByteCount = 512 << 10
  private static let headOffset = 2048
  private static let batchesOffset = 4096
  private static let textsOffset = batchesOffset + 2 * AuditBatch.byteCount

  private let start: UnsafeMutableRawPointer
  private let head: UnsafeMutablePointer<Head>
  private let batches: (AuditBatch, AuditBatch)
  private let lock: PlainLock
  private let bell = Doorbell()
  /// Held by who reads the other batch.
  private let reading = Mutex(())

  private struct Head {
    /// How many records were added since the mount.
    var total: UInt64
    /// What the last of them is changing; of number 0 once it has.
    var change: Change
    /// Nobody's to guess, so that nobody makes names that fall on one place of a table.
    var seed: UInt64
    /// Whether the second batch is the one that is filled.
    var fillsSecond: Bool
    /// What is counted, but in no line yet.
    var kept: Text
    /// How far the writer has come with the other batch.
    var append: Append
    var appended: Text
  }

  private struct Change {
    var number: UInt64
    var offset: Int
    var value: Int
  }

  private struct Text {
    var isSecond: Bool
    var byteCount: Int
  }

  /// Lines that are being appended to a log, should the process die over it.
  public struct Append: Sendable {
    /// How far it has come.
    public enum Step: UInt32, Sendable {
      /// Nothing is being appended.
      case none
      /// The lines may be there, in part or as a whole.
      case begun
      /// They are there.
      case done
    }

    /// How far it has come.
    public internal(set) var step: Step
    /// The log's inode.
    public let inode: UInt64
    /// How long it was before, in bytes.
    public let size: Int64
    /// How long the lines are.
    public let byteCount: Int64

    /// Lines that come behind `size` bytes of a log.
    public init(inode: UInt64, size: Int64, byteCount: Int) {
      step = .none
      self.inode = inode
      self.size = size
      self.byteCount = Int64(byteCount)
    }
  }

  /// An empty ring in memory that is zero, or what another process has left there.
  init(at start: UnsafeMutableRawPointer, isInherited: Bool = false) {
    self.start = start
    lock = PlainLock(at: start)
    head = (start + AuditRing.headOffset).bindMemory(to: Head.self, capacity: 1)
    let first = start + AuditRing.batchesOffset
    batches = (AuditBatch(at: first), AuditBatch(at: first + AuditBatch.byteCount))
    if isInherited { return }
    let none = Text(isSecond: false, byteCount: 0)
    head.initialize(
      to: Head(
        total: 0, change: Change(number: 0, offset: 0, value: 0),
        seed: .random(in: .min ... .max), fillsSecond: false, kept: none,
        append: Append(inode: 0, size: 0, byteCount: 0), appended: none))
  }

  private var filled: AuditBatch { head.pointee.fillsSecond ? batches.1 : batches.0 }
  private var other: AuditBatch { head.pointee.fillsSecond ? batches.0 : batches.1 }

  /// Adds a record, and wakes the writer where it is the first of a batch.
  ///
  /// The paths, the command and the rule are bytes of the caller's.
  func add(
    _ record: AuditRecord, rule: String, command: UnsafeRawPointer, path: UnsafeRawPointer,
    secondPath: UnsafeRawPointer
  ) {
    var (record, rule) = (record, rule)
    rule.withUTF8 { text in
      record.ruleCount = UInt16(min(text.count, AuditRecord.ruleLimit))
      add(
        AuditCandidate(
          record, rule: text.baseAddress.map { UnsafeRawPointer($0) } ?? command, command: command,
          path: path, secondPath: secondPath, seed: head.pointee.seed))
    }
  }

  private func add(_ candidate: AuditCandidate) {
    let request = RequestRecord.current
    lock.lock()
    let isFirst = filled.isEmpty
    let change = filled.prepare(candidate)
    let number = head.pointee.total + 1
    head.pointee.change = Change(number: number, offset: change.place - start, value: change.value)
    request.willAudit(number)
    FaultPoint.insideTable.pass()
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    // From here on it is there, whoever dies.
    head.pointee.total = number
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    FaultPoint.insideTable.pass()
    change.place.storeBytes(of: change.value, as: Int.self)
    head.pointee.change.number = 0
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
  ///
  /// They are kept until `body` has returned, which first calls `willAppend` and, once they are
  /// where they belong, `didAppend`.
  public func takeAll(_ body: ((records: [Taken], lost: Int)) -> Void) {
    reading.withLock { _ in
      lock.lock()
      // What another process has left comes first.
      if other.isEmpty { head.pointee.fillsSecond.toggle() }
      lock.unlock()
      body(other.read())
      finishAppend()
    }
  }

  /// Whether there is nothing to take.
  public var isEmpty: Bool {
    lock.lock()
    defer { lock.unlock() }
    return batches.0.isEmpty && batches.1.isEmpty
  }

  // MARK: What is being written

  /// Lines for what is taken are about to be appended to a log.
  ///
  /// `text` is what whoever takes over has to write besides, once they are there; at most
  /// `textByteCount` bytes of it.
  public func willAppend(_ append: Append, keeping text: [UInt8]) {
    precondition(text.count <= AuditRing.textByteCount, "a text that is kept has its limit")
    let isSecond = !head.pointee.kept.isSecond
    textAddress(isSecond: isSecond).copyMemory(from: text, byteCount: text.count)
    head.pointee.append = append
    head.pointee.appended = Text(isSecond: isSecond, byteCount: text.count)
    publish(.begun)
  }

  /// The lines are there.
  public func didAppend() { publish(.done) }

  /// What was begun when a process died.
  public var interruptedAppend: Append { head.pointee.append }

  /// What is to be written besides what is taken.
  public var keptText: [UInt8] {
    let kept = head.pointee.kept
    return Array(
      UnsafeRawBufferPointer(start: textAddress(isSecond: kept.isSecond), count: kept.byteCount))
  }

  private func publish(_ step: Append.Step) {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    head.pointee.append.step = step
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    FaultPoint.insideTable.pass()
  }

  private func textAddress(isSecond: Bool) -> UnsafeMutableRawPointer {
    start + AuditRing.textsOffset + (isSecond ? AuditRing.textByteCount : 0)
  }

  /// Forgets what was appended; nothing may be done twice by that.
  private func finishAppend() {
    if head.pointee.append.step == .done {
      head.pointee.kept = head.pointee.appended
      other.clear()
    }
    publish(.none)
  }

  // MARK: After the death of a process

  /// Makes the last record that was added one as a whole.
  ///
  /// Only while nobody serves. Throws where what is there can't be what a process has left.
  func recover() throws(DamagedState) {
    lock.reset()
    let change = head.pointee.change
    if change.number != 0 && change.number == head.pointee.total {
      guard (AuditRing.batchesOffset..<AuditRing.textsOffset).contains(change.offset),
        change.offset % 8 == 0
      else { throw DamagedState("the last record of the log is nowhere") }
      (start + change.offset).storeBytes(of: change.value, as: Int.self)
    }
    guard batches.0.rebuild(), batches.1.rebuild(),
      [head.pointee.kept, head.pointee.appended].allSatisfy({
        (0...AuditRing.textByteCount).contains($0.byteCount)
      })
    else { throw DamagedState("what was to be logged is half there") }
  }

  /// Goes on with the writing; `isAppended`, if the lines that were begun are in the log.
  public func resume(isAppended: Bool) {
    if isAppended { publish(.done) }
    finishAppend()
    if !isEmpty { bell.ring() }
  }

  /// How many records were added since the mount.
  var total: UInt64 { head.pointee.total }
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
