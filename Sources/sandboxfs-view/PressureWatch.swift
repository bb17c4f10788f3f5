// Looks whether the store runs out of space while somebody writes, and has purged what may go.
//
// A view that nobody writes in costs nothing: its thread sleeps until a file is opened for writing.
import Containers
import LinuxKit
import View

/// The thread of a view that watches the free space of its store.
final class PressureWatch: Sendable {
  private static let intervalMilliseconds: Int64 = 10_000
  /// For how long nothing is tried again when a purge was not enough.
  private static let respiteMilliseconds: Int64 = 300_000

  private let fileSystem: ViewFileSystem
  private let pressure: ViewConfiguration.Pressure
  private let audit: AuditWriter

  init(_ fileSystem: ViewFileSystem, _ pressure: ViewConfiguration.Pressure, _ audit: AuditWriter) {
    self.fileSystem = fileSystem
    self.pressure = pressure
    self.audit = audit
  }

  /// Watches on a thread of its own for as long as the process lives.
  func start() throws(Errno) {
    // Whoever served before us may have left files that are being written.
    if fileSystem.isBeingWritten { fileSystem.writing.ring() }
    try DaemonProcess.startThread { self.run() }
  }

  private func run() {
    var next = monotonicMilliseconds()
    while true {
      fileSystem.writing.wait()
      repeat {
        Pause.microseconds(UInt32(clamping: max(0, next - monotonicMilliseconds()) * 1000))
        let wait = look() ? Self.intervalMilliseconds : Self.respiteMilliseconds
        next = monotonicMilliseconds() + wait
      } while fileSystem.isBeingWritten
    }
  }

  /// Has the store purged if too little is free; false if that was not enough.
  private func look() -> Bool {
    guard isShort else { return true }
    audit.note("the store has less than \(pressure.lowByteCount) bytes free: purging")
    do throws(Errno) {
      try purge()
    } catch {
      audit.note("cannot start the purge: \(error.message)")
      return false
    }
    return !isShort
  }

  private var isShort: Bool {
    guard let free = try? fileSystem.storeSpace().freeByteCount else { return false }
    return free < pressure.lowByteCount
  }

  /// Runs the host's own command, which takes the store's containers one after the other, those
  /// that are mounted through their views.
  private func purge() throws(Errno) {
    let program = try canonicalPath(Array("/proc/self/exe".utf8))
    let directory = program.prefix(upTo: program.lastIndex(of: UInt8(ascii: "/")) ?? 0)
    var environment = [
      Array("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".utf8)
    ]
    if !pressure.settings.isEmpty {
      environment.append(Array("SANDBOXFS_SETTINGS=".utf8) + pressure.settings)
    }
    let words = ["sandboxfs", "purge", "--all", "--until-free", "\(pressure.highByteCount)"]
    let start = ChildProcess.Start(
      path: directory + Array("/sandboxfs".utf8),
      arguments: words.map { Array($0.utf8) } + [Array("--store".utf8), pressure.store],
      environment: environment, newSession: true)
    let nothing = try Descriptor.null()
    let child = try ChildProcess.spawn(
      start, descriptors: [nothing.rawValue, nothing.rawValue, nothing.rawValue])
    try child.wait()
  }
}
