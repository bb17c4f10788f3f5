// Unpacks a whole container from one file, into a place where containers are made.
//
// The file is a stranger's. Names are taken apart and walked one by one, so that none of them, and
// no link that came before, leads out; nothing gets a set-id bit, a device or another's owner, and
// nothing is written beyond what the file system has room for.
internal import CArchive
internal import Containers
internal import LinuxKit
internal import Paths
internal import PropertyLists

/// What an archive has held besides bundle and data.
struct ArchivedContainer {
  var record: ContainerRecord
  /// The container's own rules; nil if it had none.
  var rules: [UInt8]?
  /// How many entries were unpacked.
  var entryCount = 0
  /// How many bytes of files.
  var byteCount: Int64 = 0
  /// What was left out, and why, a line each.
  var remarks: [String] = []
}

/// One archive that is being unpacked.
final class ContainerArchive {
  private let archive: OpaquePointer
  private let shown: String
  private let staged: Walker
  /// The directory of the last entry of the data, since the next one is often there too, or below.
  private var way: [[UInt8]] = []
  private var last: Walker
  private let progress: ContainerExport.Progress
  private var writer = BundleWriter()
  /// Whether the bundle is unpacked, or passed over.
  private var takesBundle = true
  private var bytesLeft: Int64
  private var record: ContainerRecord?
  private var rules: [UInt8]?
  private var entryCount = 0
  private var byteCount: Int64 = 0
  private var remarks: [String] = []
  /// How many more there are than are kept.
  private var moreRemarks = 0
  /// What directories of the data get when all is in them.
  private var directories: [Directory] = []

  private struct Directory {
    let names: [[UInt8]]
    let permissions: UInt32
    let modified: Moment
  }

  private static let smallFileByteCount = 1 << 20
  private static let maximumRemarkCount = 1000
  /// How many names a path may have.
  static let maximumDepth = 1024
  /// What an entry costs at least: a place in its directory, and mostly an inode.
  private static let entryByteCount: Int64 = 4096

  /// Unpacks what an open file or pipe holds into the directory of a container that is being made.
  static func unpack(
    _ file: borrowing Descriptor, shownAs shown: String, into staged: borrowing Walker,
    takesBundle: Bool, progress: @escaping ContainerExport.Progress
  ) throws(StoreError) -> ArchivedContainer {
    let archive = try ContainerArchive(file, shown, staged, progress)
    archive.takesBundle = takesBundle
    while try archive.unpackNext() {}
    try archive.finishDirectories()
    guard let record = archive.record else { throw archive.foreign("it has no record") }
    return ArchivedContainer(
      record: record, rules: archive.rules, entryCount: archive.entryCount,
      byteCount: archive.byteCount, remarks: archive.allRemarks + archive.writer.warnings)
  }

  /// Keeps a remark, unless a stranger has made too many necessary.
  private func remark(_ line: String) {
    if remarks.count < Self.maximumRemarkCount { remarks.append(line) } else { moreRemarks += 1 }
  }

  private var allRemarks: [String] {
    moreRemarks == 0 ? remarks : remarks + ["\(moreRemarks) more were left out or changed"]
  }

  private init(
    _ file: borrowing Descriptor, _ shown: String, _ staged: borrowing Walker,
    _ progress: @escaping ContainerExport.Progress
  ) throws(StoreError) {
    let free = try saying(shown) { () throws(Errno) in try staged.descriptor.freeByteCount() }
    let place = try saying(shown) { () throws(Errno) in try staged.reopened() }
    guard let reader = libarchive.archive_read_new() else { throw StoreError(shown, .noMemory) }
    archive = reader
    self.shown = shown
    last = try saying(shown) { () throws(Errno) in try staged.reopened() }
    self.staged = place
    self.progress = progress
    // A bomb is not to take the last of the space.
    bytesLeft = free - free / 16
    _ = libarchive.archive_read_support_format_tar(reader)
    _ = libarchive.archive_read_support_filter_zstd(reader)
    _ = libarchive.archive_read_support_filter_gzip(reader)
    guard libarchive.archive_read_open_fd(reader, file.rawValue, 64 << 10) == ARCHIVE_OK else {
      throw foreign("it is no tar archive")
    }
  }

  deinit { _ = libarchive.archive_read_free(archive) }

  private func foreign(_ why: String) -> StoreError {
    StoreError(.failed, "\(shown) is no exported container: \(why)")
  }

  private func broken() -> StoreError {
    let reason = libarchive.archive_error_string(archive).map { String(cString: $0) }
    return foreign(reason.map { Array($0.utf8).printable } ?? "it can't be read")
  }

  private func pay(_ count: Int64, for path: [UInt8]) throws(StoreError) {
    bytesLeft -= count
    guard bytesLeft >= 0 else {
      throw StoreError(.failed, "\(path.printable): not enough space in the store: free some")
    }
  }

