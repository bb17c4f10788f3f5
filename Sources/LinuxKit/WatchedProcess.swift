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
    /// The time is over.
    case nothing
  }

  /// Starts it: `body` is run in it.
  ///
  /// The caller has one thread. What either opens is open in both, also after the end of one.
  public init(running body: () -> Never) throws(Errno) {
    clinux_block_child_signal()
    let number = clinux_clone_sharing_descriptors()
    if number < 0 { throw Errno.last }
    if number == 0 { body() }
    self.number = number
  }

  /// Waits for what comes of it, for at most so many milliseconds; without end if they are -1.
  public func wait(milliseconds: CInt) -> Event {
    var status: CInt = 0
    switch clinux_watch(number, milliseconds, &status) {
    case 1:
      let signal = status & 0x7F
      return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
    case 2: return .asked
    default: return .nothing
    }
  }

  /// Ends it at once.
  public func kill() { _ = Glibc.kill(number, SIGKILL) }

  /// Names the calling process for people, in at most 15 bytes.
  public static func setName(_ name: String) { clinux_set_name(name) }
}
