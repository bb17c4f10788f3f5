// What a mounted view's books say: the client's side of the daemon's command.
public import Containers
public import LinuxKit

/// What one book of a mounted view says.
public struct ViewBook: Equatable, Sendable {
  /// The rule that it is kept for; nil for the container's.
  public let rule: String?
  /// What is used.
  public let byteCount: Int64
  /// How many entries are.
  public let entryCount: Int64
  /// The most bytes; nil where there is no limit.
  public let byteLimit: UInt64?
  /// The most entries.
  public let entryLimit: UInt64?
  /// Beyond so many bytes a line is written into the log.
  public let softLimit: UInt64?
  /// What a count says of bytes; nil if nothing was counted.
  public let countedByteCount: Int64?
  /// What a count says of entries.
  public let countedEntryCount: Int64?

  /// Whether a count says the same.
  public var isRight: Bool {
    countedByteCount == nil
      || countedByteCount == byteCount && countedEntryCount == entryCount
  }
}

/// The books of a mounted view.
public struct ViewBooks: Equatable, Sendable {
  /// What to ask for.
  public enum Question: Sendable {
    /// What they say.
    case figures
    /// What a count says, too.
    case count
    /// That they say what a count says.
    case repair
    /// That these be the container's own limits.
    case set(ContainerLimits)
  }

  /// The books that are kept.
  public var books: [ViewBook] = []
  /// What waits for the next mount, a sentence each.
  public var notes: [String] = []

  /// Asks the daemon that serves the container in `directory`; nil if none does.
  ///
  /// Throws if the daemon refuses: then nothing has changed.
  public static func ask(
    _ question: Question, of directory: borrowing Descriptor
  ) throws(MountError) -> ViewBooks? {
    let lines: [[UInt8]]
    do throws(Errno) {
      // Counting takes its time.
      guard let connection = try connection(to: directory) else { return nil }
      lines = try connection.exchange(question.line, untilMember: "status")
    } catch {
      if DaemonStatus.nobodyListens.contains(error) {
        throw MountError(.failed, "the container's daemon has ended before it answered")
      }
      throw MountError(.failed, "the container's daemon does not answer", error)
    }
    return try ViewBooks(lines: lines)
  }

  private static func connection(
    to directory: borrowing Descriptor
  ) throws(Errno) -> UnixConnection? {
    do throws(Errno) {
      return try UnixConnection(
        to: ContainerLayout.control, in: directory, milliseconds: 600_000)
    } catch {
      if DaemonStatus.nobodyListens.contains(error) { return nil }
      throw error
    }
  }

  private init(lines: [[UInt8]]) throws(MountError) {
    for fields in lines.compactMap({ flatObject($0) }) {
      if let book = ViewBook(fields) {
        books.append(book)
      } else if let note = fields["note"] {
        notes.append(String(decoding: note, as: UTF8.self))
      } else if fields["status"] == Array("error".utf8) {
        throw MountError(.failed, String(decoding: fields["message"] ?? [], as: UTF8.self))
      }
    }
  }
}

extension ViewBook {
  fileprivate init?(_ fields: [String: [UInt8]]) {
    func number<Number: FixedWidthInteger>(_ name: String, _: Number.Type) -> Number? {
      fields[name].flatMap { Number(String(decoding: $0, as: UTF8.self)) }
    }
    guard let name = fields["book"], let bytes = number("bytes", Int64.self),
      let entries = number("entries", Int64.self)
    else { return nil }
    rule = name == Array("container".utf8) ? nil : String(decoding: name, as: UTF8.self)
    byteCount = bytes
    entryCount = entries
    byteLimit = number("byteLimit", UInt64.self)
    entryLimit = number("entryLimit", UInt64.self)
    softLimit = number("softLimit", UInt64.self)
    countedByteCount = number("countedBytes", Int64.self)
    countedEntryCount = number("countedEntries", Int64.self)
  }
}

extension ViewBooks.Question {
  /// The command, as the daemon reads it.
  fileprivate var line: [UInt8] {
    var request = FlatObjectWriter()
    request.add("command", "quota".utf8)
    switch self {
    case .figures: break
    case .count: request.add("count", 1)
    case .repair: request.add("repair", 1)
    case .set(let limits):
      request.add("set", 1)
      if let count = limits.byteCount { request.add("bytes", "\(count)".utf8) }
      if let count = limits.entryCount { request.add("entries", "\(count)".utf8) }
      if let count = limits.softByteCount { request.add("soft", "\(count)".utf8) }
    }
    return request.line + [UInt8(ascii: "\n")]
  }
}
