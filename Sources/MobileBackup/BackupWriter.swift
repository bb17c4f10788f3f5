// Making a backup, or bringing one up to date.
//
// Everything is made in `ID.new` beside the backup: what has not changed since the last time gets
// one more name there, the rest is copied. Then the two directories change places in one step. So
// an interruption leaves the last backup whole, and the next run goes on in `ID.new`: each row of
// its manifest stands for a file that is there.
internal import Containers
internal import Crypto
internal import Glibc
internal import LinuxKit
internal import Paths
public import Policy
public import Store

/// One app that is to be backed up.
public struct BackupSubject: Sendable {
  /// Its container.
  public let container: Container
  /// Its rules.
  public let policy: PolicyEngine

  /// An app with its rules.
  public init(container: Container, policy: PolicyEngine) {
    self.container = container
    self.policy = policy
  }

  /// The domain of its files.
  public var domain: String { BackupEntry.domain(of: "\(container.identifier)") }
}

/// What a backup did.
public struct BackupReport: Equatable, Sendable {
  /// How many files, links and directories it holds of the apps that were asked for.
  public var entryCount = 0
  /// How many files were copied.
  public var copiedCount = 0
  /// How many bytes were copied.
  public var copiedByteCount: Int64 = 0
  /// How many files had not changed.
  public var unchangedCount = 0
  /// The bytes of all files.
  public var byteCount: Int64 = 0
  /// Files that changed again and again while they were copied; what was saved may be torn.
  public var unstable: [[UInt8]] = []
  /// What has no place in the format: pipes, sockets and devices.
  public var leftOut: [[UInt8]] = []
}

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
  private let progress: Progress
  private var report = BackupReport()
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

  private static func makeDestination(_ path: [UInt8]) throws(BackupError) -> Walker {
    do throws(Errno) {
      try makeDirectory(path, mode: 0o700)
    } catch {
      if error != .exists { throw BackupError("making \(path.printable)", error) }
    }
    return try saying(path.printable) { () throws(Errno) in try Walker.open(path: path) }
  }

  private static func lockDestination(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Descriptor {
    let lockName = name + Array(".lock".utf8)
    let what = "locking \(shown)/\(lockName.printable)"
    let lock = try saying(what) { () throws(Errno) in
      try destination.openOrCreateFile(lockName, mode: 0o600)
    }
    let isFree = try saying(what) { () throws(Errno) in try lock.tryLock(.exclusive) }
    guard isFree else { throw BackupError("\(shown): a backup is being made here now") }
    return lock
  }

  private static let systemRun = "SandboxfsSystemRun"

  /// Which run of the kernel this is.
  private static func systemRunNow() throws(BackupError) -> [UInt8] {
    try saying("asking for the kernel's boot_id") { () throws(Errno) in
      try Descriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY).readToEnd(atMost: 64)
    }
  }

  /// What an interrupted run left; nil if there is nothing that one can go on with.
  private static func interrupted(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Walker? {
    guard let found = try? destination.enter(name + Array(stagingSuffix.utf8)) else { return nil }
    let path = "/proc/self/fd/\(found.descriptor.rawValue)/\(Manifest.name)"
    // After a crash of the system a file may be there without its content.
    guard let manifest = try? Manifest(path: path, .writing, shown: shown),
      let run = try? manifest.noted(systemRun), try run == systemRunNow()
    else { return nil }
    return found
  }

  private static func makeStaging(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Walker {
    let staging = name + Array(stagingSuffix.utf8)
    return try saying("\(shown)/\(staging.printable)") { () throws(Errno) in
      try destination.removeTree(staging)
      return try destination.createDirectory(staging, mode: 0o700)
    }
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
    let leftOut = walk.finish().leftOut
    report.leftOut += leftOut
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

  // MARK: One entry

  /// Takes a directory or a link in.
  func take(_ entry: BackupEntry) throws(BackupError) {
    try manifest.add(entry)
    report.entryCount += 1
  }

  /// Takes a file in: by one more name where it has not changed, else by a copy.
  func take(
    file: borrowing Descriptor, _ status: FileStatus, as found: BackupEntry
  ) throws(BackupError) {
    var entry = found
    let id = try entry.fileID
    if let known = try reusable(entry, id) {
      report.unchangedCount += 1
      entry.digest = known.digest
      entry.attributes = known.attributes
    } else {
      try copy(file, into: &entry, id)
      report.copiedCount += 1
      report.copiedByteCount += entry.byteCount
    }
    try manifest.add(entry)
    report.entryCount += 1
    report.byteCount += entry.byteCount
    progress(report.copiedCount + report.unchangedCount, report.byteCount)
  }

  /// The entry of an earlier run that is this file still, with its blob in place.
  private func reusable(_ entry: BackupEntry, _ id: [UInt8]) throws(BackupError) -> BackupEntry? {
    if isResumed, let known = try manifest.entry(id: id), known.isSameFile(as: entry),
      hasBlob(id, entry.byteCount)
    {
      return known
    }
    guard let previous, let known = try previous.manifest.entry(id: id), known.isSameFile(as: entry)
    else { return nil }
    do throws(Errno) {
      let folder = try staging.enterOrCreate(id.prefix(2), mode: 0o700)
      let former = try previous.walker.enter(id.prefix(2))
      guard try former.status(of: id).byteCount == entry.byteCount else { return nil }
      try? folder.removeFile(id)
      try former.linkFile(id, to: folder, as: id)
      return known
    } catch {
      // Without its blob, or on a file system without links, it is copied again.
      return nil
    }
  }

  private func hasBlob(_ id: [UInt8], _ byteCount: Int64) -> Bool {
    guard let status = try? staging.enter(id.prefix(2)).status(of: id) else { return false }
    return status.kind == .regular && status.byteCount == byteCount
  }

  /// How often a file is copied that changes while it is.
  private static let attempts = 5

  private func copy(
    _ file: borrowing Descriptor, into entry: inout BackupEntry, _ id: [UInt8]
  ) throws(BackupError) {
    let what = "saving \(entry.path.printable)"
    for attempt in 1...Self.attempts {
      let before = try saying(what) { () throws(Errno) in try file.status() }
      entry.adopt(before)
      entry.attributes = try saying(what) { () throws(Errno) in try userAttributes(of: file) }
      entry.digest = try copyBlob(file, entry.byteCount, id, what)
      let after = try saying(what) { () throws(Errno) in try file.status() }
      if after.isSameContent(as: before) { break }
      if attempt == Self.attempts {
        report.unstable.append(entry.path)
        entry.isSettled = false
      }
    }
    // What was changed just now may be changed again within the same tick of the clock.
    let margin: Int64 = 2
    if entry.changedNanoseconds / 1_000_000_000 >= WallTime.now.seconds - margin {
      entry.isSettled = false
    }
  }

  private func copyBlob(
    _ file: borrowing Descriptor, _ byteCount: Int64, _ id: [UInt8], _ what: String
  ) throws(BackupError) -> [UInt8] {
    do throws(Errno) {
      let folder = try staging.enterOrCreate(id.prefix(2), mode: 0o700)
      try folder.removeTree(id)
      let blob = try folder.createFile(id, mode: 0o600)
      try file.copyContents(to: blob, byteCount: byteCount)
      return try sha1(of: blob)
    } catch {
      throw BackupError(what, error)
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
    if hasBlob(id, entry.byteCount) { return }
    try saying("keeping \(entry.path.printable) of \(entry.domain)") { () throws(Errno) in
      let former = try previous.walker.enter(id.prefix(2))
      let folder = try staging.enterOrCreate(id.prefix(2), mode: 0o700)
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

extension FileStatus {
  /// Whether nothing was written between the two.
  func isSameContent(as other: FileStatus) -> Bool {
    byteCount == other.byteCount && modified.nanoseconds == other.modified.nanoseconds
      && changed.nanoseconds == other.changed.nanoseconds
  }
}

/// The `user.` attributes of a file, without that prefix and in order of their names.
func userAttributes(of file: borrowing Descriptor) throws(Errno) -> [BackupEntry.Attribute] {
  let prefix = Array("user.".utf8)
  let names: [[UInt8]]
  do throws(Errno) {
    names = try file.extendedAttributeNames()
  } catch {
    if error == .notSupported { return [] }
    throw error
  }
  var all: [BackupEntry.Attribute] = []
  for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) where name.starts(with: prefix)
  {
    let value = try file.extendedAttribute(name)
    all.append(BackupEntry.Attribute(name: Array(name.dropFirst(prefix.count)), value: value))
  }
  return all
}

/// A random identifier in the form of a UUID, version 4 (RFC 9562).
func randomIdentifier() -> String {
  var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
  bytes[6] = bytes[6] & 0x0f | 0x40
  bytes[8] = bytes[8] & 0x3f | 0x80
  let digits = String(decoding: hexadecimal(bytes), as: UTF8.self).uppercased()
  var text = ""
  for (index, digit) in digits.enumerated() {
    if [8, 12, 16, 20].contains(index) { text += "-" }
    text.append(digit)
  }
  return text
}

/// The digest of a file from its beginning on.
func sha1(of file: borrowing Descriptor) throws(Errno) -> [UInt8] {
  guard var digest = try? SHA1() else { throw .unsupported }
  let raw = file.rawValue
  let capacity = 1 << 20
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 64)
  defer { buffer.deallocate() }
  var position = 0
  while true {
    let count = try retrying { pread(raw, buffer.baseAddress, capacity, position) }
    if count == 0 { return digest.finish() }
    digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    position += count
  }
}