  // MARK: Entries

  private func unpackNext() throws(StoreError) -> Bool {
    var header: OpaquePointer?
    let status = libarchive.archive_read_next_header(archive, &header)
    if status == ARCHIVE_EOF { return false }
    guard status == ARCHIVE_OK || status == ARCHIVE_WARN, let header else { throw broken() }
    guard
      let path =
        (libarchive.archive_entry_pathname(header)
        ?? libarchive.archive_entry_pathname_utf8(header))
        .map({ [UInt8](cString: $0) })
    else { throw broken() }
    let names = try names(of: path)
    entryCount += 1
    // Names that are repeated cost next to nothing in the file.
    try pay(Self.entryByteCount + Int64(path.count), for: path)
    switch names.first.map({ String(decoding: $0, as: UTF8.self) }) {
    case ContainerLayout.record where names.count == 1:
      record = try readRecord(header)
    case ContainerLayout.profile where names.count == 1:
      rules = try readSmallFile(header)
    case ContainerLayout.bundle where names.count > 1:
      if takesBundle { try unpackBundle(header, names, path) } else { entryCount -= 1 }
    case ContainerLayout.data where names.count > 1:
      try unpackData(header, names, path)
    case ContainerLayout.bundle, ContainerLayout.data:
      // Their own directories, as tar(1) would put them there.
      break
    default: throw foreign("'\(path.printable)' has no place in one")
    }
    progress(byteCount)
    return true
  }

  /// The names of a path; throws for one that could lead anywhere else.
  private func names(of path: [UInt8]) throws(StoreError) -> [[UInt8]] {
    var names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    if names.first?.elementsEqual(".".utf8) == true { names.removeFirst() }
    let dots = [Array(".".utf8), Array("..".utf8)]
    guard path.first != UInt8(ascii: "/"), !names.isEmpty, !names.contains(where: dots.contains)
    else { throw foreign("'\(path.printable)' leads out of it") }
    guard names.count <= Self.maximumDepth, names.allSatisfy({ $0.count <= 255 }) else {
      throw foreign("'\(path.printable)' is longer than a path can be")
    }
    return names
  }

  private func kind(
    of header: OpaquePointer, _ path: [UInt8]
  ) throws(StoreError) -> FileKind {
    guard let kind = FileKind(mode: UInt32(libarchive.archive_entry_filetype(header))) else {
      throw foreign("'\(path.printable)' is of an unknown kind")
    }
    return kind
  }

  private func readRecord(_ header: OpaquePointer) throws(StoreError) -> ContainerRecord {
    let bytes = try readSmallFile(header)
    do throws(RecordError) {
      // Whoever wrote the file has nothing to lend here.
      return try ContainerRecord(bytes: bytes).portable
    } catch {
      throw foreign("its record is broken: \(error.reason)")
    }
  }

  private func readSmallFile(_ header: OpaquePointer) throws(StoreError) -> [UInt8] {
    let size = libarchive.archive_entry_size(header)
    guard libarchive.archive_entry_hardlink(header) == nil,
      libarchive.archive_entry_size_is_set(header) != 0,
      (0...Int64(Self.smallFileByteCount)).contains(size)
    else { throw foreign("its record or its rules are no small file") }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = bytes.withUnsafeMutableBytes {
      libarchive.archive_read_data(archive, $0.baseAddress, $0.count)
    }
    guard count == bytes.count else { throw broken() }
    return bytes
  }

  // MARK: The bundle

  private func unpackBundle(
    _ header: OpaquePointer, _ names: [[UInt8]], _ path: [UInt8]
  ) throws(StoreError) {
    if let mistake = BundleName.mistake(in: names[1]) {
      throw foreign("'\(names[1].printable)' is no bundle: \(mistake)")
    }
    guard names.count <= BundleWriter.maximumDepth else {
      throw foreign("'\(path.printable)': directories lie too deep")
    }
    let kind = try kind(of: header, path)
    let parents = kind == .directory ? names[...] : names.dropLast()
    var place = try saying(path.printable) { () throws(Errno) in try staged.reopened() }
    for name in parents {
      place = try step(to: name, from: place, path) { writer, place throws(StoreError) in
        try writer.createDirectory(name, in: place, shownAs: path)
      }
    }
    guard kind != .directory, let name = names.last else { return }
    switch kind {
    case .regular where libarchive.archive_entry_hardlink(header) == nil:
      let file = try writer.createFile(
        name, permissions: UInt32(libarchive.archive_entry_perm(header)), in: place, shownAs: path)
      try copyData(header, to: file, path)
      try BundleWriter.writing(path) { () throws(Errno) in
        try file.setModified(seconds: libarchive.archive_entry_mtime(header))
      }
    case .symbolicLink:
      try writer.createLink(name, to: try target(of: header), in: place, shownAs: path)
    default:
      throw foreign("'\(path.printable)': a bundle has files, directories and links")
    }
  }

