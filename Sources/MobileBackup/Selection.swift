// What of a container is backed up, and why the rest is not: the policy's word, less what carries
// the mark of exclusion.
internal import BackupFormat
internal import Containers
public import LinuxKit
internal import Paths
public import Policy
internal import PropertyLists

/// The mark that keeps a file or a directory out of backups.
public enum ExclusionMark {
  /// The extended attribute as a Linux file system keeps it.
  public static let name = Array("\(BackupMark.storedName)".utf8)
  /// A binary property list of the text `com.apple.backupd`, 61 bytes, as iOS writes it.
  public static let value = PropertyList.string("com.apple.backupd").binary

  /// Whether an open file or directory has it.
  public static func isOn(_ file: borrowing Descriptor) throws(Errno) -> Bool {
    do throws(Errno) {
      _ = try file.extendedAttribute(name)
      return true
    } catch {
      if error == .noData || error == .notSupported { return false }
      throw error
    }
  }
}

/// Why something is left out of a backup.
public enum Omission: Equatable, Sendable {
  /// No rule says `backup`, or this one says `-backup`.
  case rule(RuleID)
  /// It, or a directory above it, carries the mark.
  case mark
  /// It is the bundle, which is installed and not backed up.
  case bundle
  /// A pipe, a socket or a device, which the format has no place for.
  case kind
  /// It lies deeper than a restore makes anything.
  case depth
}

/// What is shown each entry of a container's data.
protocol SelectionSink: ~Copyable {
  /// Takes a file, a link or a directory that is backed up.
  mutating func take(
    _ entry: DirectoryEntry, at path: [UInt8], in directory: borrowing Walker
  ) throws(Errno)
  /// Takes note of what is left out.
  mutating func leaveOut(_ path: [UInt8], _ kind: FileKind, _ why: Omission) throws(Errno)
}

/// Goes through a container's data, and tells a sink what is backed up.
struct SelectionWalk<Sink: SelectionSink & ~Copyable>: TreeVisitor, ~Copyable {
  let policy: PolicyEngine
  let bundleName: [UInt8]
  var sink: Sink

  /// Where one is.
  private var path: [UInt8] = []
  private var levels: [(pathLength: Int, zone: ZoneID)] = [(0, .root)]

  init(policy: PolicyEngine, bundleName: [UInt8], sink: consuming Sink) {
    self.policy = policy
    self.bundleName = bundleName
    self.sink = sink
  }

  /// The sink, when one is through.
  consuming func finish() -> Sink { sink }

  private var zone: ZoneID { levels.last?.zone ?? .root }

  private func path(of name: [UInt8]) -> [UInt8] {
    path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    let path = path(of: entry.name)
    if levels.count == 1, !bundleName.isEmpty, entry.name == bundleName {
      try sink.leaveOut(path, entry.kind, .bundle)
      return false
    }
    // An app can build deeper ones, whose paths would fill the disk.
    guard levels.count <= BackupEntry.maximumDepth else {
      try sink.leaveOut(path, entry.kind, .depth)
      return false
    }
    let zone = policy.zone(named: entry.name.span, in: zone)
    let isBackedUp = policy.attributes(of: zone).backup
    let isDirectory = entry.kind == .directory
    guard isBackedUp else {
      let rule = policy.rules(for: .backup, in: zone).first ?? .unset
      try sink.leaveOut(path, entry.kind, .rule(rule))
      // A rule may still say `backup` for what is below.
      return isDirectory && !policy.isUniform(below: zone)
    }
    switch entry.kind {
    case .regular, .directory:
      guard try !hasMark(entry, in: directory) else {
        try sink.leaveOut(path, entry.kind, .mark)
        return false
      }
    case .symbolicLink: break
    case .fifo, .socket, .characterDevice, .blockDevice:
      try sink.leaveOut(path, entry.kind, .kind)
      return false
    }
    try sink.take(entry, at: path, in: directory)
    return isDirectory
  }

  private func hasMark(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    do throws(Errno) {
      if entry.kind == .directory {
        return try ExclusionMark.isOn(directory.enter(entry.name).descriptor)
      }
      return try ExclusionMark.isOn(directory.openRegularFile(entry.name))
    } catch {
      // It is gone, or another by now; who takes it finds out.
      if [.noEntry, .notDirectory, .tooManyLinks, .invalid].contains(error) { return false }
      throw error
    }
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    let zone = policy.zone(named: name.span, in: zone)
    levels.append((path.count, zone))
    path = path(of: name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    guard let level = levels.popLast() else { return }
    path.removeLast(path.count - level.pathLength)
  }
}
