// Unpacks the app of an .ipa, a zip with `Payload/Name.app/`, into the store.
//
// The names in it are a stranger's: they are taken apart and walked one by one below the target, so
// that none of them, and no link that an earlier entry made, leads out. Nothing is written beyond
// the size that an entry states, nor more than the file system has room for.
internal import CArchive
internal import LinuxKit
internal import Paths

/// One archive that is being unpacked.
struct BundleArchive: ~Copyable {
  /// libarchive's reader.
  private let archive: OpaquePointer
  /// The archive's path, to be shown.
  private let shown: String
  private var writer = BundleWriter()
  private var bundleName: [UInt8]?
  private var bytesLeft: Int64

  private static let payload = Array("Payload".utf8)

  deinit { _ = libarchive.archive_read_free(archive) }

  /// Unpacks into `target` the one app that is in the archive.
  ///
  /// Returns its name and what the installer should know.
  static func unpack(
    _ file: borrowing Descriptor, at path: [UInt8], into target: borrowing Walker
  ) throws(StoreError) -> (name: [UInt8], warnings: [String]) {
    var archive = try open(file, path, into: target)
    while try archive.unpackNext(into: target) {}
    guard let name = archive.bundleName else {
      throw StoreError(
        .failed, "\(path.printable) has no app in it: that would be Payload/NAME.app")
    }
    let bundle = try saying(name.printable) { () throws(Errno) in try target.enter(name) }
    try LinkCheck.refuseLinksThatLeave(bundle, called: name)
    return (name, archive.writer.warnings)
  }

  private init(archive: OpaquePointer, shown: String, bytesLeft: Int64) {
    self.archive = archive
    self.shown = shown
    self.bytesLeft = bytesLeft
  }

  private static func open(
    _ file: borrowing Descriptor, _ path: [UInt8], into target: borrowing Walker
  ) throws(StoreError) -> BundleArchive {
    let free = try saying(path.printable) { () throws(Errno) in
      try target.descriptor.freeByteCount()
    }
    guard let reader = libarchive.archive_read_new() else {
      throw StoreError(path.printable, .noMemory)
    }
    // A bomb is not to take the last of the space.
    let archive = BundleArchive(
      archive: reader, shown: path.printable, bytesLeft: free - free / 16)
    _ = libarchive.archive_read_support_format_zip_seekable(reader)
    guard libarchive.archive_read_open_fd(reader, file.rawValue, 64 << 10) == ARCHIVE_OK else {
      throw StoreError(.failed, "\(path.printable) is neither an app's directory nor a zip")
    }
    return archive
  }

  // MARK: Entries

  private mutating func unpackNext(into target: borrowing Walker) throws(StoreError) -> Bool {
    var entry: OpaquePointer?
    let status = libarchive.archive_read_next_header(archive, &entry)
    if status == ARCHIVE_EOF { return false }
    guard status == ARCHIVE_OK || status == ARCHIVE_WARN, let entry else { throw broken() }
    guard
      let path = Self.bytes(
        libarchive.archive_entry_pathname(entry), libarchive.archive_entry_pathname_utf8(entry))
    else { throw broken() }
    guard let names = try names(of: path) else { return true }
    try unpack(entry, names, shownAs: Array(names.joined(separator: [UInt8(ascii: "/")])), target)
    return true
  }

  /// The names from the bundle's on; nil for what is not in it.
  private mutating func names(of path: [UInt8]) throws(StoreError) -> [[UInt8]]? {
    let isAbsolute = path.first == UInt8(ascii: "/")
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    let dots = [Array(".".utf8), Array("..".utf8)]
    guard !isAbsolute, !names.contains(where: dots.contains) else {
      throw StoreError(.failed, "\(shown): '\(path.printable)' leads out of the archive")
    }
    guard names.count >= 2, names[0] == Self.payload else { return nil }
    let name = names[1]
    // What Finder leaves in archives, and what begins with a dot, is no app.
    if BundleName.mistake(in: name) != nil { return nil }
    if let bundleName, bundleName != name {
      throw StoreError(
        .failed,
        "\(shown) has two apps in it, \(bundleName.printable) and \(name.printable): unpack it, "
          + "and install one of them")
    }
    bundleName = name
    return Array(names.dropFirst())
  }

  private mutating func unpack(
    _ entry: OpaquePointer, _ names: [[UInt8]], shownAs path: [UInt8], _ target: borrowing Walker
  ) throws(StoreError) {
    guard names.count <= BundleWriter.maximumDepth else {
      throw StoreError(
        .failed, "\(path.printable): directories lie more than \(BundleWriter.maximumDepth) deep")
    }
    let kind = FileKind(mode: UInt32(libarchive.archive_entry_filetype(entry)))
    // A zip need not list the directories before what is in them.
    let parents = kind == .directory ? names[...] : names.dropLast()
    var place = try saying(path.printable) { () throws(Errno) in try target.reopened() }
    for name in parents { place = try enterOrCreate(name, in: place, path) }
    guard kind != .directory, let name = names.last, names.count > 1 else {
      if kind == .directory { return }
      throw StoreError(.failed, "\(shown): \(path.printable) is not a directory")
    }
    switch kind {
    case .regular: try unpackFile(entry, name, path, place)
    case .symbolicLink: try unpackLink(entry, name, path, place)
    default:
      throw StoreError(
        .failed,
        "\(path.printable) is a \(kind?.words ?? "file of an unknown kind"): a bundle has files, "
          + "directories and links")
    }
  }

