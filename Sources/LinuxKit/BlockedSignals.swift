// Signals that ask us to stop, while stopping at any point would leave half of something behind.
internal import CLinux
internal import Glibc

/// Keeps HUP, INT and TERM (and PIPE) from the calling thread, and tells whether one has come.
///
/// The thread's mask is as before once the owner is gone; a signal that came and was not taken is
/// delivered then.
public struct BlockedSignals: ~Copyable {
  private let descriptor: Descriptor
  private let before: sigset_t

  /// Blocks them.
  public init() throws(Errno) {
    var (stop, all, before) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&stop)
    for signal in [SIGHUP, SIGINT, SIGTERM] { sigaddset(&stop, signal) }
    all = stop
    sigaddset(&all, SIGPIPE)
    let raw = try retrying { signalfd(-1, &stop, CInt(SFD_CLOEXEC | SFD_NONBLOCK)) }
    pthread_sigmask(SIG_BLOCK, &all, &before)
    descriptor = Descriptor(owning: raw)
    self.before = before
  }

  deinit {
    // A pipe that broke was an error of the write already.
    var (pipe, none) = (sigset_t(), timespec())
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    while sigtimedwait(&pipe, nil, &none) > 0 {}
    var mask = before
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Takes a signal that has come: its number, or nil.
  public borrowing func take() -> Int32? {
    var report = signalfd_siginfo()
    let (raw, size) = (descriptor.rawValue, MemoryLayout<signalfd_siginfo>.size)
    return read(raw, &report, size) == size ? Int32(report.ssi_signo) : nil
  }

  /// Waits until `file` can be read or has ended, a signal has come, or the time is over.
  ///
  /// True if `file` can be read.
  public borrowing func wait(
    for file: borrowing Descriptor, milliseconds: Int32
  ) throws(Errno) -> Bool {
    var files = [
      pollfd(fd: file.rawValue, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
    ]
    try retrying { poll(&files, 2, milliseconds) }
    return files[0].revents != 0
  }

  /// Waits until one of `files` can be read or has ended, a signal has come, or the time is over;
  /// for a negative time, without end.
  ///
  /// True for each of `files` that can be read.
  public borrowing func wait(
    forAny files: [CInt], milliseconds: Int32
  ) throws(Errno) -> [Bool] {
    var all = (files + [descriptor.rawValue]).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    try retrying { poll(&all, nfds_t(all.count), milliseconds) }
    return all.dropLast().map { $0.revents != 0 }
  }

  /// Waits for a signal, or until the time is over.
  public borrowing func wait(milliseconds: Int32) throws(Errno) {
    var files = [pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)]
    try retrying { poll(&files, 1, milliseconds) }
  }
}

/// Waits for so many milliseconds.
public func pauseMilliseconds(_ count: UInt32) { usleep(count * 1000) }

/// The microseconds of a clock that never goes back.
public func monotonicMicroseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
}

/// The milliseconds of a clock that never goes back.
public func monotonicMilliseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
}
