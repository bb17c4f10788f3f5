// A process that goes on where this one stands, and is watched by it.
internal import CLinux
internal import Glibc

/// A copy of the calling process, which shares its descriptors.
public struct WatchedProcess: Sendable {
  /// Its number.
  public let number: CInt

  /// What has come of it.
  public enum Event: Sendable {
    /// It has ended by itself, with a status.
    case exited(CInt)
    /// A signal has ended it.
    case killed(signal: CInt)
    /// The caller was asked to end.
    case asked
    /// The bell was rung.
    case rung
    /// The time is over.
    case nothing
  }

  /// Starts it: `body` is run in it.
  ///
  /// The caller has one thread. What either opens is open in both, also after the end of one.
  public init(running body: () -> Never) throws(Errno) {
    let number = clinux_clone_sharing_descriptors()
    if number < 0 { throw Errno.last }
    if number == 0 { body() }
    self.number = number
  }

  /// Waits for what comes of it, for at most so many milliseconds; without end if they are -1.
  public func wait(_ watch: ProcessWatch, milliseconds: CInt = -1) -> Event {
    var status: CInt = 0
    switch clinux_watch(number, watch.signals, watch.bell, milliseconds, &status) {
    case 1:
      let signal = status & 0x7F
      return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
    case 2: return .asked
    case 3: return .rung
    default: return .nothing
    }
  }

  /// Ends it at once.
  public func kill() { _ = Glibc.kill(number, SIGKILL) }

  /// Names the calling process for people, in at most 15 bytes.
  public static func setName(_ name: String) { clinux_set_name(name) }
}

/// What a process waits by that watches another one, for its life.
public struct ProcessWatch: Sendable {
  fileprivate let signals: CInt
  fileprivate let bell: CInt

  /// From here on CHLD and TERM are waited for, and do nothing else.
  public init() throws(Errno) {
    signals = try retrying { clinux_signals_of_children() }
    bell = try retrying { clinux_bell() }
  }

  /// What rings it, in whoever shares this process's descriptors.
  public var ringer: Ringer { Ringer(bell: bell) }

  /// Rings a bell.
  public struct Ringer: Sendable {
    /// The eventfd that it is.
    public let bell: CInt

    /// Rings it; whoever waits goes on.
    public func ring() { clinux_ring(bell) }
  }
}

/// A process that waits for the end of this one and then becomes its program anew, with all that
/// was open.
public enum Guardian {
  /// Starts it; its number.
  ///
  /// `ended` is not 0 where there is nothing to go on with; `death` gets the time at which this
  /// process has died. `arguments` are those of the program that it becomes.
  public static func start(
    arguments: [[UInt8]], environment: [[UInt8]], ended: UnsafePointer<Int32>,
    death: UnsafeMutablePointer<Int64>
  ) throws(Errno) -> CInt {
    // It waits by this one, which stays open for as long as it may.
    let worker = try retrying { clinux_pidfd_open(getpid()) }
    let guarded = clinux_guard(ended: ended, death: death)
    return try withCStrings(arguments) { arguments throws(Errno) in
      try withCStrings(environment) { environment throws(Errno) in
        let number = clinux_start_guardian(worker, guarded, arguments, environment)
        if number < 0 { throw Errno.last }
        return number
      }
    }
  }
}
