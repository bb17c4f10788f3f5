// Threads that hang: a request that was begun and comes to no end, although nothing outside is
// waited for. Whoever looks for them sleeps while nobody asks for anything.
import FuseKit
import LinuxKit

/// Looks at the threads of the process that serves, now and then while there are requests.
struct Watchdog {
  /// How long a thread is let be: between one and two of these.
  private static let interval: CInt = {
    #if DEBUG
      if let interval = FaultInjection.watchMilliseconds { return interval }
    #endif
    return 10_000
  }()

  private struct Sight {
    let served: UInt
    let look: RunningProcess.ThreadLook
  }

  private let journal: RequestJournal
  /// The threads that served a request at the last look.
  private var serving: [Int32: Sight] = [:]
  private var served: UInt = 0
  /// How long to wait until the next look; -1 for until the bell is rung.
  private(set) var milliseconds: CInt = -1

  init(_ journal: RequestJournal) {
    self.journal = journal
    sleep()
  }

  /// Another process serves, or the first request has come behind a silence.
  mutating func wake() {
    serving = [:]
    milliseconds = Watchdog.interval
  }

  private mutating func sleep() {
    milliseconds = -1
    journal.letWatcherSleep(true)
    // One that had begun just before has not seen it.
    guard journal.looks().contains(where: \.serves) else { return }
    journal.letWatcherSleep(false)
    milliseconds = Watchdog.interval
  }

  /// Looks once; the threads that hang, whose requests are told so.
  mutating func findHanging(in process: RunningProcess) -> Bool {
    let looks = journal.looks()
    let busy = looks.filter(\.serves)
    let total = looks.reduce(0) { $0 &+ $1.served }
    defer { served = total }
    if busy.isEmpty && total == served {
      sleep()
      return false
    }
    var now: [Int32: Sight] = [:]
    var hanging: [RequestJournal.Look] = []
    for thread in busy {
      guard let look = process.look(at: thread.number) else { continue }
      now[thread.number] = Sight(served: thread.served, look: look)
      guard let before = serving[thread.number], before.served == thread.served else { continue }
      if hangs(before.look, look) { hanging.append(thread) }
    }
    serving = now
    // Whoever waits for a disk may be what the others wait for, and can't be killed either.
    guard !hanging.isEmpty,
      !process.threads.contains(where: { process.look(at: $0)?.waitsForDevice == true })
    else { return false }
    for thread in hanging { journal.blame(thread) }
    return true
  }

  /// Whether a thread hangs that serves the same request as when it was looked at before.
  ///
  /// It waits for another thread, or turns in circles. What the kernel does for it may take long.
  private func hangs(
    _ before: RunningProcess.ThreadLook, _ now: RunningProcess.ThreadLook
  ) -> Bool {
    let inProgram = now.programTime &- before.programTime
    let inKernel = now.kernelTime &- before.kernelTime
    if now.waitsForThread { return before.waitsForThread && inProgram + inKernel == 0 }
    return now.runs && inProgram > inKernel
  }
}
