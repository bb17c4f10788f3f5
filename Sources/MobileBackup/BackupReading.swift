// Looking into a backup: what it holds, whether it is whole, how it differs from what is there now.
public import BackupFormat
internal import Containers
internal import LinuxKit
internal import Paths
internal import Store

extension BackupDirectory {
  /// One app of a backup.
  public struct App: Equatable, Sendable {
    /// Its identifier.
    public let identifier: String
    /// The version that was backed up; empty if the backup does not say it.
    public let version: String
    /// How many files, links and directories there are.
    public let entryCount: Int
    /// The bytes of its files.
    public let byteCount: Int64
  }

  /// The apps, in order of their identifiers.
  public func apps() throws(BackupError) -> [App] {
    let versions = versions
    var apps: [App] = []
    for domain in try manifest.domains() {
      guard let identifier = Self.identifier(of: domain) else { continue }
      var entryCount = 0
      var byteCount: Int64 = 0
      try manifest.forEach(of: domain) { (row) throws(BackupError) in
        entryCount += 1
        guard case .entry(let entry, _) = row else { return }
        byteCount = byteCount.addingReportingOverflow(entry.byteCount).partialValue
      }
      apps.append(
        App(
          identifier: identifier, version: versions[identifier] ?? "", entryCount: entryCount,
          byteCount: byteCount))
    }
    return apps
  }

  /// When it was made, in seconds since 1970; nil if it does not say it.
  public var date: Double? {
    (try? contents(of: BackupPlists.statusName)).flatMap(BackupPlists.date)
  }

  private static func identifier(of domain: String) -> String? {
    let prefix = BackupEntry.domain(of: "")
    return domain.hasPrefix(prefix) ? String(domain.dropFirst(prefix.count)) : nil
  }

  /// Shows each entry of an app to `body`, a directory before what is in it.
  ///
  /// Throws if there is nothing of the app.
  public func forEachEntry(
    of identifier: String, _ body: (BackupEntry) throws(BackupError) -> Void
  ) throws(BackupError) {
    var isEmpty = true
    try manifest.forEach(of: BackupEntry.domain(of: identifier)) { (row) throws(BackupError) in
      isEmpty = false
      if case .entry(let entry, _) = row { try body(entry) }
    }
    if isEmpty { throw BackupError("\(shown): it holds nothing of \(identifier)") }
  }

  // MARK: Is it whole

  /// Something that is wrong in a backup.
  public struct Damage: Equatable, Sendable {
    /// The domain, such as `AppDomain-com.example.Notes`.
    public let domain: String
    /// The path in it.
    public let path: [UInt8]
    /// What is wrong.
    public let reason: String
  }

  /// Reads every file of the backup, and says what is wrong.
  ///
  /// `progress` is told how many files and bytes were read.
  public func verify(_ progress: BackupWriter.Progress) throws(BackupError) -> [Damage] {
    var damages: [Damage] = []
    var count = 0
    var byteCount: Int64 = 0
    for domain in try manifest.domains() {
      try manifest.forEach(of: domain) { (row) throws(BackupError) in
        switch row {
        case .unusable(let path, let reason):
          damages.append(Damage(domain: domain, path: path, reason: reason))
        case .entry(let entry, let id):
          guard entry.kind == .file else { return }
          if let reason = damage(entry, id) {
            damages.append(Damage(domain: domain, path: entry.path, reason: reason))
          }
          count += 1
          byteCount = byteCount.addingReportingOverflow(entry.byteCount).partialValue
          progress(count, byteCount)
        }
      }
    }
    return damages
  }

  private func damage(_ entry: BackupEntry, _ id: [UInt8]) -> String? {
    do throws(Errno) {
      let blob = try blob(id)
      let size = try blob.status().byteCount
      if size != entry.byteCount {
        return "it should have \(entry.byteCount) bytes and has \(size)"
      }
      guard let digest = entry.digest else { return nil }
      return try sha1(of: blob) == digest ? nil : "its content is not what was saved"
    } catch {
      return error == .noEntry ? "its content is missing" : "it can't be read: \(error.message)"
    }
  }
}

/// How what an app has now differs from what a backup holds of it.
public struct BackupDifference: Equatable, Sendable {
  /// What is there and not in the backup.
  public var added: [[UInt8]] = []
  /// What the backup holds and is not there, or is not backed up any more.
  public var removed: [[UInt8]] = []
  /// What is in both and not the same, by kind, size or time.
  public var changed: [[UInt8]] = []
}

extension BackupDirectory {
  /// Compares an app's present data with what is in the backup.
  public func difference(to subject: BackupSubject) throws(BackupError) -> BackupDifference {
    var difference = BackupDifference()
    var present: [[UInt8]: BackupEntry] = [:]
    let entries = try subject.selection().entries
    for entry in entries { present[entry.path] = entry }
    try forEachEntry(of: "\(subject.container.identifier)") { (saved) throws(BackupError) in
      if saved.path.isEmpty { return }
      guard let now = present.removeValue(forKey: saved.path) else {
        difference.removed.append(saved.path)
        return
      }
      let isSame =
        now.kind == saved.kind && now.byteCount == saved.byteCount && now.target == saved.target
        && (now.kind != .file || now.modifiedNanoseconds == saved.modifiedNanoseconds)
      if !isSame { difference.changed.append(saved.path) }
    }
    difference.added = present.keys.sorted { $0.lexicographicallyPrecedes($1) }
    return difference
  }
}
