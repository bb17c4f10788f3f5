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

  /// The path at which this process's program lies, or lay when it was executed.
  public static var program: [UInt8] {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.bindMemory(to: CChar.self).baseAddress.map {
        readlink("/proc/self/exe", $0, bytes.count)
      } ?? 0
    }
    let path = buffer.prefix(max(0, count))
    let deleted = Array(" (deleted)".utf8)
    return Array(path.suffix(deleted.count) == deleted[...] ? path.dropLast(deleted.count) : path)
  }

  /// Opens what lies there, for reading and to execute it.
  public static func openProgram() throws(Errno) -> Descriptor {
    let path = program.map { CChar(bitPattern: $0) } + [0]
    return try Descriptor.open(path, Flags.readFile)
  }

  /// Whether nobody but root and this process's user can change an open file.
  public static func trusts(_ file: CInt) throws(Errno) -> Bool {
    let status = try InodeStatus.of(file)
    let isOwned = status.shown.uid == 0 || status.shown.uid == geteuid()
    return isOwned && status.mode & 0o170000 == 0o100000 && status.mode & 0o022 == 0
  }

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

  /// Waits until one of three descriptors can be read; the third may be -1 for none.
  public static func waitForAny(
    _ first: borrowing Descriptor, _ second: borrowing Descriptor, _ third: CInt
  ) throws(Errno) -> (first: Bool, second: Bool, third: Bool) {
    let (one, other) = (first.rawValue, second.rawValue)
    let ready = try retrying { clinux_wait_three(one, other, third) }
    return (ready & 1 != 0, ready & 2 != 0, ready & 4 != 0)
  }

  /// Becomes another program, which has everything open that this one has.
  ///
  /// Only for a process of one thread. Returns what the kernel says if it can't.
  public static func become(
    _ program: String, arguments: [[UInt8]], environment: [[UInt8]]
  ) -> Errno {
    do throws(Errno) {
      return try withCStrings(arguments) { arguments throws(Errno) in
        try withCStrings(environment) { environment throws(Errno) in
          Errno(clinux_become(program, arguments, environment))
        }
      }
    } catch {
      return error
    }
  }

  /// Sets by how much the kernel would rather end this process than others when memory is short.
  ///
  /// Returns what it was; nil if it may not be set.
  @discardableResult
  public static func setMemoryScore(_ score: CInt) -> CInt? {
    let before = clinux_set_oom_score(score)
    return before < -1000 ? nil : before
  }

  /// Waits for the end of a child, if it has ended.
  public static func reap(_ child: CInt) {
    var status: CInt = 0
    waitpid(child, &status, WNOHANG)
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

    /// The only place that ends the process, and that of each request only once:
    /// `SANDBOXFS_FAULT_PLACE`.
    public static let onlyPlace = getenv("SANDBOXFS_FAULT_PLACE").flatMap {
      Int(String(cString: $0))
    }

    /// Whether every process that takes over stops before it serves: `SANDBOXFS_FAULT_RESENT`.
    public static let stopsResent = getenv("SANDBOXFS_FAULT_RESENT") != nil

    /// Stops until somebody lets the process go on.
    public static func stop() { kill(getpid(), SIGSTOP) }

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

    /// Whether the kernel is taken as an old one: `SANDBOXFS_FAULT_OLD_KERNEL`.
    public static let isOldKernel = getenv("SANDBOXFS_FAULT_OLD_KERNEL") != nil

    /// At which step of a change of limits whoever serves dies: `SANDBOXFS_FAULT_CHANGE`.
    public static let changeStep = getenv("SANDBOXFS_FAULT_CHANGE").flatMap {
      Int(String(cString: $0))
    }

    /// How often threads that hang are looked for: `SANDBOXFS_FAULT_WATCH`, in milliseconds.
    public static let watchMilliseconds = getenv("SANDBOXFS_FAULT_WATCH").flatMap {
      CInt(String(cString: $0))
    }

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
