// Learning rules: the client's side of the daemon's command.
internal import Containers
public import LinuxKit

/// The time in which a view's daemon lends what the rules refuse, and notes it.
///
/// It ends with this value at the latest: the daemon watches the connection.
public struct LearningSession: ~Copyable {
  /// A request whose answer was not that of the rules, or was a refusal.
  public struct Note: Hashable, Sendable {
    /// What was wanted, as a verb.
    public let operation: String
    /// The path in the view.
    public let path: [UInt8]
    /// The other path of an operation that has two; else empty.
    public let secondPath: [UInt8]
    /// Whether the first path is a directory's.
    public let isDirectory: Bool
    /// Whether it was refused all the same.
    public let isRefused: Bool
    /// The errno that the rules give, by its name.
    public let result: String
    /// The rule that refuses.
    public let rule: String
  }

  /// All that was noted.
  public struct Notes: Sendable {
    /// In no order.
    public var notes: [Note] = []
    /// How many requests could not be noted.
    public var missingCount = 0

    /// Nothing yet.
    public init() {}
  }

  private let connection: UnixConnection

  /// Begins, at the daemon that serves the container in `directory`.
  ///
  /// Throws if none does, or if somebody else learns.
  public init(of directory: borrowing Descriptor) throws(MountError) {
    connection = try Self.begin(at: directory)
  }

  private static func begin(
    at directory: borrowing Descriptor
  ) throws(MountError) -> UnixConnection {
    do throws(Errno) {
      let connection = try UnixConnection(
        to: ContainerLayout.control, in: directory, milliseconds: 30_000)
      let lines = try connection.exchange(
        Array("{\"command\":\"learn\"}\n".utf8), untilMember: "status")
      let answer = Result { () throws(MountError) in try notes(lines) }
      if case .success = answer { return connection }
    } catch {
      throw MountError(.failed, "the container's daemon does not answer", error)
    }
    throw MountError(.failed, "somebody else is learning rules of this app")
  }

  /// Ends it; the rules hold again when this returns.
  ///
  /// Throws if the rules were changed meanwhile, or the daemon has ended.
  public consuming func finish() throws(MountError) -> Notes {
    let lines: [[UInt8]]
    do throws(Errno) {
      lines = try connection.exchange(
        Array("{\"command\":\"finish\"}\n".utf8), untilMember: "status")
    } catch {
      throw MountError(.failed, "the container's daemon has ended before it answered", error)
    }
    return try Self.notes(lines)
  }

  private static func notes(_ lines: [[UInt8]]) throws(MountError) -> Notes {
    var notes = Notes()
    for fields in lines.compactMap({ flatObject($0) }) {
      if let path = fields["lent"] ?? fields["refused"] {
        notes.notes.append(
          Note(
            operation: text(fields["operation"]), path: writtenBytes(path) ?? path,
            secondPath: fields["path2"].map { writtenBytes($0) ?? $0 } ?? [],
            isDirectory: fields["kind"] == Array("directory".utf8),
            isRefused: fields["refused"] != nil, result: text(fields["result"]),
            rule: text(fields["rule"])))
      } else if fields["status"] == Array("error".utf8) {
        throw MountError(.failed, text(fields["message"]))
      } else {
        notes.missingCount = Int(text(fields["missing"])) ?? 0
      }
    }
    return notes
  }
}

private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }
