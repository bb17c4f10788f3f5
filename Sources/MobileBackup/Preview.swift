// What a backup would hold, and what it would leave out and why, without making it.
public import BackupFormat
internal import Containers
public import LinuxKit
internal import Paths
internal import Store

/// What a backup of an app takes in and what it leaves out.
public struct BackupSelection: Equatable, Sendable {
  /// What is taken in, in the order of the walk, without the root.
  public fileprivate(set) var entries: [BackupEntry] = []
  /// What is left out, each with its reason; of a directory only itself.
  public fileprivate(set) var omissions: [Omitted] = []
  /// The bytes of all files that are taken in.
  public var byteCount: Int64 { entries.reduce(0) { $0 + $1.byteCount } }

  /// One thing that is left out.
  public struct Omitted: Equatable, Sendable {
    /// The path below the container's root.
    public let path: [UInt8]
    /// What it is.
    public let kind: FileKind
    /// Why it is left out.
    public let why: Omission
  }
}

extension BackupSubject {
  /// What a backup would take in now.
  public func selection() throws(BackupError) -> BackupSelection {
    let data = try saying("the data of \(container.identifier)") { () throws(Errno) in
      try container.directory.enter(ContainerLayout.data.utf8)
    }
    var walk = SelectionWalk(
      policy: policy, bundleName: container.record.bundleName, sink: PreviewSink(domain: domain))
    try saying("reading the data of \(container.identifier)") { () throws(Errno) in
      try data.visitTree(&walk)
    }
    return walk.finish().selection
  }
}

private struct PreviewSink: SelectionSink {
  let domain: String
  var selection = BackupSelection()

  init(domain: String) { self.domain = domain }

  mutating func take(
    _ found: DirectoryEntry, at path: [UInt8], in directory: borrowing Walker
  ) throws(Errno) {
    do throws(Errno) {
      let status = try directory.status(of: found.name)
      let kind: BackupEntry.Kind =
        switch status.kind {
        case .directory: .directory
        case .symbolicLink: .symbolicLink
        default: .file
        }
      var entry = BackupEntry(domain: domain, path: path, kind: kind, status)
      if kind == .symbolicLink { entry.target = try directory.readLink(found.name) }
      selection.entries.append(entry)
    } catch {
      if error == .noEntry { return }
      throw error
    }
  }

  mutating func leaveOut(_ path: [UInt8], _ kind: FileKind, _ why: Omission) throws(Errno) {
    selection.omissions.append(BackupSelection.Omitted(path: path, kind: kind, why: why))
  }
}
