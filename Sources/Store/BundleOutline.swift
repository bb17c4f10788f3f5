// A bundle and the bundles in it as their seals have them, before any file is hashed: what is
// there, what each thing is to be, and so what has to be read.
internal import LinuxKit
internal import Paths
internal import PropertyLists
internal import Seal

/// What a bundle holds, beside what its seal says of it.
struct BundleOutline {
  /// One thing in a bundle.
  struct Item {
    /// The path from the bundle's directory.
    let path: [UInt8]
    let entry: BundleEntry
    let byteCount: Int64
    let standing: SealSurvey.Standing
  }

  /// Everything but directories, sorted by path.
  private(set) var items: [Item] = []
  /// Bundles that are held against seals of their own, and their paths.
  private(set) var nested: [(path: [UInt8], outline: BundleOutline)] = []
  /// The exact bytes of the seal; nil if there is none.
  private(set) var sealBytes: [UInt8]?
  /// Why the seal can't be read; nil if it can, or if there is none.
  private(set) var sealMistake: String?
  /// The path of a seal that can't be read; nil if it can.
  private(set) var brokenSeal: [UInt8]?
  /// Paths of what was sealed and is not there.
  private(set) var missing: [[UInt8]] = []
  /// Paths of what lies beside what is sealed.
  private(set) var added: [[UInt8]] = []
  /// The path of the main executable; nil if no property list names one that is there.
  private(set) var executable: [UInt8]?
  /// The path of the property list that says what the bundle is; nil if there is none.
  private(set) var information: [UInt8]?
  /// Where the seal is, from the bundle's directory, with a slash at its end or empty.
  private(set) var sealPrefix: [UInt8] = []

  /// Whether there are rules by which something can be left out of the seal.
  var hasRules: Bool { sealBytes != nil && brokenSeal == nil }

  /// How many bytes a CodeResources may have.
  static let maximumSealByteCount = 128 << 20
  private static let maximumNesting = 8

  /// Looks at a whole bundle; throws for what can't be read, and not for what a seal says.
  init(of bundle: borrowing Walker, called name: [UInt8]) throws(StoreError) {
    try self.init(of: bundle, called: name, nesting: 0)
  }

  private init(
    of bundle: borrowing Walker, called name: [UInt8], nesting: Int
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
      add(inventory, entries.map { _ in .unsealed })
      return
    }
    let main = executable.map { Array($0.dropFirst(root.prefix.count)) }
    let survey = SealSurvey(of: entries, by: book, executable: main, matches: patterns.matches)
    missing = survey.missing.map { root.prefix + $0 }
    added = inventory.outside
    add(inventory, survey.standings)
    for item in items where item.entry.kind == .nested && item.standing == .code {
      try addNested(item.path, of: bundle, called: name, nesting: nesting)
    }
  }

  private mutating func add(_ inventory: BundleInventory, _ standings: [SealSurvey.Standing]) {
    items = zip(inventory.items, standings).map { item, standing in
      Item(
        path: sealPrefix + item.entry.path, entry: item.entry, byteCount: item.byteCount,
        standing: standing)
    }
  }

  private mutating func addNested(
    _ path: [UInt8], of bundle: borrowing Walker, called name: [UInt8], nesting: Int
  ) throws(StoreError) {
    let shown = name + [UInt8(ascii: "/")] + path
    guard nesting < Self.maximumNesting else {
      throw StoreError(.failed, "\(shown.printable): bundles lie too deep in each other")
    }
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    let directory = try saying(shown.printable) { () throws(Errno) in
      try bundle.enter(path: names)
    }
    nested.append((path, try BundleOutline(of: directory, called: shown, nesting: nesting + 1)))
  }

  // MARK: What has to be read

  /// What has to be hashed of this bundle and those in it, `digests` of each and what seals need.
  ///
  /// Without `digests` only what is sealed.
  func jobs(_ digests: BundleDigests, below prefix: [UInt8] = []) -> [BundleHashing.Job] {
    var jobs: [BundleHashing.Job] = []
    for item in items where item.entry.kind == .file {
      let wanted = digests.union(item.standing.digests)
      if wanted.isEmpty { continue }
      jobs.append(
        BundleHashing.Job(path: prefix + item.path, byteCount: item.byteCount, digests: wanted))
    }
    for inner in nested {
      jobs += inner.outline.jobs(digests, below: prefix + inner.path + [UInt8(ascii: "/")])
    }
    return jobs
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
    brokenSeal = file
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
}
