// A backup on disk: a directory with a manifest, three property lists, and the content of files in
// folders named by the first two digits of their ids.
public import LinuxKit
internal import Paths

/// A backup that is there, as we or others made it.
public final class BackupDirectory {
  /// The directory.
  public let walker: Walker
  /// Its path, to be shown.
  public let shown: String
  let manifest: Manifest

  /// Opens the backup in a directory, or the only one in a directory of backups.
  ///
  /// Throws in words what is there instead, and refuses one that is encrypted.
  public static func open(_ path: [UInt8]) throws(BackupError) -> BackupDirectory {
    let found = try saying(path.printable) { () throws(Errno) in try Walker.open(path: path) }
    if try has(Manifest.name, in: found) {
      return try BackupDirectory(found, shown: path.printable)
    }
    let names = try backups(in: found, path.printable)
    guard let name = names.first else {
      throw BackupError(
        "\(path.printable): there is no backup here: none of its directories has a Manifest.db")
    }
    guard names.count == 1 else {
      let list = names.map(\.printable).sorted().joined(separator: ", ")
      throw BackupError("\(path.printable): there are several backups here; name one: \(list)")
    }
    let shown = "\(path.printable)/\(name.printable)"
    let below = try saying(shown) { () throws(Errno) in try found.enter(name) }
    return try BackupDirectory(below, shown: shown)
  }

  /// The backup of a name in a directory of backups; nil if there is none.
  static func find(
    _ name: [UInt8], in directory: borrowing Walker, _ shown: String
  ) throws(BackupError) -> BackupDirectory? {
    let what = "\(shown)/\(name.printable)"
    let found: Walker
    do throws(Errno) {
      found = try directory.enter(name)
    } catch {
      if error == .noEntry { return nil }
      throw BackupError(what, error)
    }
    return try BackupDirectory(found, shown: what)
  }

  /// SQLite reads through it as long as the manifest is open.
  private let manifestFile: Descriptor

  init(_ walker: consuming Walker, shown: String) throws(BackupError) {
    let name = "\(shown)/\(Manifest.name)"
    let file: Descriptor
    do throws(Errno) {
      file = try walker.openRegularFile(Manifest.name.utf8)
    } catch {
      throw BackupError(name, error)
    }
    manifest = try Manifest(
      path: "/proc/self/fd/\(file.rawValue)", .readingUntrusted, shown: name)
    manifestFile = file
    self.walker = walker
    self.shown = shown
    try refuseEncrypted()
  }

  private static func has(_ name: String, in directory: borrowing Walker) throws(BackupError)
    -> Bool
  {
    (try? directory.status(of: name.utf8)) != nil
  }

  /// The directories that are backups, by what is in them; those that are being made are none.
  static func backups(
    in directory: borrowing Walker, _ shown: String
  ) throws(BackupError) -> [[UInt8]] {
    let entries = try saying(shown) { () throws(Errno) in try directory.entries() }
    var names: [[UInt8]] = []
    for entry in entries where entry.kind == .directory && !entry.name.contains(0x2e) {
      guard let below = try? directory.enter(entry.name) else { continue }
      if try has(Manifest.name, in: below) { names.append(entry.name) }
    }
    return names
  }

  private func refuseEncrypted() throws(BackupError) {
    guard let bytes = try? contents(of: BackupPlists.manifestName) else { return }
    if BackupPlists.saysEncrypted(bytes) {
      throw BackupError(
        "\(shown): the backup is encrypted, which can't be read here: make one without a password")
    }
  }

  /// The versions of the apps, as far as the backup says them.
  var versions: [String: String] {
    (try? contents(of: BackupPlists.manifestName)).map(BackupPlists.apps) ?? [:]
  }

  /// A small file of the backup.
  func contents(of name: String) throws(Errno) -> [UInt8] {
    try walker.openRegularFile(name.utf8).readToEnd(atMost: 16 << 20)
  }

  /// The content of a file, open for reading.
  func blob(_ id: [UInt8]) throws(Errno) -> Descriptor {
    try walker.enter(id.prefix(2)).openRegularFile(id)
  }
}
