// What takes the space of an app, by what becomes of it: a tree that is bounded, whatever the app
// has built.

internal import Containers
internal import LinuxKit
internal import MobileBackup
internal import Policy
internal import Store

/// What becomes of data.
enum UsageKind: Int, CaseIterable {
  case backedUp, other, purgeable, temporary, bundle

  var name: String {
    switch self {
    case .backedUp: "backed up"
    case .other: "kept here only"
    case .purgeable: "purgeable"
    case .temporary: "temporary"
    case .bundle: "bundle"
    }
  }

  /// What becomes of it, in words.
  var meaning: String {
    switch self {
    case .backedUp: "'sandboxfs backup' saves it"
    case .other: "no backup has it, and nothing removes it"
    case .purgeable: "goes when space is short"
    case .temporary: "goes when the app has ended"
    case .bundle: "the app itself, as it was installed"
    }
  }
}

/// How much there is, of each kind.
struct UsageSum {
  /// Bytes on the disk, by the kinds' numbers.
  private(set) var byteCounts = [Int64](repeating: 0, count: UsageKind.allCases.count)
  /// Files and whatever else is no directory.
  private(set) var fileCounts = [Int](repeating: 0, count: UsageKind.allCases.count)

  var byteCount: Int64 { byteCounts.reduce(0, +) }
  var fileCount: Int { fileCounts.reduce(0, +) }

  /// The kind of which there is most.
  var mainKind: UsageKind {
    UsageKind.allCases.max { byteCounts[$0.rawValue] < byteCounts[$1.rawValue] } ?? .other
  }

  mutating func add(_ bytes: Int64, _ kind: UsageKind, isFile: Bool) {
    byteCounts[kind.rawValue] += bytes
    if isFile { fileCounts[kind.rawValue] += 1 }
  }

  mutating func add(_ other: UsageSum) {
    for kind in UsageKind.allCases {
      byteCounts[kind.rawValue] += other.byteCounts[kind.rawValue]
      fileCounts[kind.rawValue] += other.fileCounts[kind.rawValue]
    }
  }
}

/// A directory with all that is below it, or a file.
struct UsageNode {
  let name: [UInt8]
  let isDirectory: Bool
  var sum = UsageSum()
  /// The greatest entries; what else there is, is in the sum only.
  private(set) var children: [UsageNode] = []

  /// So many entries of a directory are kept apart.
  private static let childLimit = 64

  init(name: [UInt8], isDirectory: Bool) {
    self.name = name
    self.isDirectory = isDirectory
  }

  mutating func add(_ child: UsageNode) {
    sum.add(child.sum)
    children.append(child)
    // In batches, so that it costs little.
    if children.count > 2 * Self.childLimit { keepGreatest() }
  }

  mutating func keepGreatest() {
    children.sort { $0.sum.byteCount > $1.sum.byteCount }
    children.removeLast(max(0, children.count - Self.childLimit))
  }
}

extension BackupSubject {
  /// What takes the space: the data as the view shows it, and the bundle in its place.
  func usage() throws(Errno) -> UsageNode {
    let record = container.record
    var survey = UsageSurvey(policy, bundleName: record.bundleName)
    let data = try container.directory.enter(ContainerLayout.data.utf8)
    try data.visitTree(&survey)
    if !record.bundleName.isEmpty {
      survey.beginBundle()
      try container.directory.enter(ContainerLayout.bundle.utf8).visitTree(&survey)
    }
    return survey.root
  }
}

private struct UsageSurvey: TreeVisitor {
  /// Below so many directories everything counts for the one above: others may build deeper ones.
  private static let depthLimit = 10

  private struct Level {
    let zone: ZoneID
    let isMarked: Bool
  }

  private let policy: PolicyEngine
  private let bundleName: [UInt8]
  private var isInBundle = false
  private var levels = [Level(zone: .root, isMarked: false)]
  private var open = [UsageNode(name: [], isDirectory: true)]
  /// Files with several names are counted once.
  private var seen: Set<UInt64> = []

  init(_ policy: PolicyEngine, bundleName: [UInt8]) {
    self.policy = policy
    self.bundleName = bundleName
  }

  /// The tree, when one is through.
  var root: UsageNode {
    var root = open[0]
    root.keepGreatest()
    return root
  }

  mutating func beginBundle() { isInBundle = true }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if levels.count == 1, !isInBundle, entry.name == bundleName { return false }
    let isDirectory = entry.kind == .directory
    do throws(Errno) {
      let status = try directory.status(of: entry.name)
      if isDirectory { return true }
      if status.linkCount > 1, !seen.insert(status.identity.inode).inserted { return false }
      let isMarked = try isMarked(entry, in: directory)
      var node = UsageNode(name: entry.name, isDirectory: false)
      node.sum.add(
        status.allocatedByteCount, kind(of: zone(of: entry.name), isMarked: isMarked), isFile: true)
      take(node)
    } catch {
      // It is gone, or another by now.
      guard [.noEntry, .notDirectory, .tooManyLinks, .invalid].contains(error) else { throw error }
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    let zone = zone(of: name)
    let isMarked = levels.last?.isMarked == true || ExclusionMark.isOn(open: directory.descriptor)
    levels.append(Level(zone: zone, isMarked: isMarked))
    var node = UsageNode(name: name, isDirectory: true)
    let bytes = try directory.status().allocatedByteCount
    node.sum.add(bytes, kind(of: zone, isMarked: isMarked), isFile: false)
    if levels.count - 1 > Self.depthLimit {
      open[open.count - 1].sum.add(node.sum)
    } else {
      open.append(node)
    }
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    let depth = levels.count - 1
    levels.removeLast()
    guard depth <= Self.depthLimit, open.count > 1 else { return }
    var node = open.removeLast()
    node.keepGreatest()
    open[open.count - 1].add(node)
  }

  private mutating func take(_ node: UsageNode) {
    if levels.count - 1 > Self.depthLimit {
      open[open.count - 1].sum.add(node.sum)
    } else {
      open[open.count - 1].add(node)
    }
  }

  private func zone(of name: [UInt8]) -> ZoneID {
    policy.zone(named: name.span, in: levels.last?.zone ?? .root)
  }

  private func isMarked(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if levels.last?.isMarked == true { return true }
    guard entry.kind == .regular, !isInBundle, policy.attributes(of: zone(of: entry.name)).backup
    else { return false }
    return try ExclusionMark.isOn(directory.openRegularFile(entry.name))
  }

  private func kind(of zone: ZoneID, isMarked: Bool) -> UsageKind {
    let attributes = policy.attributes(of: zone)
    if isInBundle { return .bundle }
    if attributes.purge.contains(.exit) { return .temporary }
    if attributes.purge.contains(.pressure) { return .purgeable }
    return attributes.backup && !isMarked ? .backedUp : .other
  }
}

extension ExclusionMark {
  /// Whether a directory has it; one that can't say has not.
  fileprivate static func isOn(open directory: borrowing Descriptor) -> Bool {
    (try? isOn(directory)) ?? false
  }
}
