// A whole container in one file: a tar archive in the pax format, compressed by zstd, that tar(1)
// reads too.
//
//   container.plist    the record, without what holds on this host only
//   profile            the container's own rules, if any
//   bundle/NAME.app/   the bundle
//   data/              the data, but for what goes at exit
internal import CArchive
internal import Containers
public import LinuxKit
internal import Paths
public import Policy

/// What an export did.
public struct ExportReport: Equatable, Sendable {
  /// How many entries the archive has.
  public var entryCount = 0
  /// How many bytes of files.
  public var byteCount: Int64 = 0
  /// What was left out, and why, a line each.
  public var remarks: [String] = []
}

/// An export of one container.
public final class ContainerExport {
  /// Told after each entry: how many bytes of files there were.
  public typealias Progress = (_ bytes: Int64) -> Void

  private let container: Container
  private let policy: PolicyEngine
  private let progress: Progress
  private let archive: OpaquePointer
  private(set) var report = ExportReport()
  /// Where the first name of a file with several is in the archive.
  private var firstNames: [UInt64: [UInt8]] = [:]

  /// An export of a container under its rules.
  public init(
    _ container: Container, _ policy: PolicyEngine, progress: @escaping Progress
  ) throws(StoreError) {
    guard let archive = libarchive.archive_write_new() else {
      throw StoreError("exporting \(container.identifier)", .noMemory)
    }
    self.archive = archive
    self.container = container
    self.policy = policy
    self.progress = progress
  }

  deinit { _ = libarchive.archive_write_free(archive) }

  /// Writes the archive to an open file or pipe.
  public func write(to file: borrowing Descriptor) throws(StoreError) -> ExportReport {
    _ = libarchive.archive_write_set_format_pax(archive)
    // Names that are not ASCII are written as the bytes that they are: the locale is that of C.
    _ = libarchive.archive_write_add_filter_zstd(archive)
    // A pipe would get zeros behind the end, which no reader of zstd takes.
    _ = libarchive.archive_write_set_bytes_in_last_block(archive, 1)
    try check(libarchive.archive_write_open_fd(archive, file.rawValue))
    try add(ContainerLayout.record, try recordBytes())
    if let rules = try container.ownProfile() { try add(ContainerLayout.profile, rules) }
    if !container.record.bundleName.isEmpty {
      try addTree(ContainerLayout.bundle, heeding: nil)
    }
    try addTree(ContainerLayout.data, heeding: policy)
    try check(libarchive.archive_write_close(archive))
    return report
  }

  /// Writes the bundle alone, as an .ipa that can be installed.
  ///
  /// Throws if there is none.
  public func writePackage(to file: borrowing Descriptor) throws(StoreError) {
    guard !container.record.bundleName.isEmpty else {
      throw StoreError(.failed, "\(container.identifier) has no bundle, only data was kept")
    }
    _ = libarchive.archive_write_set_format_zip(archive)
    try check(libarchive.archive_write_open_fd(archive, file.rawValue))
    try addTree(ContainerLayout.bundle, as: "Payload", heeding: nil)
    try check(libarchive.archive_write_close(archive))
  }

  private func recordBytes() throws(StoreError) -> [UInt8] {
    let record = container.record
    do throws(PropertyListFile.Malformed) {
      return try PropertyListFile.xml(record.portable.propertyList)
    } catch {
      throw StoreError(.failed, "the record of \(record.identifier): \(error.reason)")
    }
  }

  // MARK: Entries

  private func add(_ name: String, _ contents: [UInt8]) throws(StoreError) {
    let entry = try newEntry(Array(name.utf8))
    defer { libarchive.archive_entry_free(entry) }
    libarchive.archive_entry_set_filetype(entry, FileKind.regular.archiveBits)
    libarchive.archive_entry_set_perm(entry, 0o600)
    libarchive.archive_entry_set_size(entry, Int64(contents.count))
    try check(libarchive.archive_write_header(archive, entry))
    try writeData(contents[...])
  }

  private func addTree(
    _ name: String, as shownName: String? = nil, heeding policy: PolicyEngine?
  ) throws(StoreError) {
    let top = try saying("the \(name) of \(container.identifier)") { () throws(Errno) in
      try container.directory.enter(name.utf8)
    }
    var walk = ExportWalk(
      self, policy, top: Array((shownName ?? name).utf8),
      bundleName: policy == nil ? [] : container.record.bundleName)
    do throws(Errno) {
      try top.visitTree(&walk)
    } catch {
      throw walk.failure ?? StoreError("reading the \(name) of \(container.identifier)", error)
    }
  }

