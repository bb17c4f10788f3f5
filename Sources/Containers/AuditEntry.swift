// A line of the audit log: what the daemon writes, and what readers get to know of it.

/// What one line of the audit log says.
public enum AuditEntry: Equatable, Sendable {
  /// A request that was refused, or one that was to be noted although it was allowed.
  case request(AuditedRequest)
  /// So many more requests of a kind, whose processes and paths are not in the log.
  case more(time: String, kind: AuditedKind, count: Int)
  /// More happened than could be noted: so many requests are not in the log.
  case lost(time: String, count: Int)
  /// Something happened to the view itself.
  case event(time: String, text: [UInt8])

  /// Reads a line, without its end; nil if it is none of the log's.
  public init?(line: [UInt8]) {
    guard let fields = flatObject(line) else { return nil }
    let reader = FieldReader(fields: fields)
    guard let time = reader.text("time") else { return nil }
    if let count = reader.number("lost") {
      self = .lost(time: time, count: count)
    } else if let text = reader.bytes("event") {
      self = .event(time: time, text: text)
    } else if let count = reader.number("more") {
      guard let kind = AuditedKind(reader) else { return nil }
      self = .more(time: time, kind: kind, count: count)
    } else {
      guard let request = AuditedRequest(time: time, reader) else { return nil }
      self = .request(request)
    }
  }

  /// The line, without its end.
  public var line: [UInt8] {
    var object = FlatObjectWriter()
    object.add("time", time.utf8)
    switch self {
    case .request(let request): request.add(to: &object)
    case .more(_, let kind, let count):
      object.add("uid", kind.uid)
      object.add("operation", kind.operation.utf8)
      object.add("result", kind.result.utf8)
      object.add("rule", kind.rule)
      object.add("more", count)
    case .lost(_, let count): object.add("lost", count)
    case .event(_, let text): object.add("event", text)
    }
    return object.line
  }

  /// When it was, as the log says it: such texts are in the order of what they say.
  public var time: String {
    switch self {
    case .request(let request): request.time
    case .more(let time, _, _), .lost(let time, _), .event(let time, _): time
    }
  }
}

/// What requests have in common that differ only in who asked and where.
public struct AuditedKind: Hashable, Sendable {
  /// The uid that made them.
  public let uid: Int
  /// What was asked for, as a verb.
  public let operation: String
  /// The errno's name, or `OK`.
  public let result: String
  /// The rule that decided, as `FILE:LINE`.
  public let rule: [UInt8]

  /// A kind by its parts.
  public init(uid: Int, operation: String, result: String, rule: [UInt8]) {
    self.uid = uid
    self.operation = operation
    self.result = result
    self.rule = rule
  }

  fileprivate init?(_ reader: FieldReader) {
    guard let operation = reader.text("operation"), let result = reader.text("result") else {
      return nil
    }
    self.init(
      uid: reader.number("uid") ?? 0, operation: operation, result: result,
      rule: reader.bytes("rule") ?? [])
  }
}

/// A request in the audit log.
public struct AuditedRequest: Equatable, Sendable {
  /// When it was made, in UTC to the millisecond; where there are several, the first.
  public let time: String
  /// The process that made it.
  public let process: Int
  /// What the process was called.
  public let command: [UInt8]
  /// Whose it was, what was asked for, the answer and its rule.
  public let kind: AuditedKind
  /// The path in the view.
  public let path: [UInt8]
  /// The second path, of a rename and the like; nil for what has only one.
  public let secondPath: [UInt8]?
  /// How often it came within one batch.
  public let count: Int

  /// The uid that made it.
  public var uid: Int { kind.uid }
  /// What was asked for, as a verb.
  public var operation: String { kind.operation }
  /// The errno's name, or `OK`.
  public var result: String { kind.result }
  /// The rule that decided, as `FILE:LINE`.
  public var rule: [UInt8] { kind.rule }
  /// Whether it was refused.
  public var isRefused: Bool { result != "OK" }

  /// A request with all that is known of it.
  public init(
    time: String, process: Int, command: [UInt8], kind: AuditedKind, path: [UInt8],
    secondPath: [UInt8]? = nil, count: Int = 1
  ) {
    self.time = time
    self.process = process
    self.command = command
    self.kind = kind
    self.path = path
    self.secondPath = secondPath
    self.count = count
  }

  fileprivate init?(time: String, _ reader: FieldReader) {
    guard let kind = AuditedKind(reader), let path = reader.bytes("path") else { return nil }
    self.init(
      time: time, process: reader.number("pid") ?? 0, command: reader.bytes("command") ?? [],
      kind: kind, path: path, secondPath: reader.bytes("path2"),
      count: reader.number("count") ?? 1)
  }

  fileprivate func add(to object: inout FlatObjectWriter) {
    object.add("pid", process)
    object.add("uid", uid)
    object.add("command", command)
    object.add("operation", operation.utf8)
    object.add("path", path)
    if let secondPath { object.add("path2", secondPath) }
    object.add("result", result.utf8)
    object.add("rule", rule)
    if count > 1 { object.add("count", count) }
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
