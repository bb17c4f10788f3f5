// Standard output and standard error, for programs that people and scripts read.
internal import CLinux
internal import Glibc

/// One of the two streams that a program writes to.
public enum StandardStream: CInt, Sendable {
  /// Standard output.
  case output = 1
  /// Standard error.
  case error = 2

  /// Writes all of it; throws what write(2) says, such as ENOSPC on a full disk.
  public func write(_ bytes: [UInt8]) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = try retrying {
        rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(written)
    }
  }

  /// Whether a person reads it.
  public var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Whether a terminal reads it that shows colours, and nobody said NO_COLOR.
  public var showsColour: Bool {
    guard isTerminal, getenv("NO_COLOR") == nil, let kind = getenv("TERM") else { return false }
    return strcmp(kind, "dumb") != 0
  }

  /// Opens /dev/null in the place of each of the descriptors 0 to 2 that the caller has closed.
  ///
  /// To be done before anything else is opened: it would get such a number, and be taken for a
  /// stream by every program that is started.
  public static func fillGaps() throws(Errno) {
    while true {
      let descriptor = try retrying { open("/dev/null", O_RDWR) }
      if descriptor > STDERR_FILENO {
        close(descriptor)
        return
      }
    }
  }

  /// Lets everything that goes to standard output go to standard error from now on, also from
  /// programs that are started; where it went before.
  public static func divertOutput() throws(Errno) -> Descriptor {
    let former = Descriptor(
      owning: try retrying { clinux_fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) })
    _ = try retrying { dup2(STDERR_FILENO, STDOUT_FILENO) }
    return former
  }

  /// Reads standard input to its end.
  ///
  /// Throws EFBIG if there is more than `limit`.
  public static func readInput(atMost limit: Int) throws(Errno) -> [UInt8] {
    let input = Descriptor(owning: try retrying { clinux_fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
    return try input.readToEnd(atMost: limit)
  }

  /// Whether the caller has given us a descriptor of this number.
  public static func isOpen(_ number: CInt) -> Bool { clinux_fcntl(number, F_GETFD, 0) >= 0 }

  /// Whether a person answers on standard input.
  public static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
}

/// A file that a person has named for what a program is to write, as a shell opens `> FILE`.
public struct OutputFile: ~Copyable {
  private let descriptor: Descriptor
  private let isNamed: Bool

  /// Opens the file, new or not; what is in it stays until `replace`.
  public init(_ path: [UInt8]) throws(Errno) {
    descriptor = Descriptor(
      owning: try path.withCPath { path throws(Errno) in
        try Descriptor.open(path, O_WRONLY | O_CREAT, mode: 0o666).release()
      })
    isNamed = true
  }

  /// A stream that is open already, and may have something in it.
  public init(_ stream: consuming Descriptor) {
    descriptor = stream
    isNamed = false
  }

  /// Writes these bytes: in place of what is there, or behind what has gone to the stream.
  public func replace(with bytes: [UInt8]) throws(Errno) {
    // What is named may be a pipe or a terminal all the same, which has no length.
    if isNamed { _ = ftruncate(descriptor.rawValue, 0) }
    try descriptor.writeAll(bytes)
  }
}