  /// Leaves out what is in a directory that an app has built too deep.
  fileprivate func leaveOut(_ path: [UInt8]) {
    let line = "what is below \(Array(path.prefix(100)).printable)… is left out: it lies too deep"
    if report.remarks.last != line { report.remarks.append(line) }
  }

  /// Adds what was found at a path of the archive.
  fileprivate func add(
    _ found: DirectoryEntry, at path: [UInt8], in directory: borrowing Walker
  ) throws(StoreError) {
    do throws(Errno) {
      switch found.kind {
      case .directory:
        try addDirectory(try directory.enter(found.name), path)
      case .regular:
        let file = try directory.openRegularFile(found.name)
        try keepFailure { () throws(StoreError) in try addFile(file, path) }
      case .symbolicLink:
        let target = try directory.readLink(found.name)
        let status = try directory.status(of: found.name)
        try keepFailure { () throws(StoreError) in try addLink(target, status, path) }
      case .fifo:
        let status = try directory.status(of: found.name)
        try keepFailure { () throws(StoreError) in
          let entry = try newEntry(path, status)
          defer { libarchive.archive_entry_free(entry) }
          try check(libarchive.archive_write_header(archive, entry))
        }
      case .socket, .characterDevice, .blockDevice:
        report.remarks.append("\(path.printable) is left out: it is a \(found.kind.words)")
        return
      }
      report.entryCount += 1
      progress(report.byteCount)
    } catch {
      if let failure = kept.take() { throw failure }
      // It has gone, or has become another kind, since the directory was read.
      if [.noEntry, .notDirectory, .tooManyLinks, .invalid].contains(error) { return }
      throw StoreError(path.printable, error)
    }
  }

  /// An error in words, on its way through what throws errnos.
  private var kept: StoreError?

  private func keepFailure(_ body: () throws(StoreError) -> Void) throws(Errno) {
    do throws(StoreError) {
      try body()
    } catch {
      kept = error
      throw .inputOutput
    }
  }

  private func addDirectory(_ directory: borrowing Walker, _ path: [UInt8]) throws(Errno) {
    let status = try directory.status()
    try keepFailure { () throws(StoreError) in
      let entry = try newEntry(path, status)
      defer { libarchive.archive_entry_free(entry) }
      try addAttributes(of: directory.descriptor, to: entry, path)
      try check(libarchive.archive_write_header(archive, entry))
    }
  }

  private func addLink(
    _ target: [UInt8], _ status: FileStatus, _ path: [UInt8]
  ) throws(StoreError) {
    let entry = try newEntry(path, status)
    defer { libarchive.archive_entry_free(entry) }
    libarchive.archive_entry_set_symlink(entry, target.map { CChar(bitPattern: $0) } + [0])
    try check(libarchive.archive_write_header(archive, entry))
  }

  private func addFile(_ file: borrowing Descriptor, _ path: [UInt8]) throws(StoreError) {
    let status = try saying(path.printable) { () throws(Errno) in try file.status() }
    let entry = try newEntry(path, status)
    defer { libarchive.archive_entry_free(entry) }
    if status.linkCount > 1 {
      if let first = firstNames[status.identity.inode] {
        libarchive.archive_entry_set_hardlink(entry, first.map { CChar(bitPattern: $0) } + [0])
        libarchive.archive_entry_set_size(entry, 0)
        return try check(libarchive.archive_write_header(archive, entry))
      }
      firstNames[status.identity.inode] = path
    }
    try addAttributes(of: file, to: entry, path)
    libarchive.archive_entry_set_size(entry, status.byteCount)
    let regions = try saying(path.printable) { () throws(Errno) in
      try file.dataRegions(of: status.byteCount)
    }
    let isWhole = regions == [0..<status.byteCount]
    if !isWhole {
      for region in regions {
        libarchive.archive_entry_sparse_add_entry(
          entry, region.lowerBound, region.upperBound - region.lowerBound)
      }
      // Only an end that is said ends a file that ends in a hole.
      if regions.last?.upperBound != status.byteCount {
        libarchive.archive_entry_sparse_add_entry(entry, status.byteCount, 0)
      }
    }
    try check(libarchive.archive_write_header(archive, entry))
    try copyData(of: file, status.byteCount, path)
    report.byteCount += status.byteCount
  }

