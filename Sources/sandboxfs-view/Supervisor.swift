// The process that has mounted the view and never serves it: it starts one that does, and another
// one when that dies. The apps see a pause.
//
// All descriptors are in one table that both processes use, and all that the kernel can name is in
// memory that both have mapped, so that nothing is lost with the one that serves.
import FuseKit
import LinuxKit
import View

/// Watches over the process that serves a view.
final class Supervisor {
  /// How many crashes in a row, without one answer between them, end the view.
  private static let crashLimit = 16
  /// The same for processes that somebody has killed.
  private static let killLimit = 1000
  /// One that has lived for so long had nothing the matter with it, asked or not.
  private static let soundMilliseconds: Int64 = 10_000

  private let fileSystem: ViewFileSystem
  private let session: Session
  private let handover: Handover
  private let signals: ProcessWatch
  /// What a process that takes over never closes.
  private let ownDescriptors: [CInt]
  private let serve: (ProcessWatch.Ringer) -> Never
  /// Does what can be done before somebody dies.
  private let prepare: () -> Void
  /// By how much the kernel would rather end those that serve than others; nil for as it is.
  private let memoryScore: CInt?
  /// When the process that serves was started, by the monotonic clock.
  private var startMilliseconds = monotonicMilliseconds()
  private var failures = 0
  /// How many of these nobody else has brought about.
  private var crashes = 0
  /// How often the view had been taken over at the last death.
  private var takeovers = UInt64.max
  private var outsideSignals: UInt32 = 0

  /// A supervisor for a view that is mounted and has answered INIT.
  ///
  /// `serve` serves until the view is gone, and ends the process; it gets what wakes this one.
  /// `prepare` is called whenever something of what it stands on has changed. What is open now
  /// stays open for the view's life, but for what belongs to `startup` alone.
  init(
    _ fileSystem: ViewFileSystem, _ session: Session, _ handover: Handover, _ startup: Startup,
    prepare: @escaping () -> Void, serve: @escaping (ProcessWatch.Ringer) -> Never
  ) throws(Errno) {
    self.fileSystem = fileSystem
    self.session = session
    self.handover = handover
    self.serve = serve
    self.prepare = prepare
    signals = try ProcessWatch()
    session.ring(signals.ringer.bell)
    // Here, so that it is so in those that serve from their first moment.
    session.noteCrashes()
    // Whoever ends this one ends a view, at a death or at once.
    memoryScore = DaemonProcess.setMemoryScore(-1000)
    let passing = startup.passing
    let kept = try OpenDescriptors.all().filter { !passing.contains($0) }
    ownDescriptors = kept + handover.descriptors
    fileSystem.setSupervisor(DaemonProcess.number)
  }

  /// Why a view ends.
  enum End {
    /// Its last mount is gone.
    case unmounted
    /// Nobody can serve it.
    case failed(String)
  }

  /// Starts the first process that serves.
  func start() throws(Errno) -> WatchedProcess {
    try WatchedProcess { [self] in
      begin()
      serve(signals.ringer)
    }
  }

  /// Goes on where another program has left a view, and watches until it ends.
  func goOn(terminate: () -> Void) -> End {
    guard let worker = replace() else { return .failed("no process can be started") }
    DaemonProcess.leaveStartBehind()
    return watch(worker, terminate: terminate)
  }

  /// Watches until the view ends; `terminate` is called when this process is asked to end.
  func watch(_ first: WatchedProcess, terminate: () -> Void) -> End {
    var worker = first
    var watchdog = Watchdog(fileSystem.journal)
    while true {
      var isCrash: Bool?
      switch worker.wait(signals, milliseconds: watchdog.milliseconds) {
      case .nothing:
        if watchdog.findHanging(in: RunningProcess(pid: worker.number)) {
          fileSystem.noteHang()
          worker.kill()
        }
        continue
      case .asked:
        terminate()
        continue
      case .rung:
        watchdog.wake()
        prepare()
        if fileSystem.nextProgram >= 0 { worker.kill() }
        continue
      case .exited(0): return .unmounted
      case .exited(WorkerStatus.damaged):
        return .failed("what the last process left in memory is damaged")
      case .exited(let status):
        return .failed("the connection to the kernel has failed (status \(status))")
      case .killed(let signal):
        isCrash = signal != 9 && fileSystem.journal.outsideSignals == outsideSignals
      }
      outsideSignals = fileSystem.journal.outsideSignals
      fileSystem.deathMicroseconds = monotonicMicroseconds()
      if fileSystem.nextProgram >= 0 {
        upgrade()
      } else if let isCrash, !count(isCrash: isCrash) {
        return .failed("\(failures) processes in a row have died without an answer to any request")
      }
      guard let next = replace() else { return .failed("no process can be started any more") }
      worker = next
      watchdog.wake()
    }
  }

  /// Becomes the program that is to go on; returns if that fails.
  private func upgrade() {
    let program = fileSystem.nextProgram
    fileSystem.nextProgram = -1
    if let memoryScore { DaemonProcess.setMemoryScore(memoryScore) }
    let arguments = CommandLine.arguments.map { Array($0.utf8) }
    let error = handover.become("/proc/self/fd/\(program)", arguments: arguments)
    DaemonProcess.setMemoryScore(-1000)
    _ = Descriptor(owning: program)
    fileSystem.noteUpgrade(error)
  }

  /// Counts a death; false if there were too many.
  private func count(isCrash: Bool) -> Bool {
    let journal = fileSystem.journal
    // Of one that died before it had taken over, the journal still says what others had answered.
    let hasAnswered = journal.takeovers != takeovers && journal.answered > 0
    takeovers = journal.takeovers
    let hasLived = monotonicMilliseconds() - startMilliseconds >= Supervisor.soundMilliseconds
    failures = hasAnswered || hasLived ? 0 : failures + 1
    crashes = hasAnswered || hasLived ? 0 : crashes + (isCrash ? 1 : 0)
    if failures > Supervisor.crashLimit { Pause.microseconds(10_000) }
    return crashes < Supervisor.crashLimit && failures < Supervisor.killLimit
  }

  private func replace() -> WatchedProcess? {
    prepare()
    for _ in 0..<100 {
      let next = try? WatchedProcess { [self] in
        begin()
        #if DEBUG
          if FaultInjection.takeoverCrashes { FaultInjection.crash() }
        #endif
        takeOver()
        serve(signals.ringer)
      }
      startMilliseconds = monotonicMilliseconds()
      if let next { return next }
      // Too many processes, or too little memory: it may pass.
      Pause.microseconds(100_000)
    }
    return nil
  }

  private func begin() {
    WatchedProcess.setName("sandboxfs-work")
    if let memoryScore { DaemonProcess.setMemoryScore(memoryScore) }
  }

  private func takeOver() {
    do throws(DamagedState) {
      let pipe = fileSystem.isAnnounced ? [] : [Startup.readiness]
      try fileSystem.takeOver(keeping: ownDescriptors + pipe, session)
    } catch {
      DaemonProcess.complain("sandboxfs-view: cannot go on: \(error.description)")
      DaemonProcess.exit(WorkerStatus.damaged)
    }
  }
}

/// How a process ends that has served, beside 0 for the end of the view.
enum WorkerStatus {
  /// The connection to the kernel has failed.
  static let failed: CInt = 1
  /// Nobody can go on with what there is.
  static let damaged: CInt = 3
}
