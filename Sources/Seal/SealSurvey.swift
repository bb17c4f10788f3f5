// A bundle beside its seal: what of it is sealed, changed, missing or added.
//
// The survey looks at names, kinds and link targets. What it says of a file is which digest its
// bytes must have; whoever reads them compares.

/// What lies at one path of a bundle.
public struct BundleEntry: Equatable, Sendable {
  /// What is there.
  public enum Kind: Equatable, Sendable {
    /// A regular file.
    case file
    /// A symbolic link with this target.
    case link([UInt8])
    /// A directory that the seal knows as code with a signature of its own; what is in it is that
    /// signature's matter.
    case nested
    /// What no bundle holds: a socket, a pipe or a device.
    case other
  }

  /// The path, from the directory that holds `_CodeSignature`.
  public let path: [UInt8]
  /// What is there.
  public let kind: Kind

  /// An entry with every field given.
  public init(path: [UInt8], kind: Kind) {
    self.path = path
    self.kind = kind
  }
}

/// What a seal says of each entry of a bundle.
public struct SealSurvey: Equatable, Sendable {
  /// What the seal says of one entry.
  public enum Standing: Equatable, Sendable {
    /// It is a file whose bytes must have this SHA-256 digest.
    case sha256([UInt8])
    /// It is a file whose bytes must have this SHA-1 digest: the seal has no better one.
    case sha1([UInt8])
    /// It is a link, and as it was sealed.
    case link
    /// It is code that only its own signature binds.
    case code
    /// The seal does not cover it, and says so.
    case unsealed
    /// It is not what was sealed, whatever its bytes are.
    case changed
    /// It was not there when the bundle was sealed.
    case added
  }

  /// What the seal says of each entry, in the order in which they were given.
  public let standings: [Standing]
  /// What was sealed, must be there, and is not.
  public let missing: [[UInt8]]

  /// Compares names, kinds and link targets.
  ///
  /// `executable` is the path of the main executable, which Apple's seals leave to the signature
  /// inside of it. `matches` says whether the pattern of the rule at an index matches a path.
  public init(
    of entries: [BundleEntry], by book: SealBook, executable: [UInt8]?,
    matches: (Int, [UInt8]) -> Bool
  ) {
    var found: Set<[UInt8]> = []
    standings = entries.map { entry in
      found.insert(entry.path)
      if let sealed = book[entry.path] { return Self.standing(of: entry.kind, as: sealed.content) }
      if SealFiles.isOwn(entry) { return .unsealed }
      if entry.path == executable, entry.kind == .file { return .unsealed }
      return Self.standing(of: entry, byRulesOf: book, matches)
    }
    missing = book.entries.filter { !$0.isOptional && !found.contains($0.path) }.map(\.path)
  }

  private static func standing(
    of kind: BundleEntry.Kind, as sealed: SealedEntry.Content
  ) -> Standing {
    switch (kind, sealed) {
    case (.file, .file(_, let sha256?)): .sha256(sha256)
    case (.file, .file(let sha1?, nil)): .sha1(sha1)
    case (.link(let target), .link(let sealed)): target == sealed ? .link : .changed
    case (.file, .code), (.nested, .code): .code
    default: .changed
    }
  }

  private static func standing(
    of entry: BundleEntry, byRulesOf book: SealBook, _ matches: (Int, [UInt8]) -> Bool
  ) -> Standing {
    if entry.kind == .other { return .added }
    // The first book names no links.
    if case .link = entry.kind, book.version == .one { return .unsealed }
    let ruling = SealRule.ruling(of: book.rules) { matches($0, entry.path) }
    guard let ruling else { return .unsealed }
    return ruling.omits ? .unsealed : .added
  }
}

/// The files that a seal itself consists of.
public enum SealFiles {
  /// The directory of all of them.
  public static let directory = "_CodeSignature"
  /// The seal.
  public static let codeResources = "CodeResources"
  /// A signature over the seal's bytes, as CMS in DER.
  public static let signature = "CodeSignature"
  /// A signature over the seal's bytes, by minisign(1).
  public static let minisign = "CodeResources.minisig"
  /// Apple's own signature of a bundle without a Mach-O executable, beside `CodeSignature`.
  public static let appleCodeDirectory = "CodeDirectory"

  /// What may be in the directory without being sealed: Apple's tools write some of them.
  private static let names: Set<[UInt8]> = Set(
    [
      codeResources, signature, minisign, appleCodeDirectory, "CodeRequirements",
      "CodeRequirements-1", "CodeEntitlements", "CodeEntitlementDER", "CodeTopDirectory",
    ].map { Array($0.utf8) })

  /// Whether an entry is a part of the seal, which cannot seal itself.
  static func isOwn(_ entry: BundleEntry) -> Bool {
    let parts = entry.path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    switch (parts.count, entry.kind) {
    case (2, .file):
      if parts[0].elementsEqual("_MASReceipt".utf8) {
        return parts[1].elementsEqual("receipt".utf8)
      }
      return parts[0].elementsEqual(directory.utf8) && names.contains(Array(parts[1]))
    case (1, .link(let target)):
      // Old tools put a link to the seal where seals once were.
      return parts[0].elementsEqual(codeResources.utf8)
        && target.elementsEqual("\(directory)/\(codeResources)".utf8)
    default: return false
    }
  }
}
