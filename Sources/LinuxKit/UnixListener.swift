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

extension Descriptor {
  /// Reads one line without its end, of at most `limit` bytes; nil if there is none.
  public borrowing func readLine(limit: Int) throws(Errno) -> [UInt8]? {
    var line: [UInt8] = []
    let raw = rawValue
    while line.count < limit {
      var byte: UInt8 = 0
      let count = try retrying { read(raw, &byte, 1) }
      if count == 0 { return nil }
      if byte == 10 { return line }
      line.append(byte)
    }
    return nil
  }
}
