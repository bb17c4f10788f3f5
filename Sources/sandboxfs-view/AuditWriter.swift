// From the ring to the logs: one JSON object a line in the container's directory, in batches, and
// messages to the system's own log.
import Containers
import LinuxKit
import Policy
import Synchronization
import View

/// Takes records from the ring and writes them down.
///
/// One thread, which sleeps while nothing is refused. No request waits for it.
final class AuditWriter: Sendable {
  private static let batchMicroseconds: UInt32 = 50_000
  /// So many kinds have their first line kept for ever.
  private static let firstLimit = 512

  private struct State {
    var digest = AuditDigest()
    var journal = JournalDigest()
    var kindsWithFirst: Set<AuditedKind> = []
    /// How many requests are in lines that could not be written: the next batch tells.
    var unwritten = 0
    /// Whether another process may have left lines half written, which is yet to be looked at.
    var isInherited = false
    /// Lines that another process has left to be written.
    var inherited: [UInt8] = []
  }

  private let ring: AuditRing
  private let log: AuditLogFile
  private let systemLog: SystemLog
  private let identifier: [UInt8]
  /// Held while a batch is written, by the writer's thread or by the one that ends the daemon.
  private let state: Mutex<State>

  /// Throws what looking for an earlier log throws.
  init(
    _ ring: AuditRing, _ log: AuditLogFile, _ systemLog: SystemLog, identifier: [UInt8]
  ) throws(Errno) {
    self.ring = ring
    self.log = log
    self.systemLog = systemLog
    self.identifier = identifier
    var state = State()
    state.kindsWithFirst = Set(try log.kindsWithFirst())
    self.state = Mutex(state)
  }

  /// Writes on a thread of its own for as long as the process lives.
  func start() throws(Errno) {
    try DaemonProcess.startThread {
      self.state.withLock { self.lookAtInheritance(&$0) }
      while true {
        if !self.isWaiting && self.ring.isEmpty { self.ring.wait() }
        // More are likely to follow, and repeats become one line.
        Pause.microseconds(AuditWriter.batchMicroseconds)
        self.state.withLock { self.writeBatch(&$0) }
      }
    }
  }

  /// Goes on where a process has died: what it had counted is written, and nothing twice.
  ///
  /// Before anything is written; the logs are looked at then, since apps wait until this returns.
  func takeOver() { state.withLock { $0.isInherited = true } }

  private func lookAtInheritance(_ state: inout State) {
    guard state.isInherited else { return }
    state.isInherited = false
    var isAppended = false
    do throws(Errno) {
      isAppended = try log.hasAppended(ring.interruptedAppend)
      state.kindsWithFirst = Set(try log.kindsWithFirst())
    } catch {
      complain(error)
    }
    ring.resume(isAppended: isAppended)
    state.inherited = ring.keptText
  }

  /// Writes all that there is, when the daemon ends.
  func finish() {
    state.withLock { state in
      lookAtInheritance(&state)
      while !ring.isEmpty { writeBatch(&state) }
      ring.takeAll { _ in write(state.digest.rest(), &state) }
      send(state.journal.rest())
    }
  }

  /// Writes what has become of the view itself, also to the system's log.
  func note(_ event: String) {
    let now = String(decoding: WallTime.now.formatted, as: UTF8.self)
    systemLog.send(SystemLogEvent(identifier: identifier, text: event))
    // Nobody else appends meanwhile: it is known where the lines of a batch are.
    state.withLock { state in
      lookAtInheritance(&state)
      do throws(Errno) {
        try log.append(text([.event(time: now, text: Array(event.utf8))]))
      } catch {
        complain(error)
      }
    }
  }

  private var isWaiting: Bool {
    state.withLock { $0.digest.isWaiting || $0.journal.isWaiting || !$0.inherited.isEmpty }
  }

  private func writeBatch(_ state: inout State) {
    var records: [AuditRing.Taken] = []
    let now = monotonicMilliseconds()
    ring.takeAll { batch in
      records = batch.records
      let lost = batch.lost + state.unwritten
      state.unwritten = 0
      let lines = state.digest.lines(for: (records, lost), at: now) {
        AuditEntry($0).line.count + 1
      }
      write(lines, &state)
    }
    send(state.journal.messages(for: records, at: now))
  }

  // MARK: The container's log

