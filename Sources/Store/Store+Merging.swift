// Data that comes into a container whose view is mounted: it is made whole beside the present data,
// and what can't come is known before anything changes. What it will replace is kept by second
// names until it is over.
internal import Containers
public import LinuxKit
public import Paths
public import Policy

/// What comes into the data of a container that may be mounted.
public struct DataMerge: ~Copyable {
  /// What was put together.
  public let coming: Walker
  /// What of the present data has the same paths.
  public let former: Walker
  /// What was taken out of what comes, and why.
  public var remarks: [(path: [UInt8], reason: String)] { survey.remarks }
  /// How much room it needs at most besides what is there, which stays until it is over.
  public var byteCount: Int64 { survey.byteCount }
  /// How many entries come.
  public var entryCount: Int { survey.entryCount }
  /// The paths below which nothing was there before.
  public var added: [[[UInt8]]] { survey.added }
  private let survey: MergeOutcome

  fileprivate init(
    coming: consuming Walker, former: consuming Walker, _ survey: MergeOutcome
  ) {
    self.coming = coming
    self.former = former
    self.survey = survey
  }

  /// Puts it below the root of the view: files one after the other, each in one step.
  ///
  /// If one can't be put there, what was there before is put back, behind `recount`: what was
  /// replaced has a second name, which the view's books do not know of.
  public borrowing func perform(
    below root: borrowing Walker, recount: () -> Void
  ) throws(Errno) {
    let options: CopyOptions = [.merging, .replacing, .ownership, .extendedAttributes]
    do throws(Errno) {
      try coming.copyContents(into: root, options: options)
    } catch {
      for path in added.reversed() {
        guard let name = path.last, let parent = try? root.enter(path: path.dropLast()) else {
          continue
        }
        try? parent.removeTree(name)
      }
      recount()
      try? former.copyContents(into: root, options: options)
      throw error
    }
  }
}

extension Store {
  /// Runs `fill`, which puts data together for a container, and then `body`, which has it come into
  /// the present data.
  ///
  /// Throws before `body` if the rules do not let the app have one of the files.
  public func mergeData<Result>(
    of identifier: BundleIdentifier, _ policy: PolicyEngine,
    filling fill: (borrowing DataReplacement) throws -> Result,
    merging body: (borrowing DataMerge) throws -> Void
  ) throws -> Result {
    try changing { () throws(StoreError) -> Swift.Result<Result, any Error> in
      let container = try self.container(identifier)
      return try withStaging { staging throws(StoreError) in
        let replacement = try prepare(container, in: staging)
        return Swift.Result {
          let result = try fill(replacement)
          let former = try staging.createDirectory("former".utf8, mode: 0o700)
          var survey = try MergeSurvey(
            policy, present: replacement.old.reopened(), former: former.reopened())
          do {
            try replacement.new.visitTree(&survey)
          } catch let error as Errno {
            throw StoreError(Presentation.path(survey.last), error)
          }
          if let refused = survey.refused { throw Self.refusal(refused, identifier, policy) }
          try body(
            DataMerge(
              coming: replacement.new.reopened(), former: former, survey.outcome))
          try replacement.old.synchronizeFileSystem()
          return result
        }
      }
    }.get()
  }

  private static func refusal(
    _ refused: (path: [[UInt8]], rule: RuleID), _ identifier: BundleIdentifier,
    _ policy: PolicyEngine
  ) -> StoreError {
    StoreError(
      .failed,
      "\(identifier) is mounted, and its rules (\(policy.describe(refused.rule))) do not let "
        + "\(Presentation.path(refused.path)) be changed: unmount it first")
  }
}

private struct MergeOutcome {
  var remarks: [(path: [UInt8], reason: String)] = []
  var added: [[[UInt8]]] = []
  var byteCount: Int64 = 0
  var entryCount = 0
}

/// Takes out of what comes what can't come, and keeps what it will replace.
private struct MergeSurvey: TreeVisitor, ~Copyable {
  private let policy: PolicyEngine
  private var present: Counterpart
  private let former: Walker
  private(set) var outcome = MergeOutcome()
  /// What the rules refuse; nil if there is nothing of that kind.
  private(set) var refused: (path: [[UInt8]], rule: RuleID)?
  /// The path that was looked at last.
  private(set) var last: [[UInt8]] = []
  private var zones: [ZoneID] = [.root]

  init(
    _ policy: PolicyEngine, present: consuming Walker, former: consuming Walker
  ) throws(Errno) {
    self.policy = policy
    self.present = try Counterpart(in: present)
    self.former = former
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    last = present.way + [entry.name]
    let zone = policy.zone(named: entry.name.span, in: zones[zones.count - 1])
    let attributes = policy.attributes(of: zone)
    let isDirectory = entry.kind == .directory
    // Every container has them.
    if attributes.isBundle || attributes.isStructural && !isDirectory {
      try directory.removeTree(entry.name)
      return false
    }
    let there = try present.status(of: entry.name)
    if let reason = Self.obstacle(there?.kind, isDirectory: isDirectory) {
      let path = Array(last.joined(separator: [UInt8(ascii: "/")]))
      outcome.remarks.append((path, reason))
      try directory.removeTree(entry.name)
      return false
    }
    if isDirectory && there != nil { return true }
    judge(entry, zone, isReplacing: there != nil)
    guard refused == nil else { return false }
    if there == nil {
      if present.isThere { outcome.added.append(last) }
    } else {
      try keep(entry.name)
    }
    let size = isDirectory ? 1 : try directory.status(of: entry.name).byteCount
    outcome.byteCount = outcome.byteCount.addingReportingOverflow(Self.cost(size)).partialValue
    outcome.entryCount += 1
    return isDirectory
  }

  /// What is counted at most for so many bytes, and for attributes beside them.
  private static func cost(_ byteCount: Int64) -> Int64 {
    let unit: Int64 = 4096
    return min(byteCount, .max - 2 * unit) / unit * unit + 2 * unit
  }

  private static func obstacle(_ there: FileKind?, isDirectory: Bool) -> String? {
    guard let there, isDirectory != (there == .directory) else { return nil }
    return isDirectory ? "what is there is no directory" : "a directory is in its place"
  }

  private mutating func judge(_ entry: DirectoryEntry, _ zone: ZoneID, isReplacing: Bool) {
    guard refused == nil else { return }
    let kind: NodeKind =
      switch entry.kind {
      case .directory: .directory
      case .symbolicLink: .symlink
      default: .file
      }
    var verdict = policy.decideCreate(named: entry.name.span, in: zone, kind: kind)
    if verdict.isAllowed && isReplacing { verdict = policy.decide(.remove, in: zone, kind: kind) }
    if !verdict.isAllowed { refused = (last, verdict.rule) }
  }

  /// Gives what will be replaced a second name.
  private func keep(_ name: [UInt8]) throws(Errno) {
    var kept = try former.reopened()
    for step in present.way { kept = try kept.enterOrCreate(step, mode: 0o700) }
    do throws(Errno) {
      try present.linkFile(name, to: kept)
    } catch {
      // It has gone meanwhile.
      if error != .noEntry { throw error }
    }
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    zones.append(policy.zone(named: name.span, in: zones[zones.count - 1]))
    try present.enter(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    zones.removeLast()
    try present.leave()
  }
}