  private mutating func enterOrCreate(
    _ name: [UInt8], in place: borrowing Walker, _ path: [UInt8]
  ) throws(StoreError) -> Walker {
    do throws(Errno) {
      return try place.enter(name)
    } catch {
      if error == .tooManyLinks || error == .notDirectory {
        throw StoreError(.failed, "\(shown): '\(path.printable)' goes through what is no directory")
      }
      guard error == .noEntry else { throw StoreError(path.printable, error) }
      return try writer.createDirectory(name, in: place, shownAs: path)
    }
  }

  private mutating func unpackFile(
    _ entry: OpaquePointer, _ name: [UInt8], _ path: [UInt8], _ place: borrowing Walker
  ) throws(StoreError) {
    let byteCount = libarchive.archive_entry_size(entry)
    guard libarchive.archive_entry_size_is_set(entry) != 0, byteCount >= 0 else { throw broken() }
    guard byteCount <= bytesLeft else {
      throw StoreError(
        .failed, "\(path.printable): not enough space in the store: free some, install again")
    }
    let file = try writer.createFile(
      name, permissions: UInt32(libarchive.archive_entry_perm(entry)), in: place, shownAs: path)
    let seconds = libarchive.archive_entry_mtime(entry)
    let written = try copyData(to: file, exactly: byteCount, path)
    bytesLeft -= written
    try BundleWriter.writing(path) { () throws(Errno) in try file.setModified(seconds: seconds) }
  }

  private func copyData(
    to file: borrowing Descriptor, exactly limit: Int64, _ path: [UInt8]
  ) throws(StoreError) -> Int64 {
    var buffer = [UInt8](repeating: 0, count: 128 << 10)
    var written: Int64 = 0
    while true {
      let count = buffer.withUnsafeMutableBytes {
        libarchive.archive_read_data(archive, $0.baseAddress, $0.count)
      }
      if count == 0 { break }
      guard count > 0 else { throw broken() }
      written += Int64(count)
      guard written <= limit else {
        throw StoreError(.failed, "\(shown): \(path.printable) is larger than the archive says")
      }
      let chunk = Array(buffer.prefix(count))
      try BundleWriter.writing(path) { () throws(Errno) in try file.writeAll(chunk) }
    }
    guard written == limit else {
      throw StoreError(.failed, "\(shown): \(path.printable) is smaller than the archive says")
    }
    return written
  }

  private mutating func unpackLink(
    _ entry: OpaquePointer, _ name: [UInt8], _ path: [UInt8], _ place: borrowing Walker
  ) throws(StoreError) {
    guard
      let destination = Self.bytes(
        libarchive.archive_entry_symlink(entry), libarchive.archive_entry_symlink_utf8(entry)),
      !destination.isEmpty
    else { throw broken() }
    try writer.createLink(name, to: destination, in: place, shownAs: path)
  }

  // MARK: libarchive

  /// The raw bytes of a name; where libarchive can't give them outside of a UTF-8 locale, the
  /// UTF-8.
  private static func bytes(
    _ raw: UnsafePointer<CChar>?, _ utf8: @autoclosure () -> UnsafePointer<CChar>?
  ) -> [UInt8]? {
    (raw ?? utf8()).map { Array(cString: $0) }
  }

  private func broken() -> StoreError {
    let reason = libarchive.archive_error_string(archive).map { String(cString: $0) }
    let line = reason?.split(whereSeparator: \.isNewline).joined(separator: " ")
    return StoreError(.failed, "\(shown) is a broken archive: \(line ?? "it can't be read")")
  }
}

/// Looks at all links of an unpacked bundle, when everything that they may lead to is there.
struct LinkCheck: ~Copyable, TreeVisitor {
  let top: Walker
  var components: [[UInt8]] = []
  var leaving: [UInt8]?

  static func refuseLinksThatLeave(
    _ bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) {
    let top = try saying(name.printable) { () throws(Errno) in try bundle.reopened() }
    var check = LinkCheck(top: top)
    try saying(name.printable) { () throws(Errno) in try bundle.visitTree(&check) }
    if let path = check.leaving {
      throw StoreError(
        .failed, "\(name.printable)/\(path.printable) is a link that leads out of the bundle")
    }
  }

  init(top: consuming Walker) { self.top = top }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    guard entry.kind == .symbolicLink else { return true }
    let path = Array((components + [entry.name]).joined(separator: [UInt8(ascii: "/")]))
    do throws(Errno) {
      _ = try top.find(beneath: path)
    } catch {
      if error == .crossDevice || error == .tooManyLinks { leaving = path }
    }
    return true
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    components.append(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    components.removeLast()
  }
}
