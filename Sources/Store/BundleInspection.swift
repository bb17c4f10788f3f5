// A bundle compared with its seal: what of it is as it was sealed, whoever sealed it.
//
// Signatures are no matter here: a seal that is without one, or with one of nobody known, is
// compared just the same.
public import LinuxKit
internal import Paths
internal import PropertyLists
public import Seal

/// What was found out about a bundle by reading it.
public struct BundleInspection: Sendable {
  /// One regular file.
  public struct File: Sendable {
    /// The path from the bundle's directory.
    public var path: [UInt8]
    /// What the seal says of it.
    public var standing: SealSurvey.Standing
    /// The digests that were asked for, and the seal's.
    public var digests: FileDigests
  }

  /// The exact bytes of the seal; nil if there is none.
  public internal(set) var sealBytes: [UInt8]?
  /// Why the seal can't be read; nil if it can, or if there is none.
  public internal(set) var sealMistake: String?
  /// Paths from the bundle's directory of what is not as it was sealed, sorted.
  public internal(set) var changed: [[UInt8]] = []
  /// Paths of what was sealed and is not there.
  public internal(set) var missing: [[UInt8]] = []
  /// Paths of what is there and was not when it was sealed.
  public internal(set) var added: [[UInt8]] = []
  /// Paths of what the seal says that it does not cover.
  public internal(set) var unsealed: [[UInt8]] = []
  /// Paths of code that only a signature inside of it binds, which is not checked.
  public internal(set) var code: [[UInt8]] = []
  /// Whether a file has nothing better than a SHA-1 digest.
  public internal(set) var hasWeakDigests = false
  /// Every regular file that was read, nested bundles included, sorted by path.
  public internal(set) var files: [File] = []
  /// The path of the main executable; nil if no property list names one that is there.
  public internal(set) var executable: [UInt8]?
  /// The path of the property list that says what the bundle is; nil if there is none.
  public internal(set) var information: [UInt8]?
  /// Where the seal is, from the bundle's directory, with a slash at its end or empty.
  public internal(set) var sealPrefix: [UInt8] = []

  /// Whether there is a seal and the bundle is as it says.
  public var isIntact: Bool {
    sealBytes != nil && sealMistake == nil && changed.isEmpty && missing.isEmpty && added.isEmpty
  }

  /// Reads a whole bundle and compares it with its seal.
  ///
  /// Every file is read once; `digests` of each are computed from the very bytes that are compared
  /// with the seal. Without `digests` only what is sealed is read. Throws for what can't be read,
  /// and not for what a seal says.
  public init(
    of bundle: borrowing Walker, called name: [UInt8], digests: BundleDigests = [],
    progress: SealProgress? = nil
  ) throws(StoreError) {
    try self.init(of: bundle, called: name, digests, known: .none, progress)
  }

  /// The same, but what is known of a file need not be computed again.
  init(
    of bundle: borrowing Walker, called name: [UInt8], _ digests: BundleDigests,
    known: KnownDigests, _ progress: SealProgress?
  ) throws(StoreError) {
    let outline = try BundleOutline(of: bundle, called: name)
    let jobs = outline.jobs(digests)
    let found = try BundleHashing.digests(
      of: jobs, in: bundle, called: name, known: known, progress: progress)
    self.init(outline, KnownDigests(jobs, found))
  }

  /// Compares what was found with what is hashed.
  private init(_ outline: BundleOutline, _ digests: KnownDigests) {
    sealBytes = outline.sealBytes
    sealMistake = outline.sealMistake
    missing = outline.missing
    added = outline.added
    executable = outline.executable
    information = outline.information
    sealPrefix = outline.sealPrefix
    changed = [outline.brokenSeal].compactMap(\.self)
    for item in outline.items { file(item, digests[item.path]) }
    // Where nothing is said, nothing is left out either.
    if !outline.hasRules { unsealed = [] }
    for (path, inner) in outline.nested {
      add(BundleInspection(inner, digests.below(path)), at: path)
    }
    sort()
  }

  /// Files an entry under what it is.
  private mutating func file(_ item: BundleOutline.Item, _ digests: FileDigests?) {
    switch item.standing {
    case .sha256, .link: break
    case .sha1: hasWeakDigests = true
    case .code: code.append(item.path)
    case .unsealed: if !CodeResources.isPartOfSeal(item.entry) { unsealed.append(item.path) }
    case .changed: changed.append(item.path)
    case .added: added.append(item.path)
    }
    guard let digests else { return }
    if !item.standing.holds(for: digests) { changed.append(item.path) }
    files.append(File(path: item.path, standing: item.standing, digests: digests))
  }

  // MARK: Nested bundles

  /// Takes over a bundle that is held against its own seal; without one it is not what was sealed.
  private mutating func add(_ inner: BundleInspection, at path: [UInt8]) {
    if inner.sealBytes == nil { changed.append(path) }
    let prefix = path + [UInt8(ascii: "/")]
    note(inner, below: prefix)
    unsealed += inner.unsealed.map { prefix + $0 }
    code += inner.code.map { prefix + $0 }
    hasWeakDigests = hasWeakDigests || inner.hasWeakDigests
    files += inner.files.map { file in
      File(path: prefix + file.path, standing: file.standing, digests: file.digests)
    }
  }

  /// Takes over how another bundle, which lies in this one, differs from its seal.
  mutating func note(_ inner: BundleInspection, below prefix: [UInt8]) {
    changed = Self.sorted(changed + inner.changed.map { prefix + $0 })
    missing = Self.sorted(missing + inner.missing.map { prefix + $0 })
    added = Self.sorted(added + inner.added.map { prefix + $0 })
  }

  /// Takes over that something else at a path is not as it was.
  mutating func noteChanged(_ path: [UInt8]) { changed = Self.sorted(changed + [path]) }

  private mutating func sort() {
    changed = Self.sorted(changed)
    missing = Self.sorted(missing)
    added = Self.sorted(added)
    unsealed = Self.sorted(unsealed)
    code = Self.sorted(code)
    files.sort { $0.path.lexicographicallyPrecedes($1.path) }
  }

  private static func sorted(_ paths: [[UInt8]]) -> [[UInt8]] {
    Set(paths).sorted { $0.lexicographicallyPrecedes($1) }
  }
}

extension SealSurvey.Standing {
  fileprivate func holds(for digests: FileDigests) -> Bool {
    switch self {
    case .sha256(let digest): digests.sha256 == digest
    case .sha1(let digest): digests.sha1 == digest
    default: true
    }
  }
}