  /// Writes lines that stand for what was taken from the ring.
  private func write(_ lines: [AuditDigest.Line], _ state: inout State) {
    let now = String(decoding: WallTime.now.formatted, as: UTF8.self)
    let entries = lines.map { AuditEntry($0, now: now) }
    let text = state.inherited + text(entries)
    let waiting = keptText(state, at: now)
    // First: what is there twice does no harm, and what is there never is lost.
    keepFirst(entries, &state)
    do throws(Errno) {
      if text.isEmpty {
        ring.willAppend(AuditRing.Append(inode: 0, size: 0, byteCount: 0), keeping: waiting)
      } else {
        try log.append(text) { ring.willAppend($0, keeping: waiting) }
      }
      state.inherited = []
    } catch {
      if error != .noSpace, error != .quotaExceeded { complain(error) }
      state.unwritten += lines.reduce(0) { $0 + $1.count } + inheritedCount(state)
      state.inherited = []
      ring.willAppend(
        AuditRing.Append(inode: 0, size: 0, byteCount: 0), keeping: keptText(state, at: now))
    }
    ring.didAppend()
  }

  private func inheritedCount(_ state: State) -> Int {
    state.inherited.split(separator: UInt8(ascii: "\n")).reduce(0) { total, line in
      switch AuditEntry(line: Array(line)) {
      case .more(_, _, let count), .lost(_, let count): total + count
      case .request, .event, nil: total
      }
    }
  }

  /// What is counted and in no line yet, as whoever takes over is to write it.
  private func keptText(_ state: State, at now: String) -> [UInt8] {
    let counts = state.digest.waiting
    let lost = [AuditDigest.Line.lost(state.unwritten)].filter { $0.count > 0 }
    let whole = text((counts + lost).map { AuditEntry($0, now: now) })
    // Kinds without end are told apart no more.
    guard whole.count > AuditRing.textByteCount / 2 else { return whole }
    let total = counts.reduce(state.unwritten) { $0 + $1.count }
    return text([AuditEntry(.lost(total), now: now)])
  }

  private func keepFirst(_ entries: [AuditEntry], _ state: inout State) {
    var firsts: [AuditEntry] = []
    for case .request(let request) in entries
    where state.kindsWithFirst.count < AuditWriter.firstLimit {
      if state.kindsWithFirst.insert(request.kind).inserted { firsts.append(.request(request)) }
    }
    guard !firsts.isEmpty else { return }
    do throws(Errno) {
      try log.appendFirst(text(firsts))
    } catch {
      complain(error)
      // Another one of their kind may have more luck.
      state.kindsWithFirst.subtract(kinds(of: firsts))
    }
  }

  private func kinds(of entries: [AuditEntry]) -> [AuditedKind] {
    entries.compactMap { entry in
      guard case .request(let request) = entry else { return nil }
      return request.kind
    }
  }

  private func text(_ entries: [AuditEntry]) -> [UInt8] {
    entries.flatMap { $0.line + [UInt8(ascii: "\n")] }
  }

  private func complain(_ error: Errno) {
    DaemonProcess.complain("sandboxfs-view: cannot write the audit log: \(error.message)")
  }

  // MARK: The system's log

  private func send(_ messages: [(record: AuditRing.Taken, count: Int)]) {
    for message in messages {
      systemLog.send(
        SystemLogMessage(
          identifier: identifier, request: AuditedRequest(message.record), count: message.count))
    }
  }
}

extension AuditDigest.Line {
  /// How many requests it tells of.
  fileprivate var count: Int {
    switch self {
    case .record(let record): record.count
    case .more(_, let count), .lost(let count): count
    }
  }
}

extension AuditEntry {
  fileprivate init(_ record: AuditRing.Taken) { self = .request(AuditedRequest(record)) }

  fileprivate init(_ line: AuditDigest.Line, now: String) {
    self =
      switch line {
      case .record(let record): .init(record)
      case .more(let kind, let count): .more(time: now, kind: AuditedKind(kind), count: count)
      case .lost(let count): .lost(time: now, count: count)
      }
  }
}

extension AuditedKind {
  fileprivate init(_ kind: AuditKind) {
    self.init(
      uid: Int(kind.uid), operation: kind.operation.name, result: Errno(kind.code).symbol,
      rule: Array(kind.rule.utf8))
  }
}

extension AuditedRequest {
  fileprivate init(_ record: AuditRing.Taken) {
    self.init(
      time: String(decoding: record.time.formatted, as: UTF8.self), process: Int(record.process),
      command: record.command, kind: AuditedKind(record.kind), path: record.path,
      secondPath: record.secondPath.isEmpty ? nil : record.secondPath, count: record.count)
  }
}
