// The system's own log: journald where it runs, else whoever has /dev/log, else nobody.
//
// Nothing waits for it: a datagram that is not taken at once is counted and gone.
import Containers
import LinuxKit
import Synchronization

/// Sends messages to the system's log.
final class SystemLog: Sendable {
  private static let journal: StaticString = "/run/systemd/journal/socket"
  private static let syslog: StaticString = "/dev/log"

  private let socket: DatagramSocket
  private let dropped = Atomic<Int>(0)

  /// A sender to whom these sockets belong at the time of each message.
  init() throws(Errno) { socket = try DatagramSocket() }

  /// How many messages were not taken by who should have read them.
  var droppedCount: Int { dropped.load(ordering: .relaxed) }

  func send(_ message: SystemLogMessage) {
    if deliver(message.journalDatagram, to: SystemLog.journal) { return }
    let datagram = message.syslogDatagram(
      time: WallTime.now.syslogFormatted, daemon: Int(DaemonProcess.number))
    _ = deliver(datagram, to: SystemLog.syslog)
  }

  /// Sends what has become of a view.
  func send(_ event: SystemLogEvent) {
    if deliver(event.journalDatagram, to: SystemLog.journal) { return }
    let datagram = event.syslogDatagram(
      time: WallTime.now.syslogFormatted, daemon: Int(DaemonProcess.number))
    _ = deliver(datagram, to: SystemLog.syslog)
  }

  /// False if nobody is there.
  private func deliver(_ bytes: [UInt8], to path: StaticString) -> Bool {
    do throws(Errno) {
      try socket.send(bytes, to: path)
    } catch {
      if DatagramSocket.nobodyThere.contains(error) { return false }
      dropped.add(1, ordering: .relaxed)
    }
    return true
  }
}
