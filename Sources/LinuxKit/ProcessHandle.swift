// A process that stays the one that was meant, even when its number has gone to another.
internal import CLinux
internal import Glibc

/// A process of anybody's, held by a pidfd.
public struct ProcessHandle: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Takes hold of the process that has the number now; nil if there is none.
  public init?(pid: Int32) {
    let raw = clinux_pidfd_open(pid)
    guard raw >= 0 else { return nil }
    descriptor = Descriptor(owning: raw)
  }

  /// Readable, for poll(2), once the process has ended.
  public var rawValue: CInt { descriptor.rawValue }

  /// The descriptor, which is the caller's from now on.
  public consuming func release() -> CInt { descriptor.release() }

  /// Sends it a signal.
  public borrowing func send(_ signal: Int32) throws(Errno) {
    let raw = descriptor.rawValue
    try retrying { clinux_pidfd_signal(raw, signal) }
  }

  /// Waits until it has ended, at most for so many milliseconds; whether it has.
  ///
  /// The first process of a pid namespace ends after all others in it.
  public borrowing func waitForEnd(milliseconds: Int32) -> Bool {
    var file = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    return ((try? retrying { poll(&file, 1, milliseconds) }) ?? 0) > 0
  }
}

extension RunningProcess {
  /// Its children, in the order of their birth; empty if it has ended.
  public var children: [Int32] {
    guard let file = try? Descriptor.open("/proc/\(pid)/task/\(pid)/children", O_RDONLY),
      let text = try? file.readToEnd(atMost: 4 << 20)
    else { return [] }
    return text.split(separator: UInt8(ascii: " ")).compactMap {
      Int32(String(decoding: $0, as: UTF8.self))
    }
  }

  /// The process that began its session; -1 if it has ended.
  public var session: Int32 { getsid(pid) }

  /// Sends it a signal.
  public func send(_ signal: Int32) throws(Errno) {
    let pid = pid
    try retrying { Glibc.kill(pid, signal) }
  }

  /// Sends a signal to the processes of the group that it leads.
  public func signalGroup(_ signal: Int32) throws(Errno) {
    let pid = pid
    try retrying { Glibc.kill(-pid, signal) }
  }

  /// Ends it at once, with SIGKILL.
  public func kill() throws(Errno) {
    let pid = pid
    try retrying { Glibc.kill(pid, SIGKILL) }
  }
}
