// A program that runs in its container, and whoever waits for it.
internal import LinuxKit

/// Bubblewrap and what it has started, from its first instruction to the end of the last process.
struct RunningSandbox: ~Copyable {
  private let process: ConfinedProcess
  private let report: Pipe
  private let gate: Pipe

  /// Starts a program as `sandbox` says.
  init(_ sandbox: Sandbox, bubblewrap: [UInt8]) throws(LaunchError) {
    var report = try prepared { () throws(Errno) in try Pipe() }
    let gate = try prepared(openGate)
    let contents = try prepared { () throws(Errno) in
      let options = Array(sandbox.options.joined(separator: [0]) + [0])
      return try MemoryFiles([options] + sandbox.files.map(\.content))
    }
    // In the order of `BubblewrapDescriptor`.
    let ends = [report.writing?.rawValue ?? -1, gate.reading.rawValue]
    do throws(SpawnFailure) {
      process = try ConfinedProcess(
        program: bubblewrap, arguments: sandbox.arguments, environment: sandbox.environment,
        steps: sandbox.steps, descriptors: contents.raw.prefix(1) + ends + contents.raw.dropFirst())
    } catch {
      throw explanation(of: error, bubblewrap: bubblewrap)
    }
    report.writing = nil
    self.report = report
    self.gate = gate
  }

  /// Waits for the end of all processes inside, and passes signals on; the program's exit status.
  ///
  /// If the view's daemon ends first, everything is killed.
  consuming func wait(
    _ signals: borrowing BlockedSignals, _ daemon: borrowing ProcessHandle
  ) throws(LaunchError) -> Int32 {
    var watch = Watch()
    do throws(Errno) {
      while try watch.step(process, report.reading, signals, daemon) {}
      let status = try process.wait()
      try watch.finish(report.reading)
      if watch.daemonDied { throw Errno.notConnected }
      if let exitStatus = watch.report.exitStatus { return exitStatus }
      return try endWithoutReport(status)
    } catch {
      throw watch.daemonDied
        ? daemonDied : LaunchError(.ours, "cannot wait for the program: \(error.message)")
    }
  }

  /// The program was not executed, or bubblewrap was killed.
  private borrowing func endWithoutReport(_ status: Int32) throws(Errno) -> Int32 {
    if status > 128 { return status }
    // Bubblewrap takes the byte when all is set up.
    let isSetUp = try gate.reading.readSome(atMost: 1).isEmpty
    return isSetUp ? LaunchError.Kind.notExecutable.rawValue : LaunchError.Kind.ours.rawValue
  }
}

/// What one watches until the end.
private struct Watch {
  var report = BubblewrapReport()
  var daemonDied = false
  private var isReportOpen = true
  /// Signals that came before there was a program to take them.
  private var waiting: [Int32] = []

  /// How often one looks whether the program is there to take a signal.
  private static let patienceMilliseconds: Int32 = 5

  /// Waits for the next thing to happen; false at the end.
  mutating func step(
    _ process: borrowing ConfinedProcess, _ pipe: borrowing Descriptor,
    _ signals: borrowing BlockedSignals, _ daemon: borrowing ProcessHandle
  ) throws(Errno) -> Bool {
    // poll(2) passes over what is negative.
    let ready = try signals.wait(
      forAny: [
        process.handle.rawValue, isReportOpen ? pipe.rawValue : -1,
        daemonDied ? -1 : daemon.rawValue,
      ], milliseconds: waiting.isEmpty ? -1 : Self.patienceMilliseconds)
    if ready[1] { try readReport(pipe) }
    while let signal = signals.take() { waiting.append(signal) }
    if ready[0] { return false }
    if ready[2] {
      daemonDied = true
      try RunningProcess(pid: process.pid).kill()
    }
    passOn()
    return true
  }

  /// After bubblewrap's end: what it still said, and the end of what it started.
  mutating func finish(_ pipe: borrowing Descriptor) throws(Errno) {
    while isReportOpen { try readReport(pipe) }
    guard let first = report.firstProcess, let handle = ProcessHandle(pid: first) else { return }
    _ = handle.waitForEnd(milliseconds: 10_000)
  }

  private mutating func readReport(_ pipe: borrowing Descriptor) throws(Errno) {
    let bytes = try pipe.readSome()
    report.take(bytes)
    isReportOpen = !bytes.isEmpty
  }

  /// Signals go to the group of the program, which the first process inside leads.
  ///
  /// That one ignores them, as the first process of a namespace does; before it has a child there
  /// is nobody to take them.
  private mutating func passOn() {
    guard !waiting.isEmpty, let number = report.firstProcess else { return }
    let first = RunningProcess(pid: number)
    guard !first.children.isEmpty else { return }
    for signal in waiting { try? first.signalGroup(signal) }
    waiting = []
  }
}

/// A gate that lets the program begin as soon as all is set up.
private func openGate() throws(Errno) -> Pipe {
  var gate = try Pipe()
  try gate.writing.take()?.writeAll([1])
  return gate
}

private func prepared<Result: ~Copyable>(
  _ make: () throws(Errno) -> Result
) throws(LaunchError) -> Result {
  do throws(Errno) {
    return try make()
  } catch {
    throw LaunchError(.ours, "cannot prepare the container: \(error.message)")
  }
}

/// Files without a name, open as long as it lives.
private final class MemoryFiles {
  private(set) var raw: [CInt] = []

  init(_ contents: [[UInt8]]) throws(Errno) {
    for content in contents { raw.append(try Descriptor.memory(holding: content).release()) }
  }

  deinit { for raw in raw { _ = Descriptor(owning: raw) } }
}
