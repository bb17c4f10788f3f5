// The file that the audit log is in, and the older one behind it.
import Containers
import LinuxKit

/// Appends to `log` in the container's directory; a full one becomes `log.1`.
final class AuditLogFile: Sendable {
  private static let byteLimit: Int64 = 1 << 20

  private let container: Descriptor

  /// The log of the container in a directory.
  init(_ container: borrowing Descriptor) throws(Errno) {
    self.container = try container.duplicate()
  }

  /// Appends whole lines.
  func append(_ lines: [UInt8]) throws(Errno) {
    let file = try open()
    guard try InodeStatus.of(file.rawValue).size + Int64(lines.count) > AuditLogFile.byteLimit
    else {
      return try file.writeAll(lines)
    }
    try Names.rename(
      ContainerLayout.log, in: container.rawValue, to: ContainerLayout.olderLog,
      in: container.rawValue, flags: 0)
    try open().writeAll(lines)
  }

  private func open() throws(Errno) -> Descriptor {
    try container.openForOwner(ContainerLayout.log, Flags.logFile, mode: 0o600)
  }
}
