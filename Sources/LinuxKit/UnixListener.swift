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

  /// Goes on listening by what another program has opened, and this process takes.
  public init(owning descriptor: CInt) {
    self.descriptor = Descriptor(owning: descriptor)
    owner = geteuid()
  }

  /// The next connection of root's or of this process's user; nil if it was someone else's.
  ///
  /// Its reads and writes never wait. Throws EAGAIN if whoever wanted to connect is gone.
  public borrowing func accept() throws(Errno) -> Descriptor? {
    var uid: uid_t = 0
    let raw = descriptor.rawValue
    let connection = Descriptor(owning: try retrying { clinux_accept(raw, &uid) })
    guard uid == 0 || uid == owner else { return nil }
    return connection
  }
}

/// How a client may keep its listener waiting: until a point in time, whatever it sends meanwhile.
///
/// A limit for each read alone is none: one byte at a time would keep it.
public struct ClientPatience: Sendable {
  private let deadline: Int64

  /// Without an end: for a client that has a thread of its own.
  public static var unlimited: Self { Self(milliseconds: Int64.max / 2) }

  /// Ends after some milliseconds from now.
  public init(milliseconds: Int64) { deadline = monotonicMilliseconds() + milliseconds }

  /// Waits until `connection` can be read, or written to.
  ///
  /// Throws ETIMEDOUT when the time is over.
  fileprivate func wait(
    for connection: borrowing Descriptor, _ events: CInt = CInt(POLLIN)
  ) throws(Errno) {
    var file = pollfd(fd: connection.rawValue, events: Int16(events), revents: 0)
    while true {
      let rest = Int32(clamping: deadline - monotonicMilliseconds())
      guard rest > 0 else { throw Errno(ETIMEDOUT) }
      if try retrying({ poll(&file, 1, rest) }) > 0 { return }
    }
  }
}

extension Descriptor {
  /// Sends all of it over a connection that a listener has accepted.
  ///
  /// Throws ETIMEDOUT if it was not taken in time, and EPIPE if nobody is there to take it.
  public borrowing func sendAll(
    _ bytes: [UInt8], _ patience: ClientPatience
  ) throws(Errno) {
    var sent = 0
    let raw = rawValue
    while sent < bytes.count {
      try patience.wait(for: self, CInt(POLLOUT))
      do throws(Errno) {
        sent += try retrying {
          bytes[sent...].withUnsafeBytes {
            send(raw, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
          }
        }
      } catch {
        if error != .wouldBlock { throw error }
      }
    }
  }

  /// Reads one line without its end, of at most `limit` bytes; nil if it ends without one.
  ///
  /// Throws ETIMEDOUT if it has not come in time, and EMSGSIZE if it is longer.
  public borrowing func readLine(
    limit: Int, _ patience: ClientPatience
  ) throws(Errno) -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      try patience.wait(for: self)
      let piece = try readUpToLineFeed()
      if piece.isEmpty { return nil }
      line += piece
      let isWhole = line.last == UInt8(ascii: "\n")
      if isWhole { line.removeLast() }
      if line.count > limit { throw Errno(EMSGSIZE) }
      if isWhole { return line }
    }
  }

  /// Something of what has come, up to the first line feed at most; what is behind that stays to be
  /// read.
  private borrowing func readUpToLineFeed() throws(Errno) -> [UInt8] {
    let raw = rawValue
    var chunk = [UInt8](repeating: 0, count: 1024)
    let count: Int
    do throws(Errno) {
      count = try retrying { recv(raw, &chunk, chunk.count, CInt(MSG_PEEK)) }
    } catch {
      // A pipe can't be looked into.
      if error == Errno(ENOTSOCK) { return try readSome(atMost: 1) }
      throw error
    }
    let wanted = chunk[..<count].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? count
    // Nobody else reads, so what was seen is still there.
    let taken = try retrying { recv(raw, &chunk, wanted, 0) }
    return Array(chunk[..<taken])
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
