// Data that a program had before it had a container: whole directories of the host become part of
// the app's data, all of them or none.
internal import Containers
internal import LinuxKit
public import Paths

/// A directory of the host, and where in the data what is in it goes.
public struct ImportedTree: Equatable, Sendable {
  /// Its path on the host.
  public var source: [UInt8]
  /// The place below the data, a name for each step; it is made where it is missing.
  public var place: [[UInt8]]
  /// Entries of it that stay behind.
  public var leaving: [[UInt8]] = []

  /// A tree with its place.
  public init(from source: [UInt8], to place: [[UInt8]], leaving: [[UInt8]] = []) {
    self.source = source
    self.place = place
    self.leaving = leaving
  }
}

/// What came from one directory.
public struct ImportedTreeReport: Equatable, Sendable {
  /// How many files, links and directories.
  public var entryCount = 0
  /// How many bytes of files.
  public var byteCount: Int64 = 0
}

extension Store {
  /// Copies directories of the host into an app's data, which keeps what it has.
  ///
  /// Throws if the app is mounted, or has one of the files already; then nothing has changed.
  public func importTrees(
    _ trees: [ImportedTree], into identifier: BundleIdentifier
  ) throws -> [ImportedTreeReport] {
    try replaceData(of: identifier) { replacement in
      let record = replacement.container.record
      let what = "keeping the present data of \(identifier)"
      try saying(what) { () throws(Errno) in
        try replacement.old.copyContents(
          into: replacement.new, options: [.links, .merging, .ownership, .extendedAttributes])
      }
      let owner = FileOwner(uid: record.ownerUID, gid: record.ownerGID)
      var reports: [ImportedTreeReport] = []
      for tree in trees {
        reports.append(try importTree(tree, into: replacement.new, of: identifier, owner))
      }
      return reports
    }
  }

  private func importTree(
    _ tree: ImportedTree, into data: borrowing Walker, of identifier: BundleIdentifier,
    _ owner: FileOwner
  ) throws(StoreError) -> ImportedTreeReport {
    let shown = tree.source.printable
    do throws(Errno) {
      let source = try Walker.open(path: tree.source)
      var place = try data.reopened()
      for name in tree.place {
        do throws(Errno) {
          place = try place.enter(name)
        } catch {
          guard error == .noEntry else { throw error }
          place = try place.createDirectory(name, mode: 0o700)
          try place.descriptor.setOwner(uid: owner.uid, gid: owner.gid)
        }
      }
      var count = TreeCount(leaving: tree.leaving)
      try source.visitTree(&count)
      try source.copyContents(
        into: place, options: [.merging, .extendedAttributes], owner: owner, leaving: tree.leaving)
      return count.report
    } catch {
      switch error {
      case .exists:
        throw StoreError(
          .failed, "\(identifier) has a file already that \(shown) has too: nothing was imported")
      case .notPermitted: throw StoreError(.failed, "\(shown) has a device in it")
      case .crossDevice:
        throw StoreError(
          .failed, "\(shown) has another file system mounted in it: unmount it first")
      default: throw StoreError(shown, error)
      }
    }
  }
}

private struct TreeCount: TreeVisitor {
  let leaving: [[UInt8]]
  var report = ImportedTreeReport()
  private var depth = 0

  init(leaving: [[UInt8]]) { self.leaving = leaving }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if depth == 0, leaving.contains(entry.name) || entry.kind == .socket { return false }
    report.entryCount += 1
    if entry.kind == .regular { report.byteCount += try directory.status(of: entry.name).byteCount }
    return true
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) { depth += 1 }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) { depth -= 1 }
}
