// Files that threads hash together: each takes files of its own, and when there are no more it
// helps with those that are left, so that one large file keeps no processor idle.
internal import Crypto
internal import LinuxKit
internal import Seal
internal import Synchronization

/// The hashing of some files of a bundle.
final class HashingRun: Sendable {
  private let bundle: Walker
  private let jobs: [BundleHashing.Job]
  /// Large files first, so that none is left alone at the end, and the rest by path: what is in one
  /// directory comes one after the other.
  private let order: [Int]
  private let next = Atomic<Int>(0)
  private let read = Atomic<Int64>(0)
  private let found: Mutex<[Result<FileDigests, Errno>?]>
  /// Large files that are begun.
  private let begun = Mutex<[HashedFile]>([])

  init(_ jobs: [BundleHashing.Job], in bundle: borrowing Walker) throws(Errno) {
    self.bundle = try bundle.reopened()
    self.jobs = jobs
    let isLarge = jobs.map { $0.byteCount > HashedFile.copiedByteCount }
    order = jobs.indices.sorted { left, right in
      if isLarge[left] != isLarge[right] { return isLarge[left] }
      return isLarge[left]
        ? jobs[left].byteCount > jobs[right].byteCount
        : jobs[left].path.lexicographicallyPrecedes(jobs[right].path)
    }
    found = Mutex(Array(repeating: nil, count: jobs.count))
  }

  /// How many bytes have been read.
  var byteCount: Int64 { read.load(ordering: .relaxed) }

  /// What has come of each job; nil if it is not done.
  var results: [Result<FileDigests, Errno>?] { found.withLock { $0 } }

  /// Does what there is to do, for as long as there is something.
  func takePart() {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: HashedFile.bufferByteCount, alignment: 4096)
    defer { buffer.deallocate() }
    var directory: OpenDirectory?
    while true {
      let turn = next.add(1, ordering: .relaxed).oldValue
      guard turn < order.count else { break }
      begin(order[turn], &directory, buffer)
    }
    while let file = fileToHelpWith() { hash(file, buffer) }
  }

  private func begin(
    _ index: Int, _ directory: inout OpenDirectory?, _ buffer: UnsafeMutableRawBufferPointer
  ) {
    let job = jobs[index]
    do throws(Errno) {
      var names = job.path.split(separator: UInt8(ascii: "/")).map(Array.init)
      guard let name = names.popLast() else { throw .invalid }
      let place: OpenDirectory
      if let directory, directory.names == names {
        place = directory
      } else {
        place = OpenDirectory(names, try bundle.enter(path: names))
      }
      directory = place
      let file = try HashedFile(
        try place.walker.openRegularFile(name), job.digests, number: index)
      if file.blockCount == 1 { return hash(file, buffer) }
      begun.withLock { $0.append(file) }
      hash(file, buffer)
      // Nobody can begin anything of it now, and it is open for as long as it is in the list.
      begun.withLock { $0.removeAll { $0 === file } }
    } catch {
      found.withLock { $0[index] = .failure(error) }
    }
  }

  /// The one with the most to do.
  private func fileToHelpWith() -> HashedFile? {
    let file = begun.withLock { files in files.max { $0.blocksToBegin < $1.blocksToBegin } }
    return file.flatMap { $0.blocksToBegin > 0 ? $0 : nil }
  }

  private func hash(_ file: HashedFile, _ buffer: UnsafeMutableRawBufferPointer) {
    while let block = file.hashNextBlock(buffer) {
      read.add(Int64(block.byteCount), ordering: .relaxed)
      if let result = block.result { found.withLock { $0[file.number] = result } }
    }
  }
}

/// Where a thread has opened its last file: the next one lies there more often than not.
private final class OpenDirectory {
  let names: [[UInt8]]
  let walker: Walker

  init(_ names: [[UInt8]], _ walker: consuming Walker) {
    self.names = names
    self.walker = walker
  }
}

/// A file whose blocks threads take one by one: they read them and hash their chunks at the same
/// time, and pass through the digests of the whole file one after the other.
final class HashedFile: @unchecked Sendable {
  /// As much as stays in a processor's own cache until all digests have it.
  static let copiedByteCount = 16 * Int(ChunkLayout.chunkSize)
  /// Fewer mappings, each of which interrupts the other processors when it ends.
  static let mappedByteCount = 4 * copiedByteCount
  /// The larger of them.
  static let bufferByteCount = mappedByteCount

  /// The number of its job.
  let number: Int
  /// At least one, also of an empty file.
  let blockCount: Int