  /// Goes down one step, into what is made if it is not there.
  private func step(
    to name: [UInt8], from place: borrowing Walker, _ path: [UInt8],
    making make: (inout BundleWriter, borrowing Walker) throws(StoreError) -> Walker
  ) throws(StoreError) -> Walker {
    do throws(Errno) {
      return try place.enter(name)
    } catch {
      if error == .tooManyLinks || error == .notDirectory {
        throw foreign("'\(path.printable)' goes through what is no directory")
      }
      guard error == .noEntry else { throw StoreError(path.printable, error) }
      return try make(&writer, place)
    }
  }

  private func target(of header: OpaquePointer) throws(StoreError) -> [UInt8] {
    let text =
      libarchive.archive_entry_symlink(header) ?? libarchive.archive_entry_symlink_utf8(header)
    guard let target = text.map({ [UInt8](cString: $0) }), !target.isEmpty else { throw broken() }
    return target
  }

  // MARK: The data

  private func unpackData(
    _ header: OpaquePointer, _ names: [[UInt8]], _ path: [UInt8]
  ) throws(StoreError) {
    let place = try parent(of: names, path)
    guard let name = names.last else { return }
    if let first = libarchive.archive_entry_hardlink(header)
      ?? libarchive.archive_entry_hardlink_utf8(header)
    {
      return try linkFile([UInt8](cString: first), to: place, as: name, path)
    }
    switch try kind(of: header, path) {
    case .directory: try makeDirectory(header, names, in: place, path)
    case .regular: try makeFile(header, name, in: place, path)
    case .symbolicLink:
      let below = Array(names.dropFirst().joined(separator: [UInt8(ascii: "/")]))
      guard let target = LinkTarget.restored(try target(of: header), at: below) else {
        remark(
          "\(path.printable) is left out: it is a link that leads out of the container")
        return
      }
      try BundleWriter.writing(path) { () throws(Errno) in
        do throws(Errno) {
          try place.createLink(name, to: target)
        } catch {
          // One that every container has.
          guard error == .exists, try place.readLink(name) == target else { throw error }
        }
        let moment = Moment(header)
        try place.setTimes(of: name, moment)
      }
    case .fifo:
      try BundleWriter.writing(path) { () throws(Errno) in
        try place.createPipe(name, mode: UInt32(libarchive.archive_entry_perm(header)) & 0o777)
        try place.setTimes(of: name, Moment(header))
      }
    case .socket, .characterDevice, .blockDevice:
      throw foreign("'\(path.printable)' is a device or a socket")
    }
  }

  /// The directory that an entry lies in, which is made if the archive has not said it.
  private func parent(of names: [[UInt8]], _ path: [UInt8]) throws(StoreError) -> Walker {
    let parents = Array(names.dropLast())
    let isBelow = parents.starts(with: way)
    var place = try saying(path.printable) { () throws(Errno) in
      isBelow ? try last.reopened() : try staged.reopened()
    }
    for depth in (isBelow ? way.count : 0)..<parents.count {
      let name = parents[depth]
      place = try step(to: name, from: place, path) { _, place throws(StoreError) in
        try BundleWriter.writing(path) { () throws(Errno) in
          try place.createDirectory(name, mode: depth == 0 ? 0o755 : 0o700)
        }
      }
    }
    way = parents
    last = try saying(path.printable) { () throws(Errno) in try place.reopened() }
    return place
  }

  private func makeDirectory(
    _ header: OpaquePointer, _ names: [[UInt8]], in place: borrowing Walker, _ path: [UInt8]
  ) throws(StoreError) {
    guard let name = names.last else { return }
    let directory = try step(to: name, from: place, path) { _, place throws(StoreError) in
      try BundleWriter.writing(path) { () throws(Errno) in
        try place.createDirectory(name, mode: 0o700)
      }
    }
    try setAttributes(header, of: directory.descriptor, path)
    directories.append(
      Directory(
        names: names, permissions: structuralMode(of: names) ?? permissions(of: header, path),
        modified: Moment(header)))
  }

  /// The mode of a directory that every container has; nil for any other.
  private func structuralMode(of names: [[UInt8]]) -> UInt32? {
    let path = names.dropFirst().map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    return ContainerLayout.structuralEntries.first { $0.path == path }?.mode
  }

