// The tree that a restore makes: one entry after the other, none of them ever followed.
internal import BackupFormat
internal import Glibc
internal import LinuxKit
internal import Store

/// Where a restore puts entries.
final class RestoreTarget {
  /// What became of an entry.
  enum Outcome: Equatable {
    /// It is there, with a remark about what is not as the backup says.
    case made(remark: String?)
    /// It is left out, and why.
    case refused(String)
  }

  private let root: Walker
  private let ownerUID: UInt32
  private let ownerGID: UInt32
  /// The directory of the last entry, since the next one is often there too, or below.
  private var way: [[UInt8]] = []
  private var parent: Walker
  /// What directories get when all is in them.
  private var directories: [BackupEntry] = []

  init(
    _ root: borrowing Walker, ownerUID: UInt32, ownerGID: UInt32
  ) throws(Errno) {
    self.root = try root.reopened()
    parent = try root.reopened()
    self.ownerUID = ownerUID
    self.ownerGID = ownerGID
  }

  // MARK: Entries

  func makeDirectory(_ entry: BackupEntry) throws(Errno) -> Outcome {
    if entry.path.isEmpty { return .made(remark: nil) }
    guard let name = try goToParent(of: entry.path) else { return Self.noWay }
    let existing = try kind(of: name)
    if let existing, existing != .directory {
      try parent.removeFile(name)
    }
    let directory = try parent.enterOrCreate(name, mode: 0o700)
    try directory.descriptor.setOwner(uid: ownerUID, gid: ownerGID)
    let remark = try setAttributes(of: directory.descriptor, entry)
    directories.append(entry)
    return .made(remark: remark)
  }

  func makeLink(_ entry: BackupEntry) throws(Errno) -> Outcome {
    guard let target = LinkTarget.restored(entry.target ?? [], at: entry.path) else {
      return .refused("it is a link that leads out of the container")
    }
    guard let name = try goToParent(of: entry.path) else { return Self.noWay }
    guard try makeRoom(for: name) else { return Self.directoryInTheWay }
    try parent.createLink(name, to: target)
    try parent.setOwner(of: name, uid: ownerUID, gid: ownerGID)
    try parent.setTimes(of: name, accessed: entry.modified, modified: entry.modified)
    return .made(remark: nil)
  }

  func makeFile(
    _ entry: BackupEntry, from blob: borrowing Descriptor
  ) throws(Errno) -> Outcome {
    guard let name = try goToParent(of: entry.path) else { return Self.noWay }
    guard try makeRoom(for: name) else { return Self.directoryInTheWay }
    let file = try parent.createFile(name, mode: 0o600)
    try blob.copyContents(to: file, byteCount: entry.byteCount)
    let remark = try setAttributes(of: file, entry)
    try file.setOwner(uid: ownerUID, gid: ownerGID)
    try file.setPermissions(entry.permissions)
    try file.setTimes(accessed: entry.modified, modified: entry.modified)
    return .made(remark: remark)
  }

  /// Gives directories their modes and times, now that nothing is made in them any more.
  func finishDirectories() throws(BackupError) {
    for entry in directories {
      do throws(Errno) {
        guard let name = try goToParent(of: entry.path), try kind(of: name) == .directory else {
          continue
        }
        let directory = try parent.enter(name)
        // Its owner must be able to go on in it.
        try directory.descriptor.setPermissions(entry.permissions | 0o700)
        try directory.descriptor.setTimes(accessed: entry.modified, modified: entry.modified)
      } catch {
        throw BackupError("restoring a directory", error)
      }
    }
  }

  // MARK: The way

  private static let noWay = Outcome.refused("what is above it is no directory")
  private static let directoryInTheWay = Outcome.refused("a directory is in its place")

  /// Opens the directory of an entry, which is made if it is not there; the entry's name.
  ///
  /// nil if something else is in the way.
  private func goToParent(of path: [UInt8]) throws(Errno) -> [UInt8]? {
    let slash = UInt8(ascii: "/")
    var names = path.split(separator: slash).map(Array.init)
    guard let name = names.popLast() else { return nil }
    if names == way { return name }
    let isBelow = names.starts(with: way)
    var place = isBelow ? try parent.reopened() : try root.reopened()
    for step in isBelow ? names.dropFirst(way.count) : names[...] {
      do throws(Errno) {
        place = try place.enter(step)
      } catch {
        if error == .notDirectory || error == .tooManyLinks { return nil }
        guard error == .noEntry else { throw error }
        place = try place.createDirectory(step, mode: 0o700)
        try place.descriptor.setOwner(uid: ownerUID, gid: ownerGID)
      }
    }
    parent = place
    way = names
    return name
  }

  private func kind(of name: [UInt8]) throws(Errno) -> FileKind? {
    do throws(Errno) {
      return try parent.status(of: name).kind
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  /// Removes what has the name; false if that is a directory.
  private func makeRoom(for name: [UInt8]) throws(Errno) -> Bool {
    switch try kind(of: name) {
    case .directory: return false
    case nil: return true
    default:
      try parent.removeFile(name)
      return true
    }
  }

  /// Sets the extended attributes; what could not be set, in words.
  private func setAttributes(
    of file: borrowing Descriptor, _ entry: BackupEntry
  ) throws(Errno) -> String? {
    var remark: String?
    for attribute in entry.attributes {
      guard !attribute.name.isEmpty, !attribute.name.contains(0) else { continue }
      do throws(Errno) {
        try file.setExtendedAttribute(Array("user.".utf8) + attribute.name, to: attribute.value)
      } catch {
        remark = "an extended attribute could not be kept: \(error.message)"
      }
    }
    return remark
  }
}

extension BackupEntry {
  /// The last change of the contents, as system calls take it.
  var modified: timespec {
    let unit: Int64 = 1_000_000_000
    let rest = ((modifiedNanoseconds % unit) + unit) % unit
    return timespec(tv_sec: Int((modifiedNanoseconds - rest) / unit), tv_nsec: Int(rest))
  }
}
