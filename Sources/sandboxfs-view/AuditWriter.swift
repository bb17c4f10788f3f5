// The audit log on disk: one JSON object a line, in batches, in two files of at most 1 MiB.
import Containers
import LinuxKit
import Policy
import View

/// Takes records from the ring and appends them to the container's log.
///
/// One thread, which sleeps while nothing is refused.
final class AuditWriter: Sendable {
  private static let batchMicroseconds: UInt32 = 50_000

  private let ring: AuditRing
  private let log: AuditLogFile

  init(_ ring: AuditRing, _ log: AuditLogFile) {
    self.ring = ring
    self.log = log
  }

  /// Writes on a thread of its own for as long as the process lives.
  func start() throws(Errno) {
    try DaemonProcess.startThread {
      while true {
        self.ring.wait()
        // More are likely to follow, and repeats become one line.
        Pause.microseconds(AuditWriter.batchMicroseconds)
        self.flush()
      }
    }
  }

  /// Writes what is there now.
  func flush() {
    let (records, lost) = ring.takeAll()
    var lines: [UInt8] = []
    if lost > 0 { lines += lossLine(lost) }
    for (record, count) in repeats(records) { lines += line(record, count) }
    guard !lines.isEmpty else { return }
    do throws(Errno) {
      try log.append(lines)
    } catch {
      DaemonProcess.complain("sandboxfs-view: cannot write the audit log: \(error.message)")
    }
  }

  /// Runs of records that differ in their time alone, with their lengths.
  private func repeats(_ records: [AuditRing.Taken]) -> [(AuditRing.Taken, Int)] {
    var runs: [(AuditRing.Taken, Int)] = []
    for record in records {
      if let last = runs.last, last.0.isRepeated(by: record) {
        runs[runs.count - 1].1 += 1
      } else {
        runs.append((record, 1))
      }
    }
    return runs
  }

  private func line(_ record: AuditRing.Taken, _ count: Int) -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("time", record.time.formatted)
    object.add("pid", Int(record.process))
    object.add("uid", Int(record.uid))
    object.add("command", record.command)
    object.add("operation", record.operation.name.utf8)
    object.add("path", record.path)
    if !record.secondPath.isEmpty { object.add("path2", record.secondPath) }
    object.add("result", Errno(record.code).symbol.utf8)
    object.add("rule", record.rule.utf8)
    if count > 1 { object.add("count", count) }
    return object.line + [UInt8(ascii: "\n")]
  }

  private func lossLine(_ lost: Int) -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("time", WallTime.now.formatted)
    object.add("lost", lost)
    return object.line + [UInt8(ascii: "\n")]
  }
}

extension AuditRing.Taken {
  fileprivate func isRepeated(by other: AuditRing.Taken) -> Bool {
    process == other.process && uid == other.uid && operation == other.operation
      && code == other.code && rule == other.rule && path == other.path
      && secondPath == other.secondPath && command == other.command
  }
}