  private func makeFile(
    _ header: OpaquePointer, _ name: [UInt8], in place: borrowing Walker, _ path: [UInt8]
  ) throws(StoreError) {
    let file = try BundleWriter.writing(path) { () throws(Errno) in
      try place.createFile(name, mode: 0o600)
    }
    try copyData(header, to: file, path)
    try setAttributes(header, of: file, path)
    let permissions = permissions(of: header, path)
    try BundleWriter.writing(path) { () throws(Errno) in
      try file.setPermissions(permissions)
      try file.setTimes(Moment(header))
    }
  }

  private func permissions(of header: OpaquePointer, _ path: [UInt8]) -> UInt32 {
    let permissions = UInt32(libarchive.archive_entry_perm(header))
    if permissions & 0o6000 != 0 {
      remark("\(path.printable): its set-id bits are not taken over")
    }
    return permissions & 0o1777
  }

  private func linkFile(
    _ first: [UInt8], to place: borrowing Walker, as name: [UInt8], _ path: [UInt8]
  ) throws(StoreError) {
    let names = try names(of: first)
    guard names.count > 1, names[0].elementsEqual(ContainerLayout.data.utf8),
      let last = names.last
    else { throw foreign("'\(path.printable)' is a link to what is not in its data") }
    do throws(Errno) {
      let from = try staged.enter(path: names.dropLast())
      guard try from.status(of: last).kind == .regular else { throw .invalid }
      try from.linkFile(last, to: place, as: name)
    } catch {
      throw foreign("'\(path.printable)' can't be one more name of '\(first.printable)'")
    }
  }

  private func setAttributes(
    _ header: OpaquePointer, of file: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    _ = libarchive.archive_entry_xattr_reset(header)
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var count = 0
    while libarchive.archive_entry_xattr_next(header, &name, &value, &count) == ARCHIVE_OK {
      guard let name, count == 0 || value != nil else { continue }
      let bytes = [UInt8](cString: name)
      guard bytes.starts(with: "user.".utf8) else {
        remark("\(path.printable): its attribute \(bytes.printable) is not taken over")
        continue
      }
      let content = Array(UnsafeRawBufferPointer(start: value, count: count))
      try pay(Int64(count), for: path)
      do throws(Errno) {
        try file.setExtendedAttribute(bytes, to: content)
      } catch {
        remark(
          "\(path.printable): its attribute \(bytes.printable) could not be kept: \(error.message)")
      }
    }
  }

  /// Copies the blocks that there are; what is between them is a hole.
  private func copyData(
    _ header: OpaquePointer, to file: borrowing Descriptor, _ path: [UInt8]
  ) throws(StoreError) {
    let size = libarchive.archive_entry_size(header)
    guard libarchive.archive_entry_size_is_set(header) != 0, size >= 0 else { throw broken() }
    while true {
      var block: UnsafeRawPointer?
      var (count, offset) = (0, Int64(0))
      let status = libarchive.archive_read_data_block(archive, &block, &count, &offset)
      if status == ARCHIVE_EOF { break }
      guard status == ARCHIVE_OK || status == ARCHIVE_WARN, offset >= 0,
        offset <= size, Int64(count) <= size - offset
      else { throw broken() }
      try pay(Int64(count), for: path)
      let bytes = UnsafeRawBufferPointer(start: block, count: count)
      try BundleWriter.writing(path) { () throws(Errno) in try file.writeChunk(bytes, at: offset) }
    }
    try BundleWriter.writing(path) { () throws(Errno) in try file.setByteCount(size) }
    // A hole costs nothing, so that the sum may be anything.
    byteCount = byteCount.addingReportingOverflow(size).partialValue
  }

  /// Gives directories their modes and times, now that nothing is made in them any more.
  private func finishDirectories() throws(StoreError) {
    for directory in directories {
      let parent = try parent(of: directory.names, Array(shown.utf8))
      try saying("unpacking \(shown)") { () throws(Errno) in
        guard let name = directory.names.last else { return }
        let place = try parent.enter(name)
        // Its owner must be able to go on in it.
        try place.descriptor.setPermissions(directory.permissions | 0o700)
        try place.descriptor.setTimes(directory.modified)
      }
    }
  }
}

/// When an entry was changed last.
private struct Moment {
  let seconds: Int
  let nanoseconds: Int

  init(_ header: OpaquePointer) {
    seconds = libarchive.archive_entry_mtime(header)
    nanoseconds = min(max(0, libarchive.archive_entry_mtime_nsec(header)), 999_999_999)
  }
}

extension Descriptor {
  fileprivate borrowing func setTimes(_ moment: Moment) throws(Errno) {
    try setModified(seconds: moment.seconds, nanoseconds: moment.nanoseconds)
  }
}

extension Walker {
  fileprivate borrowing func setTimes(of name: [UInt8], _ moment: Moment) throws(Errno) {
    try setModified(of: name, seconds: moment.seconds, nanoseconds: moment.nanoseconds)
  }
}
