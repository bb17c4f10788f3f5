// What the system's own log is told of a refusal: a datagram of fields for journald, or a line for
// syslog. What an app may choose (its paths, its name) cannot end a field or a line in either.

import Paths

/// A message about one request, and about how many like it.
public struct SystemLogMessage: Sendable {
  /// The app's identifier.
  public var identifier: [UInt8]
  /// The request.
  public var request: AuditedRequest
  /// How many of its kind the message stands for, itself included.
  public var count: Int

  /// A message.
  public init(identifier: [UInt8], request: AuditedRequest, count: Int) {
    self.identifier = identifier
    self.request = request
    self.count = count
  }

  /// LOG_AUTHPRIV: for those who may read of what others did.
  private static let facility = 10
  /// LOG_WARNING for a refusal, LOG_INFO for what was to be noted although it was allowed.
  private var priority: Int { request.isRefused ? 4 : 6 }

  /// One line of visible text.
  public var text: String {
    let paths = [request.path] + (request.secondPath.map { [$0] } ?? [])
    let shown = paths.map { Presentation.quoted($0) }.joined(separator: " -> ")
    let what = "\(request.operation.printed) \(shown)"
    let who = "\(request.command.printable)[\(request.process)] of uid \(request.uid)"
    let verb = request.isRefused ? "refused" : "allowed"
    let errno = request.isRefused ? "\(request.result.printed) " : ""
    let more = count > 1 ? ", and \(count - 1) more like it" : ""
    return "\(identifier.printable): \(verb) \(what) for \(who): "
      + "\(errno)by \(request.rule.printable)\(more)"
  }

  /// The datagram for journald, in its native protocol.
  public var journalDatagram: [UInt8] {
    var datagram = JournalDatagram()
    datagram.add("MESSAGE", text: text)
    datagram.add("PRIORITY", text: "\(priority)")
    datagram.add("SYSLOG_FACILITY", text: "\(Self.facility)")
    datagram.add("SYSLOG_IDENTIFIER", text: "sandboxfs")
    datagram.add("SANDBOXFS_APP", bytes: identifier)
    datagram.add("SANDBOXFS_OPERATION", text: request.operation.printed)
    datagram.add("SANDBOXFS_PATH", bytes: request.path)
    if let second = request.secondPath { datagram.add("SANDBOXFS_PATH2", bytes: second) }
    datagram.add("SANDBOXFS_ERRNO", text: request.result.printed)
    datagram.add("SANDBOXFS_RULE", bytes: request.rule)
    datagram.add("SANDBOXFS_PID", text: "\(request.process)")
    datagram.add("SANDBOXFS_UID", text: "\(request.uid)")
    datagram.add("SANDBOXFS_COMMAND", bytes: request.command)
    datagram.add("SANDBOXFS_COUNT", text: "\(count)")
    return datagram.bytes
  }

  /// The datagram for syslog(3)'s socket, in the form of RFC 3164.
  ///
  /// `time` is the local time in that form, and `daemon` the number of who sends it.
  public func syslogDatagram(time: [UInt8], daemon: Int) -> [UInt8] {
    let priority = Self.facility * 8 + priority
    return Array("<\(priority)>".utf8) + time + Array(" sandboxfs[\(daemon)]: \(text)".utf8)
  }
}

/// A message about what has become of a view.
public struct SystemLogEvent: Sendable {
  /// LOG_DAEMON and LOG_ERR.
  private static let (facility, priority) = (3, 3)

  private let identifier: [UInt8]
  private let text: String

  /// `text` is one line of visible text.
  public init(identifier: [UInt8], text: String) {
    self.identifier = identifier
    self.text = "\(identifier.printable): \(text)"
  }

  /// The datagram for journald.
  public var journalDatagram: [UInt8] {
    var datagram = JournalDatagram()
    datagram.add("MESSAGE", text: text)
    datagram.add("PRIORITY", text: "\(Self.priority)")
    datagram.add("SYSLOG_FACILITY", text: "\(Self.facility)")
    datagram.add("SYSLOG_IDENTIFIER", text: "sandboxfs")
    datagram.add("SANDBOXFS_APP", bytes: identifier)
    return datagram.bytes
  }

  /// The datagram for syslog(3)'s socket.
  public func syslogDatagram(time: [UInt8], daemon: Int) -> [UInt8] {
    Array("<\(Self.facility * 8 + Self.priority)>".utf8) + time
      + Array(" sandboxfs[\(daemon)]: \(text)".utf8)
  }
}

/// The native protocol of journald: fields behind each other.
private struct JournalDatagram {
  private(set) var bytes: [UInt8] = []

  /// Adds text of ours, without a line feed in it.
  mutating func add(_ name: StaticString, text: String) {
    bytes += Array("\(name)=\(text)\n".utf8)
  }

  /// Adds bytes of anyone's behind their length, so that none of them can end the field.
  mutating func add(_ name: StaticString, bytes value: [UInt8]) {
    bytes += Array("\(name)\n".utf8)
    let count = UInt64(value.count)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: count >> shift))
    }
    bytes += value + [UInt8(ascii: "\n")]
  }
}

extension String {
  fileprivate var printed: String { utf8.printable }
}
