// Giving a mounted view another policy: the client's side of the daemon's command.
public import Containers
public import LinuxKit

/// What a daemon said about a change of its policy.
public struct PolicyChangeReport: Equatable, Sendable {
  /// An open file that keeps what the new policy would refuse.
  public struct KeptAccess: Equatable, Sendable {
    /// The path in the view.
    public let path: [UInt8]
    /// Who opened it.
    public let process: Int32
    /// What it would be refused, as a verb.
    public let operation: String
  }

  /// Open files that keep their access.
  public var kept: [KeptAccess] = []
  /// What waits for the next mount, a sentence each.
  public var notes: [String] = []

  /// Sends the layers of `configuration` to the daemon that serves the container in `directory`.
  ///
  /// nil if none does. Throws if the daemon refuses: then nothing has changed; and if it ends
  /// before it has answered.
  public static func set(
    _ configuration: ViewConfiguration, of directory: borrowing Descriptor
  ) throws(MountError) -> PolicyChangeReport? {
    let payload = configuration.encoded()
    var request = FlatObjectWriter()
    request.add("command", "policy".utf8)
    request.add("bytes", payload.count)
    let lines: [[UInt8]]
    do throws(Errno) {
      // The daemon waits for requests under way and for the kernel, 5 seconds each at most.
      guard let connection = try connection(to: directory, milliseconds: 30_000) else { return nil }
      lines = try connection.exchange(
        request.line + [UInt8(ascii: "\n")] + payload, untilMember: "status")
    } catch {
      if DaemonStatus.nobodyListens.contains(error) {
        throw MountError(.failed, "the container's daemon has ended before it answered")
      }
      throw MountError(.failed, "the container's daemon does not answer", error)
    }
    return try PolicyChangeReport(lines: lines)
  }

  private static func connection(
    to directory: borrowing Descriptor, milliseconds: Int32
  ) throws(Errno) -> UnixConnection? {
    do throws(Errno) {
      return try UnixConnection(
        to: ContainerLayout.control, in: directory, milliseconds: milliseconds)
    } catch {
      if DaemonStatus.nobodyListens.contains(error) { return nil }
      throw error
    }
  }

  private init(lines: [[UInt8]]) throws(MountError) {
    var errors: [String] = []
    for fields in lines.compactMap({ flatObject($0) }) {
      if let path = fields["open"] {
        kept.append(
          KeptAccess(
            path: writtenBytes(path) ?? path, process: Int32(text(fields["pid"])) ?? 0,
            operation: text(fields["operation"])))
      } else if fields["note"] != nil {
        notes.append(text(fields["note"]))
      } else if fields["error"] != nil {
        errors.append(text(fields["error"]))
      } else if fields["status"] == Array("error".utf8) {
        throw MountError(
          .failed, (errors + [text(fields["message"])]).joined(separator: "\n"))
      }
    }
  }
}

private func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }
