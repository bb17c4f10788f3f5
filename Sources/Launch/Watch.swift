// What one watches while a program runs in its container: its end, its view's daemon, signals for
// it, and what passes between its terminal and the person's.
internal import LinuxKit

/// What one watches until the end.
struct Watch: ~Copyable {
  private(set) var report = BubblewrapReport()
  private(set) var daemonDied = false
  private var isReportOpen: Bool
  /// The first process inside; it ends after all others.
  private var first: ProcessHandle?
  /// The program, if it was not bubblewrap that started it.
  private let program: Int32?
  private let relay: TerminalRelay?
  private let statusFile: CInt?
  /// Where bubblewrap reports; negative without one.
  private let reportFile: CInt
  /// Signals that came before there was a program to take them.
  private var waiting: [Int32] = []

  /// How often one looks whether the program is there to take a signal, or takes keys again.
  private static let patienceMilliseconds: Int32 = 5

  /// How long the kernel may take to end what is left.
  private static let lastMilliseconds: Int32 = 10_000

  /// Watches a program that has a terminal of ours, if `relay` is not nil.
  init(
    program: Int32? = nil, report: CInt = -1, relay: TerminalRelay?, statusFile: CInt?
  ) {
    reportFile = report
    isReportOpen = report >= 0
    self.program = program
    self.relay = relay
    self.statusFile = statusFile
    if let program { tell("child-pid", program) }
  }

  /// Waits for the next thing to happen; false at the end, when `process` can be read.
  ///
  /// True in `daemonDied` once `daemon` can be.
  mutating func step(
    process: CInt, daemon: CInt?,
    _ signals: borrowing BlockedSignals
  ) throws(Errno) -> Bool {
    let isHurried = !waiting.isEmpty || relay?.isFull == true
    // poll(2) passes over what is negative.
    let ready = try signals.wait(
      forAny: [process, isReportOpen ? reportFile : -1, daemonDied ? -1 : daemon ?? -1]
        + (relay?.files ?? []),
      milliseconds: isHurried ? Self.patienceMilliseconds : -1)
    if ready[1] { try readReport() }
    if let relay { relay.step(ready[3...]) }
    while let signal = signals.take() { waiting.append(signal) }
    if ready[0] { return false }
    if ready[2] { daemonDied = true }
    passOn()
    return true
  }

  /// After bubblewrap's end: what it still said, and the end of what it started.
  mutating func finish() throws(Errno) {
    while isReportOpen { try readReport() }
    _ = first?.waitForEnd(milliseconds: Self.lastMilliseconds)
  }

  /// Tells whoever asked for it how it ended.
  func tell(exitStatus: Int32) { tell("exit-code", exitStatus) }

  private mutating func readReport() throws(Errno) {
    let bytes = try Descriptor.readSome(from: reportFile)
    report.take(bytes)
    isReportOpen = !bytes.isEmpty
    // Bubblewrap has not waited for it yet, so the number is still its own.
    if first == nil, let number = report.firstProcess {
      first = ProcessHandle(pid: number)
      tell("child-pid", number)
    }
  }

  private func tell(_ key: String, _ value: Int32) {
    guard let statusFile else { return }
    // Who does not read it any more does not want it.
    try? Descriptor.writeAll(Array("{\"\(key)\":\(value)}\n".utf8), to: statusFile)
  }

  /// Signals go to the group of the program.
  ///
  /// The first process inside leads it, and ignores them, as the first process of a namespace does;
  /// before it has a child there is nobody to take them. A program with a terminal leads a group
  /// of its own.
  private mutating func passOn() {
    guard !waiting.isEmpty else { return }
    var groups: [RunningProcess] = []
    if let program {
      groups = [RunningProcess(pid: program)]
    } else if let number = report.firstProcess {
      let first = RunningProcess(pid: number)
      let children = first.children
      if children.isEmpty { return }
      groups = relay?.hasKeys == true ? children.map(RunningProcess.init(pid:)) : [first]
    } else {
      return
    }
    for signal in waiting { for group in groups { try? group.signalGroup(signal) } }
    waiting = []
  }
}
