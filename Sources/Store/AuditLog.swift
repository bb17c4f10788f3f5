// Reading a container's audit log while its daemon, if it has one, goes on writing it.
//
// A daemon appends whole lines to `log`, and renames it to `log.1` when it is full. A file that was
// renamed gets no further line, so who holds it open reads it to its end and then goes on. The
// first line of each kind is in `log.first` too, where it stays when it has gone from the others.
internal import Containers
internal import Glibc
internal import LinuxKit

/// The lines of an audit log, from its beginning and then as they come.
public final class AuditLog {
  private let container: Container
  /// The newest file so far; nil as long as there was none.
  private var current: OpenLog?

  /// The log of a container.
  public init(of container: Container) { self.container = container }

  /// Whether the container was removed: then nothing more will come.
  public var hasEnded: Bool {
    guard let status = try? InodeStatus.of(container.directory.descriptor.rawValue) else {
      return true
    }
    return status.linkCount == 0
  }

  /// The whole lines, without their ends, that came since the last call; at first all that there
  /// are, the oldest first.
  public func newLines() throws(StoreError) -> [[UInt8]] {
    do throws(Errno) {
      if let current { return try lines(after: current) }
      return try linesFromTheBeginning()
    } catch {
      let log = "the log of \(container.identifier)"
      switch error {
      case .tooManyLinks:
        throw StoreError(.failed, "\(log): a symbolic link is in its place: move it away")
      case .invalid:
        throw StoreError(.failed, "\(log): what is in its place is no regular file: move it away")
      default: throw StoreError(log, error)
      }
    }
  }

  private func linesFromTheBeginning() throws(Errno) -> [[UInt8]] {
    // Before the others: what comes into it meanwhile is in one of them already.
    let firsts = try open(ContainerLayout.firstLog)?.newLines() ?? []
    let newer = try open(ContainerLayout.log)
    let older = try open(ContainerLayout.olderLog)
    current = newer ?? older
    // The older one is the newer one if that became full between the two.
    var lines: [[UInt8]] = []
    if let older, let newer, older.inode != newer.inode {
      lines = try older.newLines() + newer.newLines()
    } else {
      lines = try current?.newLines() ?? []
    }
    // Those that have gone from the others are older than all that is there.
    let present = Set(firsts.isEmpty ? [] : lines)
    return firsts.filter { !present.contains($0) } + lines
  }

  private func lines(after held: OpenLog) throws(Errno) -> [[UInt8]] {
    // In this order: if another file has the name now, the one held has its last line.
    let next = try open(ContainerLayout.log)
    let lines = try held.newLines()
    guard let next, next.inode != held.inode else { return lines }
    current = next
    return try lines + linesBetween(held) + next.newLines()
  }

  /// What is in `log.1` if that is not the file that was held: it was full within one call.
  private func linesBetween(_ held: OpenLog) throws(Errno) -> [[UInt8]] {
    guard let older = try open(ContainerLayout.olderLog), older.inode != held.inode else {
      return []
    }
    return try older.newLines()
  }

  private func open(_ name: String) throws(Errno) -> OpenLog? {
    do throws(Errno) {
      return try OpenLog(container.directory.openRegularFile(name.utf8))
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }
}

/// One of the two files, and how far it was read.
private final class OpenLog {
  let inode: UInt64
  private let file: Descriptor
  /// The beginning of a line whose end was not there yet.
  private var beginning: [UInt8] = []

  init(_ file: consuming Descriptor) throws(Errno) {
    inode = try InodeStatus.of(file.rawValue).inode
    self.file = file
  }

  func newLines() throws(Errno) -> [[UInt8]] {
    // The daemon keeps it to a megabyte.
    let text = try beginning + file.readToEnd(atMost: 64 << 20)
    guard let end = text.lastIndex(of: UInt8(ascii: "\n")) else {
      beginning = text
      return []
    }
    beginning = Array(text[(end + 1)...])
    return text[..<end].split(separator: UInt8(ascii: "\n")).map { Array($0) }
  }
}
