// A seal as the property list that CodeResources is: each key, and what it must be.
//
// Whatever a stranger wrote is either a seal that can be checked or refused with its reason.

public import PropertyLists

/// Why a property list is no seal.
public struct SealError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong, without the file's name before it.
  public let description: String

  /// A mistake in words.
  public init(_ description: String) { self.description = description }
}

extension CodeResources {
  /// How many paths a seal may name.
  public static let maximumEntryCount = 1_000_000

  /// Reads what CodeResources says.
  public init(_ list: PropertyList) throws(SealError) {
    guard list.dictionary != nil else { throw SealError("it is no dictionary") }
    version1 = try SealBook(.one, list["files"], list["rules"])
    version2 = try SealBook(.two, list["files2"], list["rules2"])
    guard version1 != nil || version2 != nil else {
      throw SealError("it has neither 'files2' nor 'files'")
    }
  }

  /// The seal as CodeResources has it.
  public var propertyList: PropertyList {
    var list = PropertyDictionary()
    if let version1 {
      list["files"] = version1.entryList
    }
    if let version2 { list["files2"] = version2.entryList }
    if let version1 { list["rules"] = version1.ruleList }
    if let version2 { list["rules2"] = version2.ruleList }
    return .dictionary(list)
  }
}

extension SealBook {
  /// Reads one book; nil if the seal lacks it.
  fileprivate init?(
    _ version: Version, _ files: PropertyList?, _ rules: PropertyList?
  ) throws(SealError) {
    let name = version == .one ? "" : "2"
    guard let files else { return nil }
    guard let files = files.dictionary else {
      throw SealError("'files\(name)' is no dictionary")
    }
    guard files.count <= CodeResources.maximumEntryCount else {
      throw SealError("it names more than \(CodeResources.maximumEntryCount) paths")
    }
    // Without rules nothing says that what is not named may be there.
    guard let rules = (rules ?? .dictionary(PropertyDictionary())).dictionary else {
      throw SealError("'rules\(name)' is no dictionary")
    }
    guard rules.count <= SealRule.maximumCount else {
      throw SealError("it has more than \(SealRule.maximumCount) rules")
    }
    var entries: [SealedEntry] = []
    for entry in files.entries { entries.append(try SealedEntry(entry.key, entry.value)) }
    var all: [SealRule] = []
    for rule in rules.entries { all.append(try SealRule(rule.key, rule.value)) }
    self.init(version: version, entries: entries, rules: all)
  }

  fileprivate var entryList: PropertyList {
    var list = PropertyDictionary()
    for entry in entries { list[entry.path] = entry.value(in: version) }
    return .dictionary(list)
  }

  fileprivate var ruleList: PropertyList {
    var list = PropertyDictionary()
    for rule in rules { list[rule.pattern] = rule.value }
    return .dictionary(list)
  }
}

// MARK: - Entries

extension SealedEntry {
  fileprivate init(_ path: [UInt8], _ value: PropertyList) throws(SealError) {
    if let mistake = Self.mistake(inPath: path) {
      throw SealError("the path '\(Self.shown(path))' \(mistake)")
    }
    self.path = path
    if let digest = value.data {
      guard digest.count == DigestSize.sha1 else { throw Self.mistake(path, "its digest") }
      content = .file(sha1: digest, sha256: nil)
      isOptional = false
      return
    }
    guard let fields = value.dictionary else { throw Self.mistake(path, "its value") }
    isOptional = try Self.flag(fields["optional"], path)
    content = try Self.content(fields, path)
  }

  private static func content(
    _ fields: PropertyDictionary, _ path: [UInt8]
  ) throws(SealError) -> Content {
    let sha1 = try digest(fields["hash"], DigestSize.sha1, path)
    let sha256 = try digest(fields["hash2"], DigestSize.sha256, path)
    let isCode = fields["cdhash"] != nil || fields["requirement"] != nil
    switch (fields["symlink"], isCode, sha1 != nil || sha256 != nil) {
    case (let link?, false, false):
      guard let target = link.bytesOfString, !target.isEmpty, !target.contains(0) else {
        throw mistake(path, "'symlink'")
      }
      return .link(target)
    case (nil, true, false):
      return .code
    case (nil, false, true):
      return .file(sha1: sha1, sha256: sha256)
    default:
      throw mistake(path, "what it has of 'hash', 'hash2', 'symlink' and 'cdhash'")
    }
  }

