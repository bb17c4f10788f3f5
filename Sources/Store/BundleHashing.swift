// Hashing the files of a bundle, on all processors, each byte read once.
internal import LinuxKit
internal import Paths

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
  /// What was computed.
  public internal(set) var kinds: BundleDigests = []
  /// How many bytes were read.
  public internal(set) var byteCount: Int64 = 0
  /// SHA-1 of the whole file; empty if it was not asked for.
  public internal(set) var sha1: [UInt8] = []
  /// SHA-256 of the whole file; empty if it was not asked for.
  public internal(set) var sha256: [UInt8] = []
  /// SHA-256 of each chunk, one behind the other; empty if it was not asked for.
  public internal(set) var chunks: [UInt8] = []
}

/// What was computed before of files that nobody has changed since.
struct KnownDigests {
  /// Nothing.
  static let none = KnownDigests([:])

  private let digests: [[UInt8]: FileDigests]
  /// Where the bundle is in which the digests were computed.
  private var prefix: [UInt8] = []

  private init(_ digests: [[UInt8]: FileDigests]) { self.digests = digests }

  /// What an inspection has read.
  init(of inspection: BundleInspection) {
    let pairs = inspection.files.map { ($0.path, $0.digests) }
    digests = Dictionary(pairs) { first, _ in first }
  }

  /// What was computed by jobs.
  init(_ jobs: [BundleHashing.Job], _ results: [FileDigests]) {
    digests = Dictionary(zip(jobs.map(\.path), results)) { first, _ in first }
  }

  /// The same for a bundle that lies in this one.
  func below(_ path: [UInt8]) -> KnownDigests {
    var inner = self
    inner.prefix += path + [UInt8(ascii: "/")]
    return inner
  }

  /// What is known of a file; nil if nothing is.
  subscript(path: [UInt8]) -> FileDigests? { digests.isEmpty ? nil : digests[prefix + path] }

  /// What a job asks for; nil if it has to be computed.
  func digests(for job: BundleHashing.Job) -> FileDigests? {
    self[job.path].flatMap { $0.kinds.isSuperset(of: job.digests) ? $0 : nil }
  }
}

/// Is told how far a long piece of work is: bytes that are done, and all.
public typealias SealProgress = (_ done: Int64, _ all: Int64) -> Void

/// Reads the files of a bundle.
enum BundleHashing {
  /// A file, and what of it is wanted.
  struct Job: Sendable {
    /// The path from the bundle's directory.
    let path: [UInt8]
    /// The size when the file was found, for the order and the progress.
    let byteCount: Int64
    let digests: BundleDigests
  }

  /// The digests of the files, in the order of the jobs; what is known is not read.
  ///
  /// Throws the first failure, in the order of the jobs.
  static func digests(
    of jobs: [Job], in bundle: borrowing Walker, called name: [UInt8],
    known: KnownDigests = .none, progress: SealProgress? = nil
  ) throws(StoreError) -> [FileDigests] {
    var found = jobs.map(known.digests)
    let unknown = jobs.indices.filter { found[$0] == nil }
    let results = try read(unknown.map { jobs[$0] }, in: bundle, called: name, progress)
    for (index, digests) in zip(unknown, results) { found[index] = digests }
    return found.compactMap(\.self)
  }

  private static func read(
    _ jobs: [Job], in bundle: borrowing Walker, called name: [UInt8], _ progress: SealProgress?
  ) throws(StoreError) -> [FileDigests] {
    if jobs.isEmpty { return [] }
    let run = try saying(name.printable) { () throws(Errno) in try HashingRun(jobs, in: bundle) }
    let work: @Sendable () -> Void = {
      Workers.share(Workers.processorCount) { _ in run.takePart() }
    }
    if let progress {
      let all: Int64 = jobs.reduce(0) { all, job in
        let (sum, isTooMuch) = all.addingReportingOverflow(job.byteCount)
        return isTooMuch ? .max : sum
      }
      Workers.watching({ progress(run.byteCount, all) }, work)
    } else {
      work()
    }
    var found: [FileDigests] = []
    found.reserveCapacity(jobs.count)
    for (job, result) in zip(jobs, run.results) {
      guard let result else { preconditionFailure("every job has been done") }
      switch result {
      case .success(let digests): found.append(digests)
      case .failure(let error):
        let shown = (name + [UInt8(ascii: "/")] + job.path).printable
        if error != .stale { throw StoreError(shown, error) }
        throw StoreError(.failed, "\(shown) was changed while it was read; try again")
      }
    }
    return found
  }
}
