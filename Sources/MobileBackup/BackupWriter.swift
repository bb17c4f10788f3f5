// Making a backup, or bringing one up to date.
//
// Everything is made in `ID.new` beside the backup: what has not changed since the last time gets
// one more name there, the rest is copied. Then the two directories change places in one step. So
// an interruption leaves the last backup whole, and the next run goes on in `ID.new`: each row of
// its manifest stands for a file that is there.
internal import BackupFormat
internal import Containers
internal import LinuxKit
internal import Paths
internal import Policy
internal import Store

/// A backup that is being made.
public final class BackupWriter {
  /// Told after each file: how many there were, and of how many bytes.
  public typealias Progress = (_ files: Int, _ bytes: Int64) -> Void

  let destination: Walker
  let shown: String
  let name: [UInt8]
  let staging: Walker
  let manifest: Manifest
  let isResumed: Bool
  /// The backup as it was; nil for the first one.
  let previous: BackupDirectory?
  private let source: BackupSource
  private let lock: Descriptor
  let progress: Progress
  var report = BackupReport()
  private var apps: [BackedUpApp] = []

  static let stagingSuffix = ".new"
  static let formerSuffix = ".old"

  /// Begins a backup in a directory of backups, which is made if it is not there.
  ///
  /// Throws if another is being made there.
  public init(
    into path: [UInt8], from source: BackupSource, progress: @escaping Progress
  ) throws(BackupError) {
    let shown = path.printable
    let name = Array(source.device.utf8)
    let destination = try BackupWriter.makeDestination(path)
    lock = try BackupWriter.lockDestination(name, in: destination, shown)
    try BackupWriter.finishExchange(of: name, in: destination, shown)
    previous = try BackupDirectory.find(name, in: destination, shown)
    if let left = try BackupWriter.interrupted(name, in: destination, shown) {
      isResumed = true
      staging = left
    } else {
      isResumed = false
      staging = try BackupWriter.makeStaging(name, in: destination, shown)
    }
    manifest = try Manifest(
      path: "/proc/self/fd/\(staging.descriptor.rawValue)/\(Manifest.name)", .writing,
      shown: "\(shown)/\(name.printable)\(Self.stagingSuffix)/\(Manifest.name)")
    self.destination = destination
    self.shown = shown
    self.name = name
    self.source = source
    self.progress = progress
    try manifest.note(try BackupWriter.systemRunNow(), as: Self.systemRun)
  }

  // MARK: Apps

  /// Takes one app in: what is new is copied, what has gone is removed.
  public func add(_ subject: BackupSubject) throws(BackupError) {
    let container = subject.container
    apps.append(
      BackedUpApp(identifier: "\(container.identifier)", version: container.record.version))
    try manifest.beginDomain()
    let data = try saying("the data of \(container.identifier)") { () throws(Errno) in
      try container.directory.enter("data".utf8)
    }
    let sink = BackupSink(self, domain: subject.domain)
    var walk = SelectionWalk(
      policy: subject.policy, bundleName: container.record.bundleName, sink: sink)
    if subject.policy.attributes(of: .root).backup || !subject.policy.isUniform(below: .root) {
      try take(root: data, of: subject.domain)
    }
    do throws(Errno) {
      try data.visitTree(&walk)
    } catch {
      if let failure = walk.sink.failure { throw failure }
      throw BackupError("reading the data of \(container.identifier)", error)
    }
    let done = walk.finish()
    report.leftOut += done.leftOut
    report.tooDeep += done.tooDeep
    try manifest.flush()
    for id in try manifest.unseen(in: subject.domain) { try remove(id) }
  }

  /// Every domain has a row for its root.
  private func take(root: borrowing Walker, of domain: String) throws(BackupError) {
    let status = try saying("the data of \(domain)") { () throws(Errno) in try root.status() }
    try take(BackupEntry(domain: domain, path: [], kind: .directory, status))
  }

  private func remove(_ id: [UInt8]) throws(BackupError) {
    try manifest.remove(id: id)
    try saying("removing what is no longer there") { () throws(Errno) in
      guard let folder = try? staging.enter(id.prefix(2)) else { return }
      do throws(Errno) {
        try folder.removeFile(id)
      } catch {
        if error != .noEntry { throw error }
      }
    }
  }

  // MARK: The end

  /// Puts the new backup in the place of the old one, and says what was done.
  public func commit() throws(BackupError) -> BackupReport {
    try keepOthers()
    try writePlists()
    try manifest.flush()
    do throws(Errno) {
      try staging.synchronizeFileSystem()
      let stagingName = name + Array(Self.stagingSuffix.utf8)
      if previous == nil {
        try destination.rename(stagingName, to: destination, as: name, .exclusive)
      } else {
        try BackupWriter.exchange(name, in: destination)
      }
      try destination.synchronize()
      try destination.removeTree(stagingName)
    } catch {
      throw BackupError("\(shown): putting the backup in its place", error)
    }
    return report
  }

  /// What of other apps is in the last backup stays in the new one.
  private func keepOthers() throws(BackupError) {
    guard let previous else { return }
    let mine = Set(apps.map { BackupEntry.domain(of: $0.identifier) })
    for domain in try previous.manifest.domains() where !mine.contains(domain) {
      try manifest.beginDomain()
      try previous.manifest.forEach(of: domain) { (row) throws(BackupError) in
        guard case .entry(let entry, let id) = row else { return }
        if entry.kind == .file { try keep(entry, id, from: previous) }
        try manifest.add(entry)
      }
      try manifest.flush()
      for id in try manifest.unseen(in: domain) { try remove(id) }
    }
    for (identifier, version) in previous.versions
    where !mine.contains(BackupEntry.domain(of: identifier)) {
      apps.append(BackedUpApp(identifier: identifier, version: version))
    }
  }

  private func keep(
    _ entry: BackupEntry, _ id: [UInt8], from previous: BackupDirectory
  ) throws(BackupError) {
    if hasBlob(of: entry, id) { return }
    try saying("keeping \(entry.path.printable) of \(entry.domain)") { () throws(Errno) in
      let former = try previous.walker.enter(id.prefix(2))
      let folder = try staging.enterOrCreate(id.prefix(2), mode: 0o700)
      try folder.removeTree(id)
      do throws(Errno) {
        try former.linkFile(id, to: folder, as: id)
      } catch {
        guard error == .notPermitted || error == .notSupported else { throw error }
        let blob = try former.openRegularFile(id)
        let copy = try folder.createFile(id, mode: 0o600)
        try blob.copyContents(to: copy, byteCount: entry.byteCount)
      }
    }
  }

  private func writePlists() throws(BackupError) {
    apps.sort { $0.identifier < $1.identifier }
    let now = Double(WallTime.now.seconds)
    let info = try BackupPlists.info(source, apps: apps, now: now)
    let manifest = BackupPlists.manifest(source, apps: apps, now: now)
    let status = BackupPlists.status(randomIdentifier(), isFull: previous == nil, now: now)
    try saying("\(shown): writing the property lists") { () throws(Errno) in
      try staging.replaceFile(BackupPlists.infoName.utf8, contents: info, mode: 0o600)
      try staging.replaceFile(BackupPlists.manifestName.utf8, contents: manifest, mode: 0o600)
      try staging.replaceFile(BackupPlists.statusName.utf8, contents: status, mode: 0o600)
    }
  }
}
