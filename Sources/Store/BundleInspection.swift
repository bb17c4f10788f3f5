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

  /// How many bytes a CodeResources may have.
  static let maximumSealByteCount = 128 << 20
  private static let maximumNesting = 8

  /// Reads a whole bundle and compares it with its seal.
  ///
  /// Every file is read once; `digests` of each are computed from the very bytes that are compared
  /// with the seal. Without `digests` only what is sealed is read. Throws for what can't be read,
  /// and not for what a seal says.
  public init(
    of bundle: borrowing Walker, called name: [UInt8], digests: BundleDigests = [],
    progress: SealProgress? = nil
  ) throws(StoreError) {
    try self.init(of: bundle, called: name, digests, nesting: 0, progress: progress)
  }

  private init(
    of bundle: borrowing Walker, called name: [UInt8], _ digests: BundleDigests, nesting: Int,
    progress: SealProgress?
  ) throws(StoreError) {
    let place = try saying(name.printable) { () throws(Errno) in try SealPlace.found(in: bundle) }
    let resources = try readSeal(of: bundle, called: name, at: place)
    let root = place ?? .top
    sealPrefix = root.prefix
    try findExecutable(of: bundle, at: root, called: name)

    let book = resources?.book
    let inventory = try BundleInventory(of: bundle, called: name, at: root) { path in
      book?[path]?.content == .code
    }
    let entries = inventory.items.map(\.entry)
    guard let book, let patterns = try? RulePatterns(book.rules) else {
      let standings = entries.map { _ in SealSurvey.Standing.unsealed }
      try read(bundle, inventory, standings, digests, called: name, progress)
      // Where nothing is said, nothing is left out either.
      unsealed = []
      return
    }
    let main = executable.map { Array($0.dropFirst(root.prefix.count)) }
    let survey = SealSurvey(of: entries, by: book, executable: main, matches: patterns.matches)
    missing = survey.missing.map { root.prefix + $0 }
    added = inventory.outside
    try read(bundle, inventory, survey.standings, digests, called: name, progress)
    for (entry, standing) in zip(entries, survey.standings)
    where entry.kind == .nested && standing == .code {
      try inspectNested(entry.path, of: bundle, called: name, digests, nesting: nesting)
    }
    sort()
  }

  // MARK: The seal

  private mutating func readSeal(
    of bundle: borrowing Walker, called name: [UInt8], at place: SealPlace?
  ) throws(StoreError) -> CodeResources? {
    guard let place else { return nil }
    let file = place.prefix + Array("\(SealFiles.directory)/\(SealFiles.codeResources)".utf8)
    let shown = (name + [UInt8(ascii: "/")] + file).printable
    let bytes = try saying(shown) { () throws(Errno) in
      try bundle.enter(path: place.names + [Array(SealFiles.directory.utf8)])
        .openRegularFile(SealFiles.codeResources.utf8).readToEnd(atMost: Self.maximumSealByteCount)
    }
    sealBytes = bytes
    do throws(PropertyListFile.Malformed) {
      let list = try PropertyListFile.read(bytes)
      do throws(SealError) {
        let resources = try CodeResources(list)
        _ = try RulePatterns(resources.book.rules)
        return resources
      } catch {
        sealMistake = error.description
      }
    } catch {
      sealMistake = "it is no property list: \(error.reason)"
    }
    changed.append(file)
    return nil
  }

  /// Finds what the bundle says that its main executable is, as far as it says it well.
  private mutating func findExecutable(
    of bundle: borrowing Walker, at place: SealPlace, called name: [UInt8]
  ) throws(StoreError) {
    for path in BundleContents.informationPaths {
      let words = path.split(separator: "/").map { Array($0.utf8) }
      let names = place.names + words
      guard let bytes = try Self.file(names, in: bundle, called: name) else { continue }
      information = Array(names.joined(separator: [UInt8(ascii: "/")]))
      guard let list = try? PropertyListFile.read(bytes) else { return }
      let program = (list["CFBundleExecutable"] ?? list["NSExecutable"])?.bytesOfString
      guard let program, !program.contains(0), !program.contains(UInt8(ascii: "/")) else { return }
      let contents = words.prefix { $0.elementsEqual("Contents".utf8) }
      let deep = place.names + contents + [Array("MacOS".utf8), program]
      let isDeep = try Self.isFile(deep, in: bundle, called: name)
      let way = isDeep ? deep : place.names + [program]
      guard try Self.isFile(way, in: bundle, called: name) else { return }
      executable = Array(way.joined(separator: [UInt8(ascii: "/")]))
      return
    }
  }

  private static let absent: Set<Errno> = [
    .noEntry, .notDirectory, .tooManyLinks, .invalid, .nameTooLong,
  ]

  private static func file(
    _ names: [[UInt8]], in bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> [UInt8]? {
    guard let last = names.last else { return nil }
    return try allowing(absent, name.printable) { () throws(Errno) in
      try bundle.enter(path: names.dropLast()).openRegularFile(last)
        .readToEnd(atMost: PropertyListFile.maximumByteCount)
    }
  }

  private static func isFile(
    _ names: [[UInt8]], in bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> Bool {
    guard let last = names.last else { return false }
    let kind = try allowing(absent, name.printable) { () throws(Errno) in
      try bundle.enter(path: names.dropLast()).status(of: last).kind
    }
    return kind == .regular
  }

  // MARK: Files

  /// Reads what must be read, and files each entry under what it is.
  private mutating func read(
    _ bundle: borrowing Walker, _ inventory: BundleInventory,
    _ standings: [SealSurvey.Standing], _ digests: BundleDigests, called name: [UInt8],
    _ progress: SealProgress?
  ) throws(StoreError) {
    var jobs: [BundleHashing.Job] = []
    var standingOfJob: [SealSurvey.Standing] = []
    for (item, standing) in zip(inventory.items, standings) {
      let path = sealPrefix + item.entry.path
      file(path, item.entry, standing)
      let wanted = digests.union(standing.digests)
      guard item.entry.kind == .file, !wanted.isEmpty else { continue }
      jobs.append(BundleHashing.Job(path: path, byteCount: item.byteCount, digests: wanted))
      standingOfJob.append(standing)
    }
    let hashing = try saying(name.printable) { () throws(Errno) in try BundleHashing(bundle) }
    let found = try hashing.digests(of: jobs, called: name, progress: progress)
    for (index, job) in jobs.enumerated() {
      let standing = standingOfJob[index]
      if !standing.holds(for: found[index]) { changed.append(job.path) }
      files.append(File(path: job.path, standing: standing, digests: found[index]))
    }
  }

  private mutating func file(
    _ path: [UInt8], _ entry: BundleEntry, _ standing: SealSurvey.Standing
  ) {
    switch standing {
    case .sha256, .link: break
    case .sha1: hasWeakDigests = true
    case .code: code.append(path)
    case .unsealed: if !CodeResources.isPartOfSeal(entry) { unsealed.append(path) }
    case .changed: changed.append(path)
    case .added: added.append(path)
    }
  }

  // MARK: Nested bundles

  /// Compares a nested bundle with its own seal; without one it is not what was sealed.
  private mutating func inspectNested(
    _ path: [UInt8], of bundle: borrowing Walker, called name: [UInt8], _ digests: BundleDigests,
    nesting: Int
  ) throws(StoreError) {
    let place = sealPrefix + path
    let shown = name + [UInt8(ascii: "/")] + place
    guard nesting < Self.maximumNesting else {
      throw StoreError(.failed, "\(shown.printable): bundles lie too deep in each other")
    }
    let names = place.split(separator: UInt8(ascii: "/")).map(Array.init)
    let directory = try saying(shown.printable) { () throws(Errno) in
      try bundle.enter(path: names)
    }
    let inner = try BundleInspection(
      of: directory, called: shown, digests, nesting: nesting + 1, progress: nil)
    if inner.sealBytes == nil { changed.append(place) }
    let prefix = place + [UInt8(ascii: "/")]
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

/// The patterns of rules, compiled.
struct RulePatterns {
  private let patterns: [RegularExpression]

  /// Throws if one is no pattern.
  init(_ rules: [SealRule]) throws(SealError) {
    var patterns: [RegularExpression] = []
    for rule in rules {
      guard let pattern = RegularExpression(rule.pattern) else {
        throw SealError("the rule '\(rule.pattern.printable)' is no regular expression")
      }
      patterns.append(pattern)
    }
    self.patterns = patterns
  }

  /// Whether the rule at an index matches a path.
  func matches(_ index: Int, _ path: [UInt8]) -> Bool { patterns[index].matches(path) }
}

extension SealSurvey.Standing {
  /// What must be computed to see whether it holds.
  fileprivate var digests: BundleDigests {
    switch self {
    case .sha256: .sha256
    case .sha1: .sha1
    default: []
    }
  }

  fileprivate func holds(for digests: FileDigests) -> Bool {
    switch self {
    case .sha256(let digest): digests.sha256 == digest
    case .sha1(let digest): digests.sha1 == digest
    default: true
    }
  }
}
