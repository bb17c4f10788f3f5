// What is done with each entry that a backup takes in.
internal import BackupFormat
internal import LinuxKit
internal import Paths

/// Hands entries to a writer; a failure that is no errno is kept for who asks.
struct BackupSink: SelectionSink {
  private let writer: BackupWriter
  private let domain: String
  private(set) var failure: BackupError?
  /// What has no place in the format.
  private(set) var leftOut: [[UInt8]] = []
  /// What lies too deep.
  private(set) var tooDeep: [[UInt8]] = []

  init(_ writer: BackupWriter, domain: String) {
    self.writer = writer
    self.domain = domain
  }

  mutating func take(
    _ found: DirectoryEntry, at path: [UInt8], in directory: borrowing Walker
  ) throws(Errno) {
    do throws(Errno) {
      switch found.kind {
      case .regular:
        let file = try directory.openRegularFile(found.name)
        let status = try file.status()
        let entry = BackupEntry(domain: domain, path: path, kind: .file, status)
        try keeping(&failure) { [writer] () throws(BackupError) in
          try writer.take(file: file, status, as: entry)
        }
      case .symbolicLink:
        let status = try directory.status(of: found.name)
        var entry = BackupEntry(domain: domain, path: path, kind: .symbolicLink, status)
        entry.target = try directory.readLink(found.name)
        try keeping(&failure) { [writer] () throws(BackupError) in try writer.take(entry) }
      case .directory:
        let below = try directory.enter(found.name)
        var entry = BackupEntry(
          domain: domain, path: path, kind: .directory, try below.status())
        entry.attributes = try userAttributes(of: below.descriptor)
        try keeping(&failure) { [writer] () throws(BackupError) in try writer.take(entry) }
      case .fifo, .socket, .characterDevice, .blockDevice: leftOut.append(path)
      }
    } catch {
      // It has gone, or has become another kind, since the directory was read.
      if error == .noEntry || error == .notDirectory || error == .tooManyLinks { return }
      throw error
    }
  }

  mutating func leaveOut(_ path: [UInt8], _ kind: FileKind, _ why: Omission) throws(Errno) {
    if why == .kind { leftOut.append(path) }
    if why == .depth { tooDeep.append(path) }
  }
}

/// Runs `body`; an error in words is kept, and an errno in its place ends the walk.
private func keeping(
  _ failure: inout BackupError?, _ body: () throws(BackupError) -> Void
) throws(Errno) {
  do throws(BackupError) {
    try body()
  } catch {
    failure = error
    throw .inputOutput
  }
}
