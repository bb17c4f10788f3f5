// Bringing back what a backup holds.
//
// A backup is bytes that anyone may have written: each path, link, size and digest is checked, and
// what fails a check is left out with a line. All is made in a tree of its own, of which no entry
// is ever written into: what the container has already is there by a second name, and is replaced.
internal import BackupFormat
internal import Containers
internal import LinuxKit
internal import Paths
public import Policy
internal import Purging
public import Store

/// What is brought back, and how.
public struct RestoreOptions: Sendable {
  /// Nothing of the container's present data stays.
  public var replaces = false
  /// Only these paths and what is below them, without leading slashes; empty for everything.
  public var paths: [[UInt8]] = []
  /// Whose files of the backup are meant.
  public var sourceIdentifier: String

  /// Options for everything that an app had.
  public init(sourceIdentifier: String) { self.sourceIdentifier = sourceIdentifier }
}

/// What a restore did.
public struct RestoreReport: Equatable, Sendable {
  /// How many entries were brought back.
  public var entryCount = 0
  /// How many bytes of files.
  public var byteCount: Int64 = 0
  /// What was left out or changed for safety, and why.
  public var remarks: [Remark] = []

  /// One thing that is not as the backup says.
  public struct Remark: Equatable, Sendable {
    /// The path as the backup spells it.
    public let path: [UInt8]
    /// What is wrong with it.
    public let reason: String

    /// One path and what is wrong with it.
    public init(path: [UInt8], reason: String) {
      self.path = path
      self.reason = reason
    }
  }
}

/// Brings back the files of one app.
public struct Restore {
  private let backup: BackupDirectory
  private let policy: PolicyEngine
  private let options: RestoreOptions
  private let progress: BackupWriter.Progress

  /// A restore from a backup under the rules of the container.
  public init(
    from backup: BackupDirectory, policy: PolicyEngine, _ options: RestoreOptions,
    progress: @escaping BackupWriter.Progress
  ) {
    self.backup = backup
    self.policy = policy
    self.options = options
    self.progress = progress
  }

  /// Fills in the data that will be the container's.
  ///
  /// Throws if the backup has nothing of the app, or of a path that was asked for.
  public func fill(_ replacement: borrowing DataReplacement) throws(BackupError) -> RestoreReport {
    if !options.replaces { try keepPresentData(replacement) }
    return try put(into: replacement)
  }

  /// Puts what the backup holds into data that has nothing else.
  ///
  /// Throws as `fill` does.
  public func put(into replacement: borrowing DataReplacement) throws(BackupError) -> RestoreReport
  {
    let domain = BackupEntry.domain(of: options.sourceIdentifier)
    guard try backup.manifest.domains().contains(domain) else {
      throw BackupError(
        "\(backup.shown): it holds nothing of \(options.sourceIdentifier); see 'sandboxfs backup "
          + "list'")
    }
    let record = replacement.container.record
    let new = try saying("opening the new data") { () throws(Errno) in
      try replacement.new.reopened()
    }
    let target = try saying("opening the new data") { () throws(Errno) in
      try RestoreTarget(new, ownerUID: record.ownerUID, ownerGID: record.ownerGID)
    }
    var report = RestoreReport()
    var missing = Set(options.paths)
    try backup.manifest.forEach(of: domain) { (row) throws(BackupError) in
      switch row {
      case .unusable(let path, let reason):
        report.remarks.append(RestoreReport.Remark(path: path, reason: reason))
      case .entry(let entry, let id):
        guard isWanted(entry.path, &missing) else { return }
        if let reason = entry.refusal(bundleName: record.bundleName) {
          report.remarks.append(RestoreReport.Remark(path: entry.path, reason: reason))
          return
        }
        guard !isDropped(entry) else { return }
        try restore(entry, id, to: target, &report)
      }
    }
    if let path = missing.first {
      throw BackupError("\(backup.shown): it holds no \(path.printable) of the app")
    }
    try target.finishDirectories()
    return report
  }

  // MARK: What stays

  /// The present data, without what a full restore drops.
  private func keepPresentData(_ replacement: borrowing DataReplacement) throws(BackupError) {
    let what = "keeping the present data of \(replacement.container.identifier)"
    do throws(Errno) {
      try replacement.old.copyContents(
        into: replacement.new, options: [.links, .merging, .ownership, .extendedAttributes])
      guard options.paths.isEmpty else { return }
      try replacement.new.removeWhatGoes(on: [.restore, .exit], policy)
    } catch {
      throw BackupError(what, error)
    }
  }

  /// Whether an entry is passed over: by its rule it goes at a restore, or every container has it.
  private func isDropped(_ entry: BackupEntry) -> Bool {
    var zone = ZoneID.root
    for name in entry.path.split(separator: UInt8(ascii: "/")) {
      zone = policy.zone(named: Array(name).span, in: zone)
    }
    let attributes = policy.attributes(of: zone)
    if attributes.isStructural { return entry.kind != .directory }
    return options.paths.isEmpty && attributes.goesAtRestore
  }

  // MARK: What comes

  private func isWanted(_ path: [UInt8], _ missing: inout Set<[UInt8]>) -> Bool {
    if options.paths.isEmpty { return true }
    for wanted in options.paths
    where path == wanted || path.starts(with: wanted + [UInt8(ascii: "/")]) {
      missing.remove(wanted)
      return true
    }
    return false
  }

  private func restore(
    _ entry: BackupEntry, _ id: [UInt8], to target: RestoreTarget, _ report: inout RestoreReport
  ) throws(BackupError) {
    let outcome: RestoreTarget.Outcome
    do throws(Errno) {
      switch entry.kind {
      case .directory: outcome = try target.makeDirectory(entry)
      case .symbolicLink: outcome = try target.makeLink(entry)
      case .file: outcome = try restoreFile(entry, id, to: target)
      }
    } catch {
      throw BackupError("restoring \(entry.path.printable)", error)
    }
    switch outcome {
    case .made(let remark):
      report.entryCount += 1
      report.byteCount += entry.byteCount
      if let remark { report.remarks.append(.init(path: entry.path, reason: remark)) }
      progress(report.entryCount, report.byteCount)
    case .refused(let reason): report.remarks.append(.init(path: entry.path, reason: reason))
    }
  }

  private func restoreFile(
    _ entry: BackupEntry, _ id: [UInt8], to target: RestoreTarget
  ) throws(Errno) -> RestoreTarget.Outcome {
    let blob: Descriptor
    do throws(Errno) {
      blob = try backup.blob(id)
    } catch {
      if error == .noEntry { return .refused("its content is missing") }
      return .refused("its content can't be read: \(error.message)")
    }
    let size = try blob.status().byteCount
    guard size == entry.byteCount else {
      return .refused("it should have \(entry.byteCount) bytes and has \(size)")
    }
    if let digest = entry.digest, try sha1(of: blob) != digest {
      return .refused("its content is not what was saved")
    }
    return try target.makeFile(entry, from: blob)
  }
}

extension ZoneAttributes {
  /// Whether what is there goes at a full restore: also what goes at each exit.
  var goesAtRestore: Bool { !purge.isDisjoint(with: [.restore, .exit]) }
}
