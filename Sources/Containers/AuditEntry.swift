// A line of the audit log, as its readers get to know it.

/// What one line of the audit log says.
public enum AuditEntry: Equatable, Sendable {
  /// A request that was refused, or one that was to be noted although it was allowed.
  case request(AuditedRequest)
  /// More happened than could be noted: so many requests are not in the log.
  case lost(time: String, count: Int)

  /// Reads a line, without its end; nil if it is none of the log's.
  public init?(line: [UInt8]) {
    guard let fields = flatObject(line) else { return nil }
    let reader = FieldReader(fields: fields)
    guard let time = reader.text("time") else { return nil }
    if let count = reader.number("lost") {
      self = .lost(time: time, count: count)
      return
    }
    guard let request = AuditedRequest(time: time, reader) else { return nil }
    self = .request(request)
  }

  /// When it was, as the log says it: such texts are in the order of what they say.
  public var time: String {
    switch self {
    case .request(let request): request.time
    case .lost(let time, _): time
    }
  }
}

/// A request in the audit log.
public struct AuditedRequest: Equatable, Sendable {
  /// When it was made, in UTC to the millisecond.
  public let time: String
  /// The process that made it.
  public let process: Int
  /// What the process was called.
  public let command: [UInt8]
  /// The uid that made it.
  public let uid: Int
  /// What was asked for, as a verb.
  public let operation: String
  /// The path in the view.
  public let path: [UInt8]
  /// The second path, of a rename and the like; nil for what has only one.
  public let secondPath: [UInt8]?
  /// The errno's name, or `OK`.
  public let result: String
  /// The rule that decided, as `FILE:LINE`.
  public let rule: [UInt8]
  /// How often it came, one after the other.
  public let count: Int

  fileprivate init?(time: String, _ reader: FieldReader) {
    guard let operation = reader.text("operation"), let path = reader.bytes("path"),
      let result = reader.text("result")
    else { return nil }
    self.time = time
    self.operation = operation
    self.path = path
    self.result = result
    process = reader.number("pid") ?? 0
    uid = reader.number("uid") ?? 0
    command = reader.bytes("command") ?? []
    secondPath = reader.bytes("path2")
    rule = reader.bytes("rule") ?? []
    count = reader.number("count") ?? 1
  }
}

private struct FieldReader {
  let fields: [String: [UInt8]]

  func bytes(_ name: String) -> [UInt8]? { fields[name].flatMap(writtenBytes) }

  func text(_ name: String) -> String? {
    fields[name].flatMap { String(validating: $0, as: UTF8.self) }
  }

  func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
}
