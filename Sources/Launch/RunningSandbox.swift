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
      let filter = try SystemCallFilter.program(of: sandbox.systemCallRules)
      return try MemoryFiles([options, filter] + sandbox.files.map(\.content))
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
    let status: Int32
    let isSetUp: Bool
    do throws(Errno) {
      while try watch.step(process, report.reading, signals, daemon) {}
      status = try process.wait()
      try watch.finish(report.reading)
      // Bubblewrap takes the byte when all is set up.
      isSetUp = try gate.reading.readSome(atMost: 1).isEmpty
    } catch {
      throw LaunchError(.ours, "cannot wait for the program: \(error.message)")
    }
    if watch.daemonDied { throw daemonDied }
    if let exitStatus = watch.report.exitStatus { return exitStatus }
    // It was killed, and what it started with it.
    if status > 128 { return status }
    guard isSetUp else { throw bubblewrapFailed }
    // It has said why the program could not be executed.
    return LaunchError.Kind.notExecutable.rawValue
  }
}

/// What one watches until the end.
private struct Watch: ~Copyable {
  private(set) var report = BubblewrapReport()
  private(set) var daemonDied = false
  private var isReportOpen = true
  /// The first process inside; it ends after all others.
  private var first: ProcessHandle?
  /// Signals that came before there was a program to take them.
  private var waiting: [Int32] = []

  /// How often one looks whether the program is there to take a signal.
  private static let patienceMilliseconds: Int32 = 5

  /// How long the kernel may take to end what is left.
  private static let lastMilliseconds: Int32 = 10_000

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
    _ = first?.waitForEnd(milliseconds: Self.lastMilliseconds)
  }

  private mutating func readReport(_ pipe: borrowing Descriptor) throws(Errno) {
    let bytes = try pipe.readSome()
    report.take(bytes)
    isReportOpen = !bytes.isEmpty
    // Bubblewrap has not waited for it yet, so the number is still its own.
    if first == nil, let number = report.firstProcess { first = ProcessHandle(pid: number) }
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
