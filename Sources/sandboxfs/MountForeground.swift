// `sandboxfs mount --foreground`: a view that is there as long as the command runs, which says what
// is refused in it.

internal import Containers
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

/// Mounts a view and stays: the exit status, once it is unmounted.
func attendView(
  of container: Container, at directory: [UInt8], _ settings: MountSettings
) throws -> Int32 {
  // From here on, so that a signal finds either nothing mounted or someone who unmounts it.
  let signals = try BlockedSignals()
  let log = AuditLog(of: container)
  _ = try log.newLines()
  let view = try ViewMounts.mount(container, at: directory, settings)
  if let warning = view.sealWarning { complain("sandboxfs mount: warning: \(warning)") }
  if let remark = view.remark { complain("sandboxfs mount: \(remark.message)") }
  let attendance = Attendance(container: container, view: view, log: log)
  return try attendance.last(signals)
}

/// Someone who watches a view.
private struct Attendance {
  private static let tickMilliseconds: Int32 = 200
  /// The daemon is asked with each so many ticks.
  private static let ticksPerQuestion = 10

  let container: Container
  let view: MountedView
  let log: AuditLog

  /// Until the view is unmounted, by a signal to us or by others.
  func last(_ signals: borrowing BlockedSignals) throws -> Int32 {
    var ticks = 0
    while try isMounted() {
      try report()
      try signals.wait(milliseconds: Self.tickMilliseconds)
      if signals.take() != nil {
        try ViewMounts.unmount(view.target, .synchronized)
        break
      }
      ticks += 1
      if ticks % Self.ticksPerQuestion == 0, try !isServed(), try isMounted() {
        try report()
        try? ViewMounts.unmount(view.target, .lazy)
        throw Failure("the daemon of \(container.identifier) has ended, and the view with it")
      }
    }
    // The daemon writes down the last of it at its end.
    for _ in 0..<50 where try isServed() { try signals.wait(milliseconds: 20) }
    try report()
    return 0
  }

  private func isMounted() throws(Errno) -> Bool {
    try MountTable.read().topmost(at: view.target)?.device == view.device
  }

  private func isServed() throws(MountError) -> Bool {
    try DaemonStatus.ask(container.directory.descriptor) != nil
  }

  private func report() throws {
    for line in try log.newLines() {
      if let entry = AuditEntry(line: line) { complain(sentence(about: entry)) }
    }
  }

  private func sentence(about entry: AuditEntry) -> String {
    let app = "\(container.identifier)"
    let sentence: String
    switch entry {
    case .request(let request):
      let message = SystemLogMessage(
        identifier: container.identifier.bytes, request: request, count: request.count)
      sentence = message.text
    case .more(_, let kind, let count):
      let verb = kind.result == "OK" ? "allowed" : "refused"
      sentence =
        "\(app): \(verb) \(kind.operation.shown) \(count) times more for uid \(kind.uid): "
        + "\(kind.result.shown) by \(kind.rule.printable)"
    case .event(_, let text): sentence = "\(app): \(text.printable)"
    case .lost(_, let count): sentence = "\(app): more than could be noted: \(count)"
    }
    return "\(entry.time.shown) \(sentence)"
  }
}
