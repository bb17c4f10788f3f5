// The bundle as its seal says it is: names, attributes and links come from the table of chunks, and
// the store is only asked for bytes, which are compared with the table before anyone sees them.
//
// No verdict about bytes is kept, only what was found to be wrong. That is written down before the
// request that found it is answered, so that it outlives the daemon.
import Containers
import Crypto
import FuseKit
import LinuxKit
import Paths
import Seal
import Synchronization

/// The table of a bundle's chunks, and what was found to differ from it.
///
/// A plain value: copying it counts no reference. It lives as long as the view.
struct SealedBundle {
  /// The table's bytes, in memory of ours that nobody writes to.
  private let bytes: UnsafeBufferPointer<UInt8>
  /// nil if there should be one and it can't be trusted: then nothing is served.
  private let table: ChunkTable?
  private let findings: Unmanaged<SealFindings>

  /// The number of a table's entry; `none` for what is not sealed.
  static let none = UInt32.max

  /// Reads the table and checks it; nil if the bundle has no seal.
  ///
  /// A table that is not the one that was announced is like none: nothing is served. Throws ENOMEM.
  init?(
    _ seal: ViewConfiguration.Seal, bundleName: [UInt8], container: borrowing Descriptor
  ) throws(Errno) {
    guard seal != .absent else { return nil }
    // For the daemon's life; -1 if it is not there.
    let directory = (try? container.open(ContainerLayout.seal, Flags.directory).release()) ?? -1
    var expected: [UInt8] = []
    var isModified = true
    if case .table(let digest, let wasModified) = seal {
      (expected, isModified) = (digest, wasModified)
    }
    let read = try SealedBundle.table(in: directory, expected)
    bytes = read?.bytes ?? UnsafeBufferPointer(start: nil, count: 0)
    table = read?.table
    findings = .passRetained(
      SealFindings(
        bundleName: bundleName, directory: directory, entryCount: table?.entryCount ?? 1,
        isModified: isModified || table == nil))
    takeOver()
  }

  private static func table(
    in directory: CInt, _ digest: [UInt8]
  ) throws(Errno) -> (bytes: UnsafeBufferPointer<UInt8>, table: ChunkTable)? {
    guard directory >= 0, !digest.isEmpty,
      let file = try? FileIO.open(ContainerLayout.chunks, in: directory)
    else { return nil }
    let size = try InodeStatus.of(file.rawValue).size
    guard size > 0, size <= ChunkTable.maximumByteCount else { return nil }
    let mapping = try Mapping(reserving: Int(size))
    let memory = UnsafeMutableRawBufferPointer(start: mapping.start, count: Int(size))
    guard (try? file.readExactly(memory, at: 0)) != nil,
      SHA256.digest(of: UnsafeRawBufferPointer(memory)) == digest
    else { return nil }
    let bytes = UnsafeBufferPointer(memory.bindMemory(to: UInt8.self))
    guard let table = ChunkTable(checking: bytes.span) else { return nil }
    mapping.protect()
    return (bytes, table)
  }
}

// MARK: - What the table says

extension SealedBundle {
  /// Throws EACCES if there is no table that can be trusted.
  @inline(__always)
  func requireTable() throws(Errno) -> ChunkTable {
    guard let table else { throw .accessDenied }
    return table
  }

  @inline(__always)
  func entry(_ index: UInt32) throws(Errno) -> ChunkTable.Entry {
    try requireTable().entry(Int(index), in: bytes.span)
  }

  /// The entry of a name in a directory; nil if there is none.
  @inline(__always)
  func child(_ name: Name, of directory: UInt32) throws(Errno) -> UInt32? {
    let table = try requireTable()
    let parent = table.entry(Int(directory), in: bytes.span)
    return table.child(named: name.bytes.span, of: parent, in: bytes.span).map {
      UInt32(truncatingIfNeeded: $0)
    }
  }

