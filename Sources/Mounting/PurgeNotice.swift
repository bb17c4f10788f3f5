// Telling a container's daemon what was purged, for its log and for who asks how the view is.
internal import Containers
public import LinuxKit

/// What a purge has removed of a mounted container.
public struct PurgeNotice: Equatable, Sendable {
  /// How many files.
  public let fileCount: Int
  /// How many bytes the disk got back.
  public let byteCount: Int64

  /// A notice of so much.
  public init(fileCount: Int, byteCount: Int64) {
    self.fileCount = fileCount
    self.byteCount = byteCount
  }

  /// Tells the daemon that serves the container in `directory`; one that is about to end need not
  /// know.
  public func tell(_ directory: borrowing Descriptor) {
    var request = FlatObjectWriter()
    request.add("command", "purged".utf8)
    request.add("files", fileCount)
    request.add("bytes", Int(byteCount))
    let connection = try? UnixConnection(
      to: ContainerLayout.control, in: directory, milliseconds: 5000)
    _ = try? connection?.exchange(line: request.line)
  }
}
