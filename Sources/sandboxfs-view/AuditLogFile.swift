// The files that the audit log is in: the newest lines, the older ones behind them, and the first
// of each kind.
import Containers
import LinuxKit
import View

/// Appends to `log` in the container's directory; a full one becomes `log.1`.
final class AuditLogFile: Sendable {
  private static let byteLimit: Int64 = 1 << 20
  private static let firstByteLimit = 8 << 20
  private static let typeMask: UInt32 = 0o170000
  private static let regularType: UInt32 = 0o100000

  private let container: Descriptor

  /// The log of the container in a directory.
  init(_ container: borrowing Descriptor) throws(Errno) {
    self.container = try container.duplicate()
  }

  /// Appends whole lines, all of them or none.
  ///
  /// `begin` hears before where they come.
  func append(
    _ lines: [UInt8], begin: (AuditRing.Append) -> Void = { _ in }
  ) throws(Errno) {
    let file = try open(ContainerLayout.log)
    let status = try InodeStatus.of(file.rawValue)
    guard status.size + Int64(lines.count) > AuditLogFile.byteLimit else {
      begin(AuditRing.Append(inode: status.inode, size: status.size, byteCount: lines.count))
      return try write(lines, to: file, behind: status.size)
    }
    try Names.rename(
      ContainerLayout.log, in: container.rawValue, to: ContainerLayout.olderLog,
      in: container.rawValue, flags: 0)
    let next = try open(ContainerLayout.log)
    let inode = try InodeStatus.of(next.rawValue).inode
    begin(AuditRing.Append(inode: inode, size: 0, byteCount: lines.count))
    try write(lines, to: next, behind: 0)
  }

  /// Whether lines are there that a process was appending when it died.
  ///
  /// A part of them is taken away.
  func hasAppended(_ append: AuditRing.Append) throws(Errno) -> Bool {
    guard append.step == .begun else { return append.step == .done }
    let file = try open(ContainerLayout.log)
    let status = try InodeStatus.of(file.rawValue)
    guard status.inode == append.inode, status.size > append.size else {
      return append.byteCount == 0
    }
    if status.size >= append.size + append.byteCount { return true }
    try Attributes.setSizeOfOpen(file.rawValue, append.size)
    return false
  }

  /// Appends to the first lines of kinds, which are few.
  func appendFirst(_ lines: [UInt8]) throws(Errno) {
    let file = try open(ContainerLayout.firstLog)
    try write(lines, to: file, behind: InodeStatus.of(file.rawValue).size)
  }

  /// The kinds whose first lines are kept already.
  ///
  /// A line that was cut off when a process died is taken away.
  func kindsWithFirst() throws(Errno) -> [AuditedKind] {
    let file: Descriptor
    do throws(Errno) {
      file = try container.open(ContainerLayout.firstLog, Flags.changedFile)
    } catch {
      if error == .noEntry { return [] }
      throw error
    }
    try check(file)
    let text = try file.readToEnd(atMost: AuditLogFile.firstByteLimit)
    let newline = UInt8(ascii: "\n")
    let whole = text.lastIndex(of: newline).map { text[...$0] } ?? []
    if whole.count < text.count {
      try Attributes.setSizeOfOpen(file.rawValue, Int64(whole.count))
    }
    return whole.split(separator: newline).compactMap { line in
      guard case .request(let request) = AuditEntry(line: Array(line)) else { return nil }
      return request.kind
    }
  }

  private func write(
    _ lines: [UInt8], to file: borrowing Descriptor, behind size: Int64
  ) throws(Errno) {
    do throws(Errno) {
      try file.writeAll(lines)
    } catch {
      // Half a line would make the next one unreadable too.
      try? Attributes.setSizeOfOpen(file.rawValue, size)
      throw error
    }
  }

  private func open(_ name: String) throws(Errno) -> Descriptor {
    let file = try container.openForOwner(name, Flags.logFile, mode: 0o600)
    try check(file)
    return file
  }

  /// Throws EINVAL for what is no log of ours: we would write into what is another's.
  private func check(_ file: borrowing Descriptor) throws(Errno) {
    let status = try InodeStatus.of(file.rawValue)
    if try defect(of: status) != nil { throw .invalid }
  }

  /// What is wrong with the files that are there, as one line; nil if nothing is.
  func defect() throws(Errno) -> String? {
    for name in [ContainerLayout.log, ContainerLayout.olderLog, ContainerLayout.firstLog] {
      let status: InodeStatus
      do throws(Errno) {
        status = try InodeStatus.of(name, in: container.rawValue)
      } catch {
        if error == .noEntry { continue }
        throw error
      }
      guard let defect = try defect(of: status) else { continue }
      return "the audit log '\(name)' in the container's directory \(defect): move it away"
    }
    return nil
  }

  private func defect(of status: InodeStatus) throws(Errno) -> String? {
    switch status.mode & AuditLogFile.typeMask {
    case AuditLogFile.regularType: break
    case 0o040000: return "is a directory"
    case 0o120000: return "is a symbolic link"
    default: return "is no regular file"
    }
    let owner = try InodeStatus.of(container.rawValue).shown.uid
    if status.shown.uid != owner {
      return "belongs to uid \(status.shown.uid) and not to uid \(owner), as the container does"
    }
    return status.linkCount > 1 ? "has another name elsewhere" : nil
  }
}
