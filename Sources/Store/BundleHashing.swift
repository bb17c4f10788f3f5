// Hashing the files of a bundle, on all processors, each byte read once.
internal import Crypto
internal import LinuxKit
internal import Paths
internal import Seal
internal import Synchronization

/// What is computed of each file.
public struct BundleDigests: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// A set from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// SHA-1 of the whole file.
  public static let sha1 = BundleDigests(rawValue: 1)
  /// SHA-256 of the whole file.
  public static let sha256 = BundleDigests(rawValue: 2)
  /// SHA-256 of each of the chunks that `ChunkLayout` says.
  public static let chunks = BundleDigests(rawValue: 4)
}

/// The digests of one file, all of the same bytes.
public struct FileDigests: Equatable, Sendable {
  /// How many bytes were read.
  public internal(set) var byteCount: Int64 = 0
  /// SHA-1 of the whole file; empty if it was not asked for.
  public internal(set) var sha1: [UInt8] = []
  /// SHA-256 of the whole file; empty if it was not asked for.
  public internal(set) var sha256: [UInt8] = []
  /// SHA-256 of each chunk, one behind the other; empty if it was not asked for.
  public internal(set) var chunks: [UInt8] = []
}

/// Is told how far a long piece of work is: bytes that are done, and all.
public typealias SealProgress = (_ done: Int64, _ all: Int64) -> Void

/// Reads files below one directory.
final class BundleHashing: Sendable {
  /// A file, and what of it is wanted.
  struct Job: Sendable {
    let path: [UInt8]
    /// The size when the file was found, for the order and the progress.
    let byteCount: Int64
    let digests: BundleDigests
  }

  private let directory: Walker
  private let done = Atomic<Int64>(0)

  init(_ directory: borrowing Walker) throws(Errno) { self.directory = try directory.reopened() }

  /// The digests of the files, in the order of the jobs.
  ///
  /// Throws the first failure, by path.
  func digests(
    of jobs: [Job], called name: [UInt8], progress: SealProgress?
  ) throws(StoreError) -> [FileDigests] {
    // Large ones first, so that none is left alone at the end.
    let order = jobs.indices.sorted { jobs[$0].byteCount > jobs[$1].byteCount }
    let all = jobs.reduce(0) { $0 + $1.byteCount }
    let results = Results(count: jobs.count)
    let work: @Sendable () -> Void = { [self] in
      Workers.share(order.count) { turn in
        let index = order[turn]
        let result = Result { () throws(Errno) in try self.digests(of: jobs[index]) }
        results.set(index, result)
      }
    }
    if let progress {
      Workers.watching({ progress(done.load(ordering: .relaxed), all) }, work)
    } else {
      work()
    }
    var found: [FileDigests] = []
    found.reserveCapacity(jobs.count)
    for (job, result) in zip(jobs, results.all) {
      guard let result else { preconditionFailure("every job has been done") }
      let shown = (name + [UInt8(ascii: "/")] + job.path).printable
      found.append(try saying(shown) { () throws(Errno) in try result.get() })
    }
    return found
  }

  private func digests(of job: Job) throws(Errno) -> FileDigests {
    let names = job.path.split(separator: UInt8(ascii: "/")).map(Array.init)
    guard let name = names.last else { throw .invalid }
    let file = try directory.enter(path: names.dropLast()).openRegularFile(name)
    var hasher = try FileHasher.computing(job.digests)
    let byteCount = Int(ChunkLayout.chunkSize)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try Self.fill(buffer, from: file, at: offset)
      if count == 0 { break }
      hasher.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      done.add(Int64(count), ordering: .relaxed)
      if count < byteCount { break }
    }
    return hasher.finish()
  }

  /// Reads until the buffer is full or the file at its end.
  private static func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from file: borrowing Descriptor, at offset: Int64
  ) throws(Errno) -> Int {
    guard let start = buffer.baseAddress else { return 0 }
    var filled = 0
    while filled < buffer.count {
      let count = try FileIO.read(
        file.rawValue, into: start + filled, count: buffer.count - filled,
        at: offset + Int64(filled))
      if count == 0 { break }
      filled += count
    }
    return filled
  }
}

/// What the threads have found so far.
private final class Results: Sendable {
  private let results: Mutex<[Result<FileDigests, Errno>?]>

  init(count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

  func set(_ index: Int, _ result: Result<FileDigests, Errno>) {
    results.withLock { $0[index] = result }
  }

  var all: [Result<FileDigests, Errno>?] { results.withLock { $0 } }
}

/// Hashes one file, chunk by chunk.
private struct FileHasher: ~Copyable {
  private var digests = FileDigests()
  private let wanted: BundleDigests
  private var sha1: SHA1
  private var sha256: SHA256
  private var chunk: SHA256

  private init(
    _ wanted: BundleDigests, sha1: consuming SHA1, sha256: consuming SHA256,
    chunk: consuming SHA256
  ) {
    self.wanted = wanted
    self.sha1 = sha1
    self.sha256 = sha256
    self.chunk = chunk
  }

  static func computing(_ wanted: BundleDigests) throws(Errno) -> FileHasher {
    do throws(CryptoError) {
      let sha1 = try SHA1()
      let sha256 = try SHA256()
      return FileHasher(wanted, sha1: sha1, sha256: sha256, chunk: try SHA256())
    } catch {
      throw .noMemory
    }
  }

  mutating func take(_ bytes: UnsafeRawBufferPointer) {
    digests.byteCount += Int64(bytes.count)
    if wanted.contains(.sha1) { sha1.update(bytes) }
    if wanted.contains(.sha256) { sha256.update(bytes) }
    guard wanted.contains(.chunks) else { return }
    chunk.update(bytes)
    digests.chunks += chunk.finish()
  }

  consuming func finish() -> FileDigests {
    if wanted.contains(.sha1) { digests.sha1 = sha1.finish() }
    if wanted.contains(.sha256) { digests.sha256 = sha256.finish() }
    return digests
  }
}