  /// Bytes of the table: a name, or a link's target.
  @inline(__always)
  func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes[range])
  }

  /// The inode's number, before it is permuted: counted down from the highest that has 32 bits,
  /// where no store's own are.
  @inline(__always)
  static func inode(_ index: UInt32) -> UInt64 { UInt64(UInt32.max - index) }

  /// The identity of the node of an entry: whatever the store has in its place.
  @inline(__always)
  static func identity(_ index: UInt32) -> Identity {
    Identity(device: .max, inode: inode(index), birthNanoseconds: 0)
  }

  /// The bits of a mode that say what an entry is.
  @inline(__always)
  static func type(_ kind: ChunkTable.Kind) -> UInt32 {
    switch kind {
    case .directory: 0o040000
    case .file: 0o100000
    case .link: 0o120000
    }
  }

  /// What the kernel is shown of an entry, but for the owner and the permutation.
  func attributes(_ index: UInt32) throws(Errno) -> FileAttributes {
    let entry = try entry(index)
    var mode = SealedBundle.type(entry.kind)
    switch entry.kind {
    case .directory: mode |= 0o755
    case .file: mode |= entry.isExecutable ? 0o755 : 0o644
    case .link: mode |= 0o777
    }
    return FileAttributes(
      inode: SealedBundle.inode(index), mode: mode,
      size: entry.kind == .directory ? 4096 : entry.size, seconds: entry.seconds,
      nanoseconds: entry.nanoseconds)
  }
}

// MARK: - Bytes

extension SealedBundle {
  /// Reads bytes of a file that are within its size, all of them as they were sealed.
  ///
  /// Returns where they begin in `buffer`, which has room for them and for two chunks more. Throws
  /// EIO, after it was noted, if any chunk that holds some of them is not what it was.
  @inline(__always)
  func read(
    _ index: UInt32, _ descriptor: CInt, _ wanted: Range<Int64>,
    into buffer: UnsafeMutableRawPointer
  ) throws(Errno) -> Int {
    let table = try requireTable()
    let entry = table.entry(Int(index), in: bytes.span)
    let layout = ChunkLayout(fileSize: entry.size)
    let chunks = layout.chunks(over: wanted)
    let start = layout.bytes(of: chunks.lowerBound).lowerBound
    let end = layout.bytes(of: chunks.upperBound - 1).upperBound
    let count = Int(end - start)
    var got = 0
    while got < count {
      let more = try FileIO.read(
        descriptor, into: buffer + got, count: count - got, at: start + Int64(got))
      if more == 0 { throw broken(index) }
      got += more
    }
    for chunk in chunks {
      let range = layout.bytes(of: chunk)
      let part = UnsafeRawBufferPointer(
        start: buffer + Int(range.lowerBound - start), count: range.count)
      let hash = table.hash(of: entry.content.lowerBound + chunk).lowerBound
      let expected = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped + hash)
      guard SHA256.matches(expected, of: part) else { throw broken(index) }
    }
    return Int(wanted.lowerBound - start)
  }

  @inline(never)
  private func broken(_ index: UInt32) -> Errno {
    note(index, .changed)
    return .inputOutput
  }
}

// MARK: - What was found

extension SealedBundle {
  /// Whether anything was found to differ, now or before this mount.
  @inline(__always)
  var isModified: Bool { findings._withUnsafeGuaranteedRef { $0.isModified } }

  /// Whether this entry was found to differ.
  @inline(__always)
  func isBroken(_ index: UInt32) -> Bool {
    isModified && findings._withUnsafeGuaranteedRef { $0.isBroken(index) }
  }

  /// Goes on with what was found before: by an earlier daemon, or by the process that served.
  func takeOver() {
    findings.takeUnretainedValue().takeOver { table?.find(path: $0, in: bytes.span) }
  }

  /// Notes that what is in the store in the place of an entry is not what was sealed.
  @inline(never)
  func note(_ index: UInt32, _ finding: SealFindings.Finding) {
    guard let table else { return }
    findings.takeUnretainedValue().note(index, finding) {
      table.path(of: Int(index), in: bytes.span)
    }
  }

