// How much room a file system has.
internal import Glibc

/// The room of a file system, as its owner's programs may use it.
public struct FileSystemSpace: Equatable, Sendable {
  /// All of it, in bytes.
  public let byteCount: UInt64
  /// What is free for everybody, not only for root.
  public let freeByteCount: UInt64
  /// How many files can still be made; `.max` where that is not counted.
  public let freeEntryCount: UInt64
  /// Whether reading a file leaves no trace in it (`noatime`).
  public let forgetsAccess: Bool
}

extension Descriptor {
  /// The room of the file system that holds it.
  public borrowing func space() throws(Errno) -> FileSystemSpace {
    let status = try Attributes.fileSystemStatus(rawValue)
    let unit = UInt64(status.f_frsize)
    return FileSystemSpace(
      byteCount: UInt64(status.f_blocks).multipliedReportingOverflow(by: unit).partialValue,
      freeByteCount: UInt64(status.f_bavail).multipliedReportingOverflow(by: unit).partialValue,
      freeEntryCount: status.f_files == 0 ? .max : UInt64(status.f_favail),
      forgetsAccess: status.f_flag & UInt(ST_NOATIME) != 0)
  }
}
