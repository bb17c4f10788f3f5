// Taking one entry into a backup: by one more name where it has not changed, else by a copy that is
// made again while the file changes.
internal import BackupFormat
internal import LinuxKit
internal import Paths

extension BackupWriter {
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
      hasBlob(of: known, id)
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

  /// Whether what a file was saved as is in its place.
  ///
  /// An interrupted run has waited for the disk with the manifest alone: where the disk was gone
  /// meanwhile, a file may be there without its content.
  func hasBlob(of entry: BackupEntry, _ id: [UInt8]) -> Bool {
    guard let folder = try? staging.enter(id.prefix(2)), let status = try? folder.status(of: id),
      status.kind == .regular, status.byteCount == entry.byteCount
    else { return false }
    if !isResumed { return true }
    guard let digest = entry.digest, let blob = try? folder.openRegularFile(id),
      let found = try? sha1(of: blob)
    else { return false }
    return found == digest
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
