// Which paths of a bundle are sealed, and how: patterns with weights.

/// What holds for the paths that a pattern matches.
public struct SealRule: Equatable, Sendable {
  /// A POSIX extended regular expression, searched for in the path.
  public let pattern: [UInt8]
  /// Of the rules that match a path the heaviest holds.
  public let weight: Double
  /// The path is not sealed.
  public let omits: Bool
  /// What is sealed may be absent later.
  public let isOptional: Bool
  /// What is there has a signature of its own, if it is code.
  public let isNested: Bool

  /// A rule with every field given.
  public init(
    _ pattern: [UInt8], weight: Double = 1, omits: Bool = false, isOptional: Bool = false,
    isNested: Bool = false
  ) {
    self.pattern = pattern
    self.weight = weight
    self.omits = omits
    self.isOptional = isOptional
    self.isNested = isNested
  }

  fileprivate init(
    _ pattern: String, weight: Double = 1, omits: Bool = false, isOptional: Bool = false
  ) {
    self.init(Array(pattern.utf8), weight: weight, omits: omits, isOptional: isOptional)
  }

  /// How many rules a book may have.
  public static let maximumCount = 256
  /// How many bytes a pattern may have.
  public static let maximumPatternByteCount = 512
  /// How deep groups may lie in each other.
  static let maximumGroupDepth = 16

  /// Our rules: Apple's for a bundle like those of iOS, but the executable and Info.plist are
  /// sealed like every other file, since nothing else binds them.
  public static let ours2 = [
    SealRule("^.*"),
    SealRule(#"^.*\.lproj/"#, weight: 1000, isOptional: true),
    SealRule(#"^.*\.lproj/locversion\.plist$"#, weight: 1100, omits: true),
    SealRule(#"^Base\.lproj/"#, weight: 1010),
    SealRule(#"^(.*/)?\.DS_Store$"#, weight: 2000, omits: true),
  ]

  /// Our rules for old readers.
  public static let ours1 = [
    SealRule("^.*"),
    SealRule(#"^.*\.lproj/"#, weight: 1000, isOptional: true),
    SealRule(#"^.*\.lproj/locversion.plist$"#, weight: 1100, omits: true),
    SealRule(#"^Base\.lproj/"#, weight: 1010),
    SealRule("^version.plist$"),
  ]

  /// The rule that holds for a path; nil if none matches.
  ///
  /// The heaviest holds. Of equally heavy ones one that omits does, as in every seal of Apple's
  /// tools, else the first. `matches` says whether the pattern of the rule at an index matches.
  public static func ruling(
    of rules: [SealRule], matches: (Int) -> Bool
  ) -> SealRule? {
    var best: SealRule?
    for (index, rule) in rules.enumerated() {
      if let best {
        let isHeavier = rule.weight > best.weight
        let omitsInstead = rule.weight == best.weight && rule.omits && !best.omits
        guard isHeavier || omitsInstead else { continue }
      }
      if matches(index) { best = rule }
    }
    return best
  }

  /// Why a pattern is not tried; nil if it may be.
  ///
  /// A seal is written by strangers, and the C library's matcher takes unbounded time and memory
  /// for some of what it allows: so no references back, no counted repetition, no endless nesting.
  public static func mistake(in pattern: [UInt8]) -> String? {
    guard pattern.count <= maximumPatternByteCount else {
      return "it has more than \(maximumPatternByteCount) bytes"
    }
    guard !pattern.isEmpty else { return "it is empty" }
    guard !pattern.contains(0) else { return "it has a NUL in it" }
    var scanner = PatternScanner(pattern[...])
    return scanner.mistake()
  }
}

/// Goes through a regular expression as far as is needed to know what is special in it.
private struct PatternScanner {
  private var rest: ArraySlice<UInt8>
  private var depth = 0

  init(_ pattern: ArraySlice<UInt8>) { rest = pattern }

  mutating func mistake() -> String? {
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return "it ends with a backslash" }
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(escaped)
        if isDigit { return "it refers back to a group" }
      case UInt8(ascii: "["):
        guard skipSet() else { return "a '[' has no ']'" }
      case UInt8(ascii: "{"):
        return "it counts repetitions"
      case UInt8(ascii: "("):
        depth += 1
        if depth > SealRule.maximumGroupDepth { return "groups lie too deep in each other" }
      case UInt8(ascii: ")"):
        depth -= 1
        if depth < 0 { return "a ')' has no '('" }
      default: break
      }
    }
    return depth == 0 ? nil : "a '(' has no ')'"
  }

  /// Skips a set behind its `[`; false if it has no end.
  private mutating func skipSet() -> Bool {
    if rest.first == UInt8(ascii: "^") { rest.removeFirst() }
    if rest.first == UInt8(ascii: "]") { rest.removeFirst() }
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "]") { return true }
      guard byte == UInt8(ascii: "["), let kind = rest.first,
        [UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "=")].contains(kind)
      else { continue }
      // A class such as [:alpha:], in which a bracket ends nothing.
      rest.removeFirst()
      while !rest.isEmpty, !rest.starts(with: [kind, UInt8(ascii: "]")]) { rest.removeFirst() }
      rest = rest.dropFirst(2)
    }
    return false
  }
}
