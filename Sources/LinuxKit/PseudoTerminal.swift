// Terminals: one that we make, and the person's own while its keys are for a program inside.
internal import CLinux
internal import Glibc

/// A terminal whose other end we hold.
public struct PseudoTerminal: ~Copyable {
  /// What its programs write comes out here; what is written here are its keys.
  public let controller: Descriptor
  /// The terminal itself; nil once we have closed ours.
  private var ours: Descriptor?
  /// The terminal's path.
  public let path: [UInt8]

  /// A new one, with the settings and the size of `model`, which is a terminal.
  public init(like model: CInt) throws(Errno) {
    let flags = O_RDWR | O_NOCTTY | O_CLOEXEC
    let controller = Descriptor(owning: try retrying { posix_openpt(flags | O_NONBLOCK) })
    let raw = controller.rawValue
    try retrying { unlockpt(raw) }
    var name = [CChar](repeating: 0, count: 128)
    let failure = ptsname_r(raw, &name, name.count)
    if failure != 0 { throw Errno(failure) }
    let terminal = Descriptor(owning: try retrying { clinux_openat(AT_FDCWD, name, flags, 0) })
    var settings = termios()
    if tcgetattr(model, &settings) == 0 { tcsetattr(terminal.rawValue, TCSANOW, &settings) }
    self.path = name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    self.controller = controller
    ours = consume terminal
    takeSize(of: model)
  }

  /// The terminal's descriptor; negative once we have closed ours.
  public var terminal: CInt {
    switch ours {
    case .some(let file): file.rawValue
    case nil: -1
    }
  }

  /// Makes it as large as another.
  public borrowing func takeSize(of model: CInt) {
    var size = winsize()
    guard clinux_ioctl(model, UInt(TIOCGWINSZ), &size) == 0 else { return }
    _ = clinux_ioctl(controller.rawValue, UInt(TIOCSWINSZ), &size)
  }

  /// Gives it to the user who will use it.
  public borrowing func give(to uid: UInt32, gid: UInt32) throws(Errno) {
    let raw = terminal
    try retrying { fchown(raw, uid, gid) }
  }

  /// Closes our end of it: `controller` ends with the last program that has it open.
  public mutating func closeTerminal() { ours = nil }

  /// Writes keys; the number that were taken, 0 if it is full.
  public borrowing func write(_ keys: some Collection<UInt8>) -> Int {
    let bytes = Array(keys)
    return max(0, Glibc.write(controller.rawValue, bytes, bytes.count))
  }

  /// What there is to show; nil once no program has the terminal open, empty if there is nothing.
  public borrowing func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    let count = Glibc.read(controller.rawValue, &bytes, bytes.count)
    if count < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
    return count == 0 ? nil : Array(bytes.prefix(count))
  }
}

/// A terminal that passes every key on as it is, until the owner goes away.
public struct RawTerminal: ~Copyable {
  private let descriptor: CInt
  private let before: termios

  /// Takes the terminal; nil if it is none.
  public init?(_ descriptor: CInt) {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { return nil }
    before = settings
    self.descriptor = descriptor
    cfmakeraw(&settings)
    tcsetattr(descriptor, TCSADRAIN, &settings)
  }

  deinit {
    var settings = before
    tcsetattr(descriptor, TCSADRAIN, &settings)
  }
}

/// Tells when the terminal's window has changed its size.
public struct ResizeSignal: ~Copyable {
  private let descriptor: Descriptor
  private let before: sigset_t

  /// Takes the signal from the calling thread.
  public init() throws(Errno) {
    var (set, before) = (sigset_t(), sigset_t())
    sigemptyset(&set)
    sigaddset(&set, SIGWINCH)
    let raw = try retrying { signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK)) }
    pthread_sigmask(SIG_BLOCK, &set, &before)
    descriptor = Descriptor(owning: raw)
    self.before = before
  }

  deinit {
    var mask = before
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Readable when it has come.
  public var rawValue: CInt { descriptor.rawValue }

  /// Forgets those that have come.
  public borrowing func clear() {
    var report = signalfd_siginfo()
    while read(descriptor.rawValue, &report, MemoryLayout<signalfd_siginfo>.size) > 0 {}
  }
}
