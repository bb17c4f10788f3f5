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
    let conflict: [[UInt8]]
    do throws(Errno) {
      let source = try Walker.open(path: tree.source)
      let place = try makePlace(tree.place, in: data, owner)
      var count = try TreeCount(leaving: tree.leaving, into: try place.reopened())
      try source.visitTree(&count)
      guard let found = count.conflict else {
        try source.copyContents(
          into: place, options: [.merging, .extendedAttributes], owner: owner,
          leaving: tree.leaving)
        return count.report
      }
      conflict = found
    } catch {
      throw failure(error, shown)
    }
    throw StoreError(
      .failed,
      "\(identifier) has \(Presentation.path(tree.place + conflict)) already, and \(shown) has it "
        + "too: nothing was imported")
  }

  /// Goes down to a place below the data, which is made where it is missing.
  private func makePlace(
    _ names: [[UInt8]], in data: borrowing Walker, _ owner: FileOwner
  ) throws(Errno) -> Walker {
    var place = try data.reopened()
    for name in names {
      do throws(Errno) {
        place = try place.enter(name)
      } catch {
        guard error == .noEntry else { throw error }
        place = try place.createDirectory(name, mode: 0o700)
        try place.descriptor.setOwner(uid: owner.uid, gid: owner.gid)
      }
    }
    return place
  }

  private func failure(_ error: Errno, _ shown: String) -> StoreError {
    switch error {
    case .exists: StoreError(.failed, "\(shown) changed while it was copied: nothing was imported")
    case .notPermitted: StoreError(.failed, "\(shown) has a device in it")
    case .crossDevice:
      StoreError(.failed, "\(shown) has another file system mounted in it: unmount it first")
    default: StoreError(shown, error)
    }
  }
}

/// Counts what comes, and looks whether one of it is there already.
private struct TreeCount: TreeVisitor, ~Copyable {
  private let leaving: [[UInt8]]
  private var target: Counterpart
  private(set) var report = ImportedTreeReport()
  /// The path of the first entry that the app has already; nil if it has none.
  private(set) var conflict: [[UInt8]]?

  init(leaving: [[UInt8]], into target: consuming Walker) throws(Errno) {
    self.leaving = leaving
    self.target = try Counterpart(in: target)
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if target.way.isEmpty && leaving.contains(entry.name) || entry.kind == .socket { return false }
    report.entryCount += 1
    if entry.kind == .regular { report.byteCount += try directory.status(of: entry.name).byteCount }
    if conflict == nil, let kind = try target.status(of: entry.name)?.kind,
      kind != .directory || entry.kind != .directory
    {
      conflict = target.way + [entry.name]
    }
    return true
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    try target.enter(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    try target.leave()
  }
}