  private let descriptor: Descriptor
  private let wanted: BundleDigests
  private let layout: ChunkLayout
  /// Whether blocks are hashed where the kernel keeps them, which saves a copy.
  ///
  /// Only where there is one digest: two could be of two things if somebody writes meanwhile. And
  /// not of a small file, which is copied sooner than it is mapped.
  private let isMapped: Bool
  private let blockByteCount: Int
  private let chunks: UnsafeMutableRawBufferPointer
  private let begun = Atomic<Int>(0)
  private let finished = Atomic<Int>(0)
  private let failure = Mutex<Errno?>(nil)
  // Whoever has the turn at the turnstile uses what is behind it, and the last one the result.
  private let turn1 = Turnstile()
  private let turn256 = Turnstile()
  @exclusivity(unchecked) private var sha1: SHA1
  @exclusivity(unchecked) private var sha256 = SHA256()

  init(
    _ descriptor: consuming Descriptor, _ wanted: BundleDigests, number: Int
  ) throws(Errno) {
    self.number = number
    self.wanted = wanted
    do throws(CryptoError) {
      sha1 = try SHA1()
    } catch {
      throw .noMemory
    }
    layout = ChunkLayout(fileSize: try descriptor.status().byteCount)
    self.descriptor = descriptor
    // Sizes may be the largest number that there is.
    isMapped = layout.fileSize > Self.copiedByteCount && wanted.rawValue.nonzeroBitCount == 1
    blockByteCount = isMapped ? Self.mappedByteCount : Self.copiedByteCount
    let size = Int64(blockByteCount)
    let (blocks, rest) = layout.fileSize.quotientAndRemainder(dividingBy: size)
    blockCount = max(1, Int(blocks) + (rest == 0 ? 0 : 1))
    let hashes = wanted.contains(.chunks) ? layout.count * SHA256.byteCount : 0
    guard hashes <= ChunkTable.maximumByteCount else { throw .fileTooLarge }
    chunks = .allocate(byteCount: hashes, alignment: 8)
  }

  deinit { chunks.deallocate() }

  /// How many blocks nobody has begun.
  var blocksToBegin: Int { max(0, blockCount - begun.load(ordering: .relaxed)) }

  /// Does the next block; nil if there is none left to begin.
  ///
  /// The one that is done last has the result.
  func hashNextBlock(
    _ buffer: UnsafeMutableRawBufferPointer
  ) -> (byteCount: Int, result: Result<FileDigests, Errno>?)? {
    let block = begun.add(1, ordering: .relaxed).oldValue
    guard block < blockCount else { return nil }
    let start = Int64(block) * Int64(blockByteCount)
    let count = Int(min(layout.fileSize - start, Int64(blockByteCount)))
    do throws(Errno) {
      try hash(block, from: start, UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
    } catch {
      failure.withLock { $0 = error }
    }
    let isLast = finished.add(1, ordering: .acquiringAndReleasing).newValue == blockCount
    return (count, isLast ? result() : nil)
  }

  private func hash(
    _ block: Int, from start: Int64, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(Errno) {
    if isMapped {
      let look = try descriptor.withWindow(at: start, byteCount: buffer.count) { digest($0, block) }
      if look == .whole { return }
      if look == .torn {
        // Whatever is wrong with the file, reading it may tell.
        try descriptor.readExactly(buffer, at: start)
        throw .stale
      }
    }
    // Also what could not be read: others wait for their turn.
    defer { digest(UnsafeRawBufferPointer(buffer), block) }
    try descriptor.readExactly(buffer, at: start)
  }

  private func digest(_ bytes: UnsafeRawBufferPointer, _ block: Int) {
    if wanted.contains(.chunks) { hashChunks(bytes, of: block) }
    if wanted.contains(.sha1) { turn1.pass(block) { sha1.update(bytes) } }
    if wanted.contains(.sha256) { turn256.pass(block) { sha256.update(bytes) } }
  }

  private func hashChunks(_ bytes: UnsafeRawBufferPointer, of block: Int) {
    let size = Int(ChunkLayout.chunkSize)
    var place = block * (blockByteCount / size) * SHA256.byteCount
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)])
      let target = UnsafeMutableRawBufferPointer(
        rebasing: chunks[place..<(place + SHA256.byteCount)])
      SHA256.digest(of: chunk, into: target)
      place += SHA256.byteCount
    }
  }

  private func result() -> Result<FileDigests, Errno> {
    if let failure = failure.withLock({ $0 }) { return .failure(failure) }
    return .success(
      FileDigests(
        kinds: wanted, byteCount: layout.fileSize,
        sha1: wanted.contains(.sha1) ? sha1.finish() : [],
        sha256: wanted.contains(.sha256) ? sha256.finish() : [], chunks: Array(chunks)))
  }
}
