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

  /// Reads standard input to its end.
  ///
  /// Throws EFBIG if there is more than `limit`.
  public static func readInput(atMost limit: Int) throws(Errno) -> [UInt8] {
    let input = Descriptor(owning: try retrying { clinux_fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
    return try input.readToEnd(atMost: limit)
  }

  /// Whether a person answers on standard input.
  public static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
}
