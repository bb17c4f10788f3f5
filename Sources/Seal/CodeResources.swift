// What a seal says: Apple's CodeResources as values.
//
// A seal has up to two books of the same bundle. The second names what the first cannot, such as
// links and code that has a signature of its own; where it is there, it alone counts.

/// A seal over a bundle.
public struct CodeResources: Equatable, Sendable {
  /// `files` and `rules`, for old readers; nil if the seal lacks them.
  public var version1: SealBook?
  /// `files2` and `rules2`; nil if the seal lacks them.
  public var version2: SealBook?

  /// A seal with these books.
  public init(version1: SealBook?, version2: SealBook?) {
    self.version1 = version1
    self.version2 = version2
  }

  /// The book that counts.
  public var book: SealBook {
    version2 ?? version1 ?? SealBook(version: .one, entries: [], rules: [])
  }
}

/// What is sealed, and by which rules it was chosen.
public struct SealBook: Equatable, Sendable {
  /// Which of the two it is.
  public enum Version: Sendable { case one, two }

  /// Which of the two it is.
  public let version: Version
  /// What is sealed, sorted by path.
  public let entries: [SealedEntry]
  /// What is to be sealed.
  public let rules: [SealRule]
  private let positions: [[UInt8]: Int]

  /// A book; of two entries for one path the later holds.
  public init(version: Version, entries: [SealedEntry], rules: [SealRule]) {
    var byPath: [[UInt8]: SealedEntry] = [:]
    for entry in entries { byPath[entry.path] = entry }
    let sorted = byPath.values.sorted { $0.path.lexicographicallyPrecedes($1.path) }
    var positions: [[UInt8]: Int] = [:]
    for (position, entry) in sorted.enumerated() { positions[entry.path] = position }
    self.version = version
    self.entries = sorted
    self.rules = rules
    self.positions = positions
  }

  /// What the book says of a path.
  public subscript(path: [UInt8]) -> SealedEntry? { positions[path].map { entries[$0] } }

  /// Two books that say the same.
  public static func == (left: Self, right: Self) -> Bool {
    left.version == right.version && left.entries == right.entries && left.rules == right.rules
  }
}

/// One path of a bundle, and what must be there.
public struct SealedEntry: Equatable, Sendable {
  /// What must be at a path.
  public enum Content: Equatable, Sendable {
    /// A file with these digests, of which there is at least one.
    case file(sha1: [UInt8]?, sha256: [UInt8]?)
    /// A symbolic link with this target.
    case link([UInt8])
    /// Code with a signature of its own: a file or a bundle, known by the digest of its Mach-O
    /// signature, or by what that must satisfy.
    case code
  }

  /// The path, from the directory that holds `_CodeSignature`.
  public let path: [UInt8]
  /// What must be there.
  public let content: Content
  /// Whether nothing may be there as well.
  public let isOptional: Bool

  /// An entry with every field given.
  public init(path: [UInt8], content: Content, isOptional: Bool = false) {
    self.path = path
    self.content = content
    self.isOptional = isOptional
  }
}

/// How many bytes the digests of a seal have.
public enum DigestSize {
  /// SHA-1's.
  public static let sha1 = 20
  /// SHA-256's.
  public static let sha256 = 32
}
