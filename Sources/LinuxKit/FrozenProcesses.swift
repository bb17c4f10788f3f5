// Processes of others that stand still for a while, and go on whatever becomes of us.
//
// A thread of ours becomes their tracer (ptrace(2)). The kernel lets go of what a thread traces
// when that ends: because the time is over, or because this process was killed. So nobody has to be
// left behind who would let them go on, and they get no signal that they could see.
internal import CLinux
internal import Glibc
internal import Synchronization

/// Processes that stand still for as long as this lives.
public final class FrozenProcesses: Sendable {
  /// Processes that could not be stopped, such as those that a debugger has.
  public var failures: [Int32] { state.withLock { $0.failures.sorted() } }

  private struct State {
    var seized: Set<Int32> = []
    var failures: Set<Int32> = []
  }

  private let state = Mutex(State())
  private let isFrozen = Doorbell()
  private let end = Doorbell()
  private static let patienceMilliseconds: Int64 = 5_000

  /// Stops all threads of the processes that `find` finds, which is asked again until it finds no
  /// other: a process that still runs may start one.
  ///
  /// Throws what starting a thread throws.
  public init(_ find: @escaping @Sendable () -> [Int32]) throws(Errno) {
    let (state, isFrozen, end) = (Tracing(self), self.isFrozen, self.end)
    try DaemonProcess.startThread {
      state.freeze(find)
      isFrozen.ring()
      end.wait()
    }
    isFrozen.wait()
  }

  /// Lets them go on.
  public func thaw() { end.ring() }

  deinit { end.ring() }

  /// What the thread does, without keeping alive what ends it.
  private struct Tracing: @unchecked Sendable {
    private unowned let processes: FrozenProcesses

    init(_ processes: FrozenProcesses) { self.processes = processes }

    func freeze(_ find: () -> [Int32]) {
      let deadline = monotonicMilliseconds() + FrozenProcesses.patienceMilliseconds
      while monotonicMilliseconds() < deadline, seizeAll(find()) {}
    }

    /// Stops what does not stand still yet; whether there was anything.
    private func seizeAll(_ pids: [Int32]) -> Bool {
      var fresh: [(pid: Int32, thread: Int32)] = []
      let known = processes.state.withLock { $0.seized }
      for pid in pids {
        for thread in RunningProcess(pid: pid).threads where !known.contains(thread) {
          if clinux_seize(thread) == 0 {
            fresh.append((pid, thread))
          } else if errno != ESRCH {
            _ = processes.state.withLock { $0.failures.insert(pid) }
          }
        }
      }
      for (pid, thread) in fresh {
        let hasStopped = waitForStop(thread)
        processes.state.withLock { state in
          state.seized.insert(thread)
          if !hasStopped { state.failures.insert(pid) }
        }
      }
      return !fresh.isEmpty
    }

    /// One that the kernel holds in a system call may take its time.
    private func waitForStop(_ thread: Int32) -> Bool {
      let deadline = monotonicMilliseconds() + FrozenProcesses.patienceMilliseconds
      while clinux_has_stopped(thread) == 0 {
        if monotonicMilliseconds() > deadline { return false }
        Pause.microseconds(500)
      }
      return true
    }
  }
}
