// The hashes of all chunks of a bundle, by all processors.
internal import Crypto
internal import LinuxKit
internal import Paths
internal import Seal
internal import Synchronization

/// Looks at every entry of a bundle that nobody else changes.
struct BundleSurvey: ~Copyable, TreeVisitor {
  private var items: [SealedItem]
  private var components: [[UInt8]] = []
  private var batch = HashBatch()

  /// Every entry of a bundle, with the hashes of what is in it at this moment.
  static func items(
    of bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> [SealedItem] {
    try saying("hashing \(name.printable)") { () throws(Errno) in
      var survey = BundleSurvey(status: try bundle.status())
      try bundle.visitTree(&survey)
      try survey.finishBatch()
      return survey.items
    }
  }

  private init(status: FileStatus) {
    items = [SealedItem(path: [], content: .directory, status)]
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    let path = Array((components + [entry.name]).joined(separator: [UInt8(ascii: "/")]))
    let status = try directory.status(of: entry.name)
    switch status.kind {
    case .directory:
      items.append(SealedItem(path: path, content: .directory, status))
      return true
    case .symbolicLink:
      let target = try directory.readLink(entry.name)
      items.append(SealedItem(path: path, content: .link(target: target), status))
    case .regular:
      let file = try directory.openRegularFile(entry.name)
      let status = try file.status()
      let content = SealedItem.Content.file(
        size: status.byteCount, isExecutable: status.permissions & 0o111 != 0, hashes: [])
      items.append(SealedItem(path: path, content: content, status))
      batch.add(file, size: status.byteCount, item: items.count - 1)
      if batch.isFull { try finishBatch() }
    default:
      // The store's own copy holds nothing else.
      throw .invalid
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    components.append(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    components.removeLast()
  }

  private mutating func finishBatch() throws(Errno) {
    for (item, hashes) in try batch.finish() {
      guard case .file(let size, let isExecutable, _) = items[item].content else { continue }
      items[item].content = .file(size: size, isExecutable: isExecutable, hashes: hashes)
    }
  }
}

extension SealedItem {
  fileprivate init(path: [UInt8], content: Content, _ status: FileStatus) {
    let time = status.modifiedTime
    self.init(
      path: path, content: content, seconds: time.seconds, nanoseconds: time.nanoseconds)
  }
}

/// Files that are open until all of them are hashed.
private struct HashBatch: ~Copyable {
  private var files: [OpenFile] = []
  private var byteCount: Int64 = 0

  private final class OpenFile: Sendable {
    let descriptor: Descriptor
    let layout: ChunkLayout
    let item: Int

    init(_ descriptor: consuming Descriptor, size: Int64, item: Int) {
      self.descriptor = descriptor
      layout = ChunkLayout(fileSize: size)
      self.item = item
    }
  }

  /// Some chunks of a file that one thread does in one go.
  private struct Piece {
    let file: OpenFile
    let chunks: Range<Int>
    /// The number of its first chunk among those of the batch.
    let place: Int
  }

  /// Where the hashes go, and what is left to do.
  private final class Work: @unchecked Sendable {
    let pieces: [Piece]
    let hashes: UnsafeMutableRawBufferPointer
    let failure = Mutex<Errno?>(nil)

    init(_ pieces: [Piece], chunkCount: Int) {
      self.pieces = pieces
      hashes = .allocate(byteCount: chunkCount * ChunkTable.hashByteCount, alignment: 8)
    }

    deinit { hashes.deallocate() }

    /// Hashes a piece, unless another has failed.
    func hash(_ index: Int) {
      guard failure.withLock({ $0 == nil }) else { return }
      do throws(Errno) {
        var digest: SHA256
        do throws(CryptoError) { digest = try SHA256() } catch { throw Errno.outOfMemory }
        let size = Int(ChunkLayout.chunkSize)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
        defer { buffer.deallocate() }
        try hash(pieces[index], &digest, buffer)
      } catch {
        failure.withLock { $0 = error }
      }
    }

    private func hash(
      _ piece: Piece, _ digest: inout SHA256, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) {
      for chunk in piece.chunks {
        let bytes = piece.file.layout.bytes(of: chunk)
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes.count])
        try piece.file.descriptor.readExactly(part, at: bytes.lowerBound)
        digest.update(UnsafeRawBufferPointer(part))
        let place = (piece.place + chunk - piece.chunks.lowerBound) * ChunkTable.hashByteCount
        digest.finish(into: hashes.baseAddress.unsafelyUnwrapped + place)
      }
    }
  }

  private static let pieceChunkCount = 64

  /// Whether there is enough for all processors, or too much to hold open.
  var isFull: Bool { files.count >= 128 || byteCount >= 256 << 20 }

  mutating func add(_ file: consuming Descriptor, size: Int64, item: Int) {
    files.append(OpenFile(file, size: size, item: item))
    byteCount += size
  }

  /// The hashes of all files that were added, with their numbers; the next ones begin a new batch.
  mutating func finish() throws(Errno) -> [(item: Int, hashes: [UInt8])] {
    var pieces: [Piece] = []
    var places: [Range<Int>] = []
    var total = 0
    for file in files {
      let count = file.layout.count
      for start in stride(from: 0, to: count, by: Self.pieceChunkCount) {
        let chunks = start..<min(start + Self.pieceChunkCount, count)
        pieces.append(Piece(file: file, chunks: chunks, place: total + start))
      }
      places.append(total..<(total + count))
      total += count
    }
    let work = Work(pieces, chunkCount: total)
    Workers.share(pieces.count) { work.hash($0) }
    if let failure = work.failure.withLock({ $0 }) { throw failure }
    let size = ChunkTable.hashByteCount
    let results = zip(files, places).map { file, place in
      (file.item, Array(work.hashes[(place.lowerBound * size)..<(place.upperBound * size)]))
    }
    files = []
    byteCount = 0
    return results
  }
}
