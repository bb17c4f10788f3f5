// A program that runs in its container, and whoever waits for it.
internal import LinuxKit

/// Bubblewrap and what it has started, from its first instruction to the end of the last process.
struct RunningSandbox: ~Copyable {
  private let process: ConfinedProcess
  private let report: Pipe
  private let gate: Pipe
  private let relay: TerminalRelay?

  /// Starts a program as `sandbox` says; `filter` is what refuses system calls.
  init(
    _ sandbox: Sandbox, bubblewrap: [UInt8], filter: Result<[UInt8], Errno>,
    relay: TerminalRelay? = nil
  ) throws(LaunchError) {
    var report = try prepared { () throws(Errno) in try Pipe() }
    let gate = try prepared(openGate)
    let contents = try prepared { () throws(Errno) in
      let options: [UInt8] = sandbox.options.flatMap { $0 + [0] }
      return try MemoryFiles([options, filter.get()])
    }
    // In the order of `BubblewrapDescriptor`; the terminal comes last.
    let ends = [report.writing?.rawValue ?? -1, gate.reading.rawValue]
    let files = contents.raw.prefix(1) + ends + contents.raw.dropFirst()
    let terminal = relay.map {
      [NamespaceStep.streams($0.replaced, from: CInt(BubblewrapDescriptor.count))]
    }
    do throws(SpawnFailure) {
      process = try ConfinedProcess(
        program: bubblewrap, arguments: sandbox.arguments, environment: sandbox.environment,
        steps: (terminal ?? []) + sandbox.steps,
        descriptors: files + (relay.map { [$0.terminal] } ?? []))
    } catch {
      throw explanation(of: error, bubblewrap: bubblewrap)
    }
    report.writing = nil
    relay?.begin()
    self.relay = relay
    self.report = report
    self.gate = gate
  }

  /// Waits for the end of all processes inside, and passes signals on; the program's exit status.
  ///
  /// If the view's daemon ends first, everything is killed. What happens is told in `statusFile`.
  consuming func wait(
    _ signals: borrowing BlockedSignals, _ daemon: borrowing ProcessHandle,
    statusFile: CInt? = nil
  ) throws(LaunchError) -> Int32 {
    var watch = Watch(report: report.reading.rawValue, relay: relay, statusFile: statusFile)
    let status: Int32
    let isSetUp: Bool
    defer { relay?.end() }
    do throws(Errno) {
      while try watch.step(
        process: process.handle.rawValue, daemon: daemon.rawValue, signals)
      {
        if watch.daemonDied { try RunningProcess(pid: process.pid).kill() }
      }
      status = try process.wait()
      try watch.finish()
      // Bubblewrap takes the byte when all is set up.
      isSetUp = try gate.reading.readSome(atMost: 1).isEmpty
    } catch {
      throw LaunchError(.ours, "cannot wait for the program: \(error.message)")
    }
    if watch.daemonDied { throw daemonDied }
    let ending = watch.report.exitStatus ?? (status > 128 ? status : nil)
    if let ending {
      watch.tell(exitStatus: ending)
      return ending
    }
    guard isSetUp else { throw bubblewrapFailed }
    // It has said why the program could not be executed.
    return LaunchError.Kind.notExecutable.rawValue
  }
}

/// A gate that lets the program begin as soon as all is set up.
private func openGate() throws(Errno) -> Pipe {
  var gate = try Pipe()
  try gate.writing.take()?.writeAll([1])
  return gate
}

func prepared<Result: ~Copyable>(
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