  private static func digest(
    _ value: PropertyList?, _ byteCount: Int, _ path: [UInt8]
  ) throws(SealError) -> [UInt8]? {
    guard let value else { return nil }
    guard let digest = value.data, digest.count == byteCount else {
      throw mistake(path, "its digest")
    }
    return digest
  }

  private static func flag(_ value: PropertyList?, _ path: [UInt8]) throws(SealError) -> Bool {
    switch value {
    case nil: return false
    case .boolean(let truth): return truth
    default: throw mistake(path, "'optional'")
    }
  }

  private static func mistake(_ path: [UInt8], _ what: String) -> SealError {
    SealError("the entry '\(shown(path))': \(what) is not acceptable")
  }

  fileprivate func value(in version: SealBook.Version) -> PropertyList {
    var fields = PropertyDictionary()
    switch content {
    case .file(let sha1, let sha256):
      if version == .one, sha256 == nil, !isOptional, let sha1 { return .data(sha1) }
      if let sha1 { fields["hash"] = .data(sha1) }
      if let sha256 { fields["hash2"] = .data(sha256) }
    case .link(let target): fields["symlink"] = .string(target)
    case .code: break
    }
    if isOptional { fields["optional"] = .boolean(true) }
    return .dictionary(fields)
  }

  /// Why a path leads nowhere in a bundle; nil if it does.
  static func mistake(inPath path: [UInt8]) -> String? {
    let longest = 4096
    guard path.count < longest else { return "is too long" }
    guard !path.contains(0) else { return "has a NUL in it" }
    let names = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let leadsDown = names.allSatisfy {
      !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
    }
    return leadsDown ? nil : "does not lead down into the bundle"
  }

  /// A path in an error line: what steers a terminal is left out.
  static func shown(_ path: [UInt8]) -> String {
    let longest = 200
    let text = String(decoding: path.prefix(longest), as: UTF8.self)
    return String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }
}

// MARK: - Rules

extension SealRule {
  fileprivate init(_ pattern: [UInt8], _ value: PropertyList) throws(SealError) {
    if let mistake = Self.mistake(in: pattern) {
      throw SealError("the rule '\(SealedEntry.shown(pattern))': \(mistake)")
    }
    if case .boolean = value {
      self.init(pattern)
      return
    }
    guard let fields = value.dictionary else {
      throw SealError("the rule '\(SealedEntry.shown(pattern))' is neither true nor a dictionary")
    }
    self.init(
      pattern, weight: try Self.weight(fields["weight"], pattern),
      omits: try Self.flag(fields["omit"], pattern),
      isOptional: try Self.flag(fields["optional"], pattern),
      isNested: try Self.flag(fields["nested"], pattern))
  }

  private static func weight(
    _ value: PropertyList?, _ pattern: [UInt8]
  ) throws(SealError) -> Double {
    let weight: Double? =
      switch value {
      case nil: 1
      case .real(let number): number
      case .integer(let number): Double(number)
      default: nil
      }
    guard let weight, weight.isFinite, weight >= 0 else {
      throw SealError("the rule '\(SealedEntry.shown(pattern))': 'weight' is not acceptable")
    }
    return weight
  }

  private static func flag(_ value: PropertyList?, _ pattern: [UInt8]) throws(SealError) -> Bool {
    switch value {
    case nil: return false
    case .boolean(let truth): return truth
    default:
      throw SealError("the rule '\(SealedEntry.shown(pattern))': a flag is neither true nor false")
    }
  }

  fileprivate var value: PropertyList {
    if weight == 1, !omits, !isOptional, !isNested { return .boolean(true) }
    var fields = PropertyDictionary()
    if isNested { fields["nested"] = .boolean(true) }
    if omits { fields["omit"] = .boolean(true) }
    if isOptional { fields["optional"] = .boolean(true) }
    if weight != 1 { fields["weight"] = .real(weight) }
    return .dictionary(fields)
  }
}
