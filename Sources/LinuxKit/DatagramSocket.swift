// Sending datagrams to Unix sockets, without ever waiting for who should read them.
internal import CLinux
internal import Glibc

/// A socket that sends to others and receives nothing.
public struct DatagramSocket: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// A socket without a name.
  public init() throws(Errno) {
    descriptor = Descriptor(owning: try retrying { clinux_datagram_socket() })
  }

  /// Sends one datagram to whoever has bound the socket at a path.
  ///
  /// Throws EAGAIN if they have not read enough of what was sent before, and what `nobodyThere`
  /// says if there is no such socket or nobody has it.
  public borrowing func send(_ bytes: [UInt8], to path: StaticString) throws(Errno) {
    let raw = descriptor.rawValue
    _ = try retrying { clinux_send_datagram(raw, path.description, bytes, UInt(bytes.count)) }
  }

  /// What sending says where nobody listens.
  public static let nobodyThere: Set<Errno> = [.noEntry, .notDirectory, .connectionRefused]
}
