// A listening Unix socket that only its owner and root may talk to.
internal import CLinux
internal import Glibc

/// A Unix stream socket that listens in a directory of ours.
public struct UnixListener: ~Copyable, Sendable {
  /// Can be read when someone wants to connect.
  public let descriptor: Descriptor
  private let owner: UInt32

  /// Listens at `name` in `directory`, in place of what an earlier daemon left there.
  public init(_ name: String, in directory: borrowing Descriptor) throws(Errno) {
    let path = "/proc/self/fd/\(directory.rawValue)/\(name)"
    let raw = try retrying { clinux_listen(path) }
    descriptor = Descriptor(owning: raw)
    owner = geteuid()
  }

  /// The next connection of root's or of this process's user; nil if it was someone else's.
  public borrowing func accept(timeoutMilliseconds: CInt) throws(Errno) -> Descriptor? {
    var uid: uid_t = 0
    let raw = descriptor.rawValue
    let connection = Descriptor(
      owning: try retrying { clinux_accept(raw, timeoutMilliseconds, &uid) })
    guard uid == 0 || uid == owner else { return nil }
    return connection
  }
}

/// How a client may keep its listener waiting: until a point in time, whatever it sends meanwhile.
///
/// A limit for each read alone is none: one byte at a time would keep it.
public struct ClientPatience: Sendable {
  private let deadline: Int64

  /// Ends after some milliseconds from now.
  public init(milliseconds: Int64) { deadline = monotonicMilliseconds() + milliseconds }

  /// Waits until `connection` can be read.
  ///
  /// Throws ETIMEDOUT when the time is over.
  fileprivate func wait(for connection: borrowing Descriptor) throws(Errno) {
    var file = pollfd(fd: connection.rawValue, events: Int16(POLLIN), revents: 0)
    let rest = Int32(clamping: deadline - monotonicMilliseconds())
    guard rest > 0, try retrying({ poll(&file, 1, rest) }) > 0 else { throw Errno(ETIMEDOUT) }
  }
}

extension Descriptor {
  /// Reads one line without its end, of at most `limit` bytes; nil if there is none.
  ///
  /// Throws ETIMEDOUT if it has not come in time.
  public borrowing func readLine(
    limit: Int, _ patience: ClientPatience
  ) throws(Errno) -> [UInt8]? {
    var line: [UInt8] = []
    let raw = rawValue
    while line.count < limit {
      try patience.wait(for: self)
      var byte: UInt8 = 0
      let count = try retrying { read(raw, &byte, 1) }
      if count == 0 { return nil }
      if byte == 10 { return line }
      line.append(byte)
    }
    return nil
  }

  /// Exactly `count` bytes.
  ///
  /// Throws ENODATA if there are fewer, and ETIMEDOUT if they have not come in time.
  public borrowing func readBytes(
    exactly count: Int, _ patience: ClientPatience
  ) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      try patience.wait(for: self)
      let more = try readSome(atMost: min(1 << 16, count - bytes.count))
      if more.isEmpty { throw .noData }
      bytes += more
    }
    return bytes
  }
}
