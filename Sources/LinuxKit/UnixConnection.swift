// A conversation over a Unix socket, a line each way.
internal import CLinux
internal import Glibc

/// A connection to who listens on a Unix stream socket.
public struct UnixConnection: ~Copyable {
  private let socket: Descriptor

  /// Connects to the socket of that name in an open directory.
  ///
  /// Each later read and write may take `milliseconds`. Throws ENOENT or ECONNREFUSED if nobody
  /// listens.
  public init(
    to name: String, in directory: borrowing Descriptor, milliseconds: Int32
  ) throws(Errno) {
    let path = "/proc/self/fd/\(directory.rawValue)/\(name)"
    socket = Descriptor(owning: try retrying { clinux_connect(path, milliseconds) })
  }

  /// Sends a line, and returns the line that answers it; neither has its line feed here.
  ///
  /// Throws EAGAIN if the time is over, EPIPE if the listener hangs up and EMSGSIZE if it says more
  /// than `limit` bytes.
  public borrowing func exchange(
    line: [UInt8], atMost limit: Int = 1 << 20
  ) throws(Errno) -> [UInt8] {
    try send(line: line)
    return try receiveLine(atMost: limit)
  }

  /// Sends a line, to which the line feed is added here.
  public borrowing func send(line: [UInt8]) throws(Errno) {
    try send(line + [UInt8(ascii: "\n")])
  }

  /// The line that comes next, if the listener says nothing behind it.
  ///
  /// Throws as `exchange(line:)` does.
  public borrowing func receiveLine(atMost limit: Int = 1 << 20) throws(Errno) -> [UInt8] {
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    let raw = socket.rawValue
    while answer.count <= limit {
      let count = try retrying { recv(raw, &chunk, chunk.count, 0) }
      if count == 0 { throw Errno(EPIPE) }
      answer += chunk.prefix(count)
      if let end = answer.firstIndex(of: UInt8(ascii: "\n")) { return Array(answer[..<end]) }
    }
    throw Errno(EMSGSIZE)
  }

  /// Sends bytes, and returns the lines of the answer up to the one that has `member`.
  ///
  /// The member's name is looked for as text in quotes. Throws as `exchange(line:)` does.
  public borrowing func exchange(
    _ bytes: [UInt8], untilMember member: String, atMost limit: Int = 1 << 24
  ) throws(Errno) -> [[UInt8]] {
    try send(bytes)
    let wanted = Array("\"\(member)\":".utf8)
    var answer: [UInt8] = []
    let raw = socket.rawValue
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while answer.count <= limit {
      let count = try retrying { recv(raw, &chunk, chunk.count, 0) }
      if count == 0 { throw Errno(EPIPE) }
      answer += chunk.prefix(count)
      guard answer.last == UInt8(ascii: "\n") else { continue }
      let lines = answer.split(separator: UInt8(ascii: "\n")).map { Array($0) }
      if let last = lines.last, last.firstRange(of: wanted) != nil { return lines }
    }
    throw Errno(EMSGSIZE)
  }

  private borrowing func send(_ bytes: [UInt8]) throws(Errno) {
    let raw = socket.rawValue
    var sent = 0
    while sent < bytes.count {
      sent += try retrying {
        bytes[sent...].withUnsafeBytes {
          Glibc.send(raw, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
      }
    }
  }
}