  /// Notes that there is something of a name that is not in the table.
  @inline(never)
  func noteAdded(_ name: Name, in directory: UInt32) {
    guard let table else { return }
    findings.takeUnretainedValue().noteAdded {
      let parent = table.path(of: Int(directory), in: bytes.span)
      return parent + (parent.isEmpty ? [] : [UInt8(ascii: "/")]) + Array(name.bytes)
    }
  }
}

/// What was found to differ from a table, in memory and in the file that outlives the daemon.
final class SealFindings: Sendable {
  /// How something differs.
  enum Finding: String, CaseIterable {
    case changed
    case missing
    case added
  }

  /// How many findings are written down: the first one is enough for all but curiosity.
  private static let limit = 100

  private struct State {
    var broken: [Bool]
    var written = 0
    var added: [[UInt8]] = []
  }

  private let bundleName: [UInt8]
  private let directory: CInt
  private let modified: Atomic<Bool>
  private let state: Mutex<State>

  init(bundleName: [UInt8], directory: CInt, entryCount: Int, isModified: Bool) {
    self.bundleName = bundleName
    self.directory = directory
    modified = Atomic(isModified)
    state = Mutex(State(broken: [Bool](repeating: false, count: entryCount)))
  }

  @inline(__always)
  var isModified: Bool { modified.load(ordering: .acquiring) }

  func isBroken(_ index: UInt32) -> Bool { state.withLock { $0.broken[Int(index)] } }

  /// Goes on with what is in the file; `entry` is the one that a path names.
  func takeOver(_ entry: ([UInt8]) -> Int?) {
    guard directory >= 0, FileIO.exists(ContainerLayout.modified, in: directory) else { return }
    modified.store(true, ordering: .releasing)
    // What is in memory is what was in the file when the first process was started.
    state.withLock { state in
      state.written = 0
      state.added = []
    }
    let text = try? FileIO.open(ContainerLayout.modified, in: directory).readToEnd(atMost: 1 << 20)
    for line in (text ?? []).split(separator: UInt8(ascii: "\n")) { takeOver(line, entry) }
  }

  private func takeOver(_ line: ArraySlice<UInt8>, _ entry: ([UInt8]) -> Int?) {
    let finding = Finding.allCases.first { line.reversed().starts(with: $0.words.utf8.reversed()) }
    guard let finding else { return }
    let whole = Presentation.bytes(ofEscaped: line.dropLast(finding.words.utf8.count + 1))
    guard whole.starts(with: bundleName) else { return }
    let path = Array(whole.dropFirst(bundleName.count + 1))
    state.withLock { state in
      state.written += 1
      if finding == .added {
        state.added.append(path)
      } else if let index = entry(path) {
        state.broken[index] = true
      }
    }
  }

  func note(_ index: UInt32, _ finding: Finding, _ path: () -> [UInt8]) {
    let isNew = state.withLock { state in
      if state.broken[Int(index)] { return false }
      state.broken[Int(index)] = true
      return true
    }
    if isNew { write(finding, path()) }
  }

  func noteAdded(_ path: () -> [UInt8]) {
    let path = path()
    let isNew = state.withLock { state in
      guard state.added.count < SealFindings.limit, !state.added.contains(path) else {
        return false
      }
      state.added.append(path)
      return true
    }
    if isNew { write(.added, path) }
  }

  /// One line for each, whole or not at all; what can't be written is found again by the next
  /// daemon.
  private func write(_ finding: Finding, _ path: [UInt8]) {
    modified.store(true, ordering: .releasing)
    let isWanted = state.withLock { state in
      state.written += 1
      return state.written <= SealFindings.limit
    }
    guard isWanted, directory >= 0 else { return }
    let whole = bundleName + (path.isEmpty ? [] : [UInt8(ascii: "/")]) + path
    let line = Array("\(whole.printable) \(finding.words)\n".utf8)
    try? FileIO.append(line, to: ContainerLayout.modified, in: directory)
  }
}

extension SealFindings.Finding {
  fileprivate var words: String {
    switch self {
    case .changed: "has changed"
    case .missing: "is missing"
    case .added: "was added"
    }
  }
}
