// What a process does to itself on its way to becoming a daemon.
internal import CLinux
internal import Glibc

/// Steps of a process that will serve in the background.
public enum DaemonProcess {
  /// Raises the soft limit of open files to the hard one; the limit.
  public static func raiseOpenFileLimit() throws(Errno) -> Int {
    let limit = clinux_raise_open_files()
    if limit < 0 { throw Errno.last }
    return limit
  }

  /// Blocks HUP, INT, TERM, PIPE and XFSZ from here on, in this thread and all later ones.
  ///
  /// Returns a descriptor that can be read when TERM has come.
  public static func blockSignals() throws(Errno) -> Descriptor {
    Descriptor(owning: try retrying { clinux_block_signals() })
  }

  /// Leaves the terminal and the working directory behind.
  public static func leaveSession() { clinux_leave_session() }

  /// Gives back the pages of programs and libraries that only the start has needed.
  ///
  /// What is needed again comes back by itself.
  public static func leaveStartBehind() { clinux_leave_start_behind() }

  /// The number of this process.
  public static var number: CInt { getpid() }

  /// Says one line on standard error, which may be nowhere.
  public static func complain(_ line: String) {
    try? StandardStream.error.write(Array(line.utf8) + [UInt8(ascii: "\n")])
  }

  /// Ends the process at once, without any clean-up.
  public static func exit(_ status: CInt) -> Never { clinux_exit(status) }

  /// Runs `body` on a detached thread for as long as the process lives.
  public static func startThread(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    let box = Unmanaged.passRetained(Body(body))
    let error = clinux_start_thread(
      { argument in
        // What was retained above, once.
        Unmanaged<Body>.fromOpaque(argument.unsafelyUnwrapped).takeRetainedValue().run()
        return nil
      }, box.toOpaque())
    guard error == 0 else {
      box.release()
      throw Errno(error)
    }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Waits until one of two descriptors can be read.
  public static func waitForEither(
    _ first: borrowing Descriptor, _ second: borrowing Descriptor
  ) throws(Errno) -> (first: Bool, second: Bool) {
    let (one, other) = (first.rawValue, second.rawValue)
    let ready = try retrying { clinux_wait_two(one, other) }
    return (ready & 1 != 0, ready & 2 != 0)
  }
}

extension Descriptor {
  /// Takes the exclusive lock of an open file, which lasts as long as the file is open.
  ///
  /// Throws EWOULDBLOCK if another process has it.
  public borrowing func lockWithoutWaiting() throws(Errno) {
    let raw = rawValue
    try retrying { clinux_lock(raw) }
  }
}

#if DEBUG
  /// Dying on purpose, in builds for tests: they look at what is left then.
  public enum FaultInjection {
    /// One in so many passes of any place kills the process: `SANDBOXFS_FAULT_ONE_IN`.
    private static let oneIn: UInt64 = {
      getenv("SANDBOXFS_FAULT_ONE_IN").flatMap { UInt64(String(cString: $0)) } ?? 0
    }()

    /// A place was reached.
    public static func reached(_ place: Int) {
      if oneIn > 0 && UInt64.random(in: 0..<oneIn) == 0 { die() }
    }

    /// Ends the process as `kill -9` does.
    public static func die() { kill(getpid(), SIGKILL) }

    /// What a name asks for.
    public enum Fault: String {
      /// A crash.
      case crash = "fault-crash"
      /// A thread that waits for ever.
      case hang = "fault-hang"
      /// A thread that turns in circles.
      case spin = "fault-spin"
      /// Memory that says what can't be, and a death.
      case damage = "fault-damage"
    }

    /// Whether names ask for faults: `SANDBOXFS_FAULT_NAMES`.
    private static let namesAsk = getenv("SANDBOXFS_FAULT_NAMES") != nil

    /// Whether every process that takes over crashes: `SANDBOXFS_FAULT_TAKEOVER`.
    public static let takeoverCrashes = getenv("SANDBOXFS_FAULT_TAKEOVER") != nil

    /// Crashes as by a wild pointer.
    public static func crash() { raise(SIGSEGV) }

    /// Does what a name asks for; damage is the caller's to do.
    public static func meet(_ name: UnsafePointer<CChar>) -> Fault? {
      guard namesAsk, let fault = Fault(rawValue: String(cString: name)) else { return nil }
      switch fault {
      case .crash: crash()
      case .hang: Doorbell().wait()
      case .spin: while true {}
      case .damage: break
      }
      return fault
    }
  }
#endif
