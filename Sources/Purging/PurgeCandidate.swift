// What may go under pressure: the files whose rules say so, the one that was used last at the end.
public import LinuxKit
public import Policy

/// A file that may go.
public struct PurgeCandidate: Equatable, Sendable {
  /// Its path below the container's data, a name for each step.
  public let path: [[UInt8]]
  /// Which file it was: numbers of inodes are used again, so its birth too.
  public let identity: FileIdentity
  let bornNanoseconds: Int64
  /// What the disk gets back.
  public let byteCount: Int64
  /// When it was last read or changed, in nanoseconds since 1970.
  public let usedNanoseconds: Int64
}

/// Looks for the regular files of a container's data that its rules let go, in the order in which
/// they were last used.
///
/// Nothing of a container's skeleton is among them, nor what marks its caches as such.
public struct PurgeSurvey: Sendable {
  private let policy: PolicyEngine
  private let occasion: PurgeOccasions
  private let opensUp: Bool

  /// A survey by the rules of an app.
  ///
  /// If it opens up, directories that their owner can't look into become such that he can; else
  /// nothing is changed.
  public init(_ policy: PolicyEngine, on occasion: PurgeOccasions, opensUp: Bool) {
    self.policy = policy
    self.occasion = occasion
    self.opensUp = opensUp
  }

  /// The files, and how many directories could not be looked into.
  public func candidates(
    in data: borrowing Walker
  ) throws(Errno) -> (files: [PurgeCandidate], closedCount: Int) {
    var walk = SurveyWalk(policy: policy, occasion: occasion, opensUp: opensUp)
    try data.visitTree(&walk)
    let files = walk.found.sorted {
      ($0.usedNanoseconds, $0.identity.inode) < ($1.usedNanoseconds, $1.identity.inode)
    }
    return (files, walk.closedCount)
  }
}

/// Where one is in a tree, and what the policy says there.
struct ZonePath {
  let policy: PolicyEngine
  private(set) var names: [[UInt8]] = []
  private var zones: [ZoneID] = [.root]

  init(_ policy: PolicyEngine) { self.policy = policy }

  /// The zone of an entry of the directory that one is in.
  func zone(of name: [UInt8]) -> ZoneID {
    policy.zone(named: name.span, in: zones.last ?? .root)
  }

  mutating func enter(_ name: [UInt8]) {
    zones.append(zone(of: name))
    names.append(name)
  }

  mutating func leave() {
    zones.removeLast()
    names.removeLast()
  }
}

private struct SurveyWalk: TreeVisitor {
  private let occasion: PurgeOccasions
  private let opensUp: Bool
  private var place: ZonePath
  private(set) var found: [PurgeCandidate] = []
  private(set) var closedCount = 0

  init(policy: PolicyEngine, occasion: PurgeOccasions, opensUp: Bool) {
    place = ZonePath(policy)
    self.occasion = occasion
    self.opensUp = opensUp
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    let zone = place.zone(of: entry.name)
    let goes = !place.policy.attributes(of: zone).purge.isDisjoint(with: occasion)
    if entry.kind == .directory {
      guard goes || !place.policy.isUniform(below: zone) else { return false }
      // As an ordinary user one can't look into what shuts itself off.
      if opensUp { try? directory.openUp(entry.name) }
      if (try? directory.enter(entry.name)) != nil { return true }
      closedCount += (try? directory.status(of: entry.name).kind) == .directory ? 1 : 0
      return false
    }
    let path = place.names + [entry.name]
    guard entry.kind == .regular, goes, path != CacheTag.path else { return false }
    do throws(Errno) {
      let status = try directory.status(of: entry.name)
      guard status.kind == .regular else { return false }
      found.append(PurgeCandidate(path: path, status))
    } catch {
      if error != .noEntry { throw error }
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    place.enter(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    place.leave()
  }
}

extension PurgeCandidate {
  fileprivate init(path: [[UInt8]], _ status: FileStatus) {
    self.path = path
    identity = status.identity
    bornNanoseconds = status.bornNanoseconds
    // What has another name stays on the disk.
    byteCount = status.linkCount > 1 ? 0 : status.allocatedByteCount
    usedNanoseconds = max(status.accessed.nanoseconds, status.modified.nanoseconds)
  }
}