  /// Writes as many bytes as the header says: a file that has become shorter is filled up by zeros.
  private func copyData(
    of file: borrowing Descriptor, _ byteCount: Int64, _ path: [UInt8]
  ) throws(StoreError) {
    let capacity: Int64 = 1 << 20
    var position: Int64 = 0
    var isShort = false
    while position < byteCount {
      let wanted = Int(min(capacity, byteCount - position))
      let offset = position
      var chunk = try saying(path.printable) { () throws(Errno) in
        try file.readChunk(wanted, at: offset)
      }
      if chunk.count < wanted {
        if !isShort {
          report.remarks.append("\(path.printable) became shorter while it was copied")
        }
        isShort = true
        chunk += [UInt8](repeating: 0, count: wanted - chunk.count)
      }
      try writeData(chunk[...])
      position += Int64(wanted)
    }
  }

  private func writeData(_ bytes: ArraySlice<UInt8>) throws(StoreError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        libarchive.archive_write_data(archive, $0.baseAddress, $0.count)
      }
      guard count > 0 else { throw failure() }
      rest = rest.dropFirst(Int(count))
    }
  }

  private func addAttributes(
    of file: borrowing Descriptor, to entry: OpaquePointer, _ path: [UInt8]
  ) throws(StoreError) {
    let names: [[UInt8]]
    do throws(Errno) {
      names = try file.extendedAttributeNames()
    } catch {
      if error == .notSupported { return }
      throw StoreError(path.printable, error)
    }
    for name in names where name.starts(with: "user.".utf8) {
      let value = try saying(path.printable) { () throws(Errno) in
        try file.extendedAttribute(name)
      }
      libarchive.archive_entry_xattr_add_entry(
        entry, name.map { CChar(bitPattern: $0) } + [0], value, value.count)
    }
  }

  // MARK: libarchive

  private func newEntry(_ path: [UInt8]) throws(StoreError) -> OpaquePointer {
    guard let entry = libarchive.archive_entry_new() else {
      throw StoreError(path.printable, .noMemory)
    }
    libarchive.archive_entry_set_pathname(entry, path.map { CChar(bitPattern: $0) } + [0])
    return entry
  }

  private func newEntry(
    _ path: [UInt8], _ status: FileStatus
  ) throws(StoreError) -> OpaquePointer {
    let entry = try newEntry(path)
    libarchive.archive_entry_set_filetype(entry, status.kind.archiveBits)
    libarchive.archive_entry_set_perm(entry, status.permissions & 0o1777)
    let modified = status.modifiedTime
    libarchive.archive_entry_set_mtime(entry, Int(modified.seconds), Int(modified.nanoseconds))
    libarchive.archive_entry_set_size(entry, 0)
    return entry
  }

  private func check(_ status: CInt) throws(StoreError) {
    if status != ARCHIVE_OK && status != ARCHIVE_WARN { throw failure() }
  }

  private func failure() -> StoreError {
    let words = libarchive.archive_error_string(archive)
    let reason = words.map { Array(String(cString: $0).utf8).printable }
    return StoreError(.failed, "the archive: \(reason ?? "it can't be written")")
  }
}

extension FileKind {
  /// The kind as archives have it.
  var archiveBits: UInt32 {
    switch self {
    case .regular: 0o100000
    case .directory: 0o040000
    case .symbolicLink: 0o120000
    case .fifo: 0o010000
    case .socket: 0o140000
    case .characterDevice: 0o020000
    case .blockDevice: 0o060000
    }
  }
}

/// Hands what it sees to an export, under the names of the archive.
private struct ExportWalk: TreeVisitor {
  private let export: ContainerExport
  private let policy: PolicyEngine?
  private let bundleName: [UInt8]
  private var path: [UInt8]
  private var levels: [(length: Int, zone: ZoneID)]
  private(set) var failure: StoreError?

  init(_ export: ContainerExport, _ policy: PolicyEngine?, top: [UInt8], bundleName: [UInt8]) {
    self.export = export
    self.policy = policy
    self.bundleName = bundleName
    path = top
    levels = [(top.count, .root)]
  }

  private func zone(of name: [UInt8]) -> ZoneID {
    policy?.zone(named: name.span, in: levels.last?.zone ?? .root) ?? .root
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if levels.count == 1, !bundleName.isEmpty, entry.name == bundleName { return false }
    let goesAtExit =
      policy?.attributes(of: zone(of: entry.name)).purge.contains(.exit) ?? false
    guard !goesAtExit else { return false }
    // Nobody could import it.
    guard levels.count < ContainerArchive.maximumDepth else {
      export.leaveOut(path)
      return false
    }
    do throws(StoreError) {
      try export.add(entry, at: path + [UInt8(ascii: "/")] + entry.name, in: directory)
    } catch {
      failure = error
      throw .inputOutput
    }
    return true
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    levels.append((path.count, zone(of: name)))
    path += [UInt8(ascii: "/")] + name
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    guard let level = levels.popLast() else { return }
    path.removeLast(path.count - level.length)
  }
}
