// Reads profiles: line by line, to the end even after a mistake, so that all are told in one go.

import Paths

/// Reads the layers of a policy in their order.
struct ProfileParser {
  /// How deep profiles may include each other.
  static let maximumIncludeDepth = 16
  /// Nobody reads more mistakes than that, and a hostile profile could have millions.
  static let maximumErrorCount = 1000
  /// How many rules all layers may have together, those of included profiles counted each time.
  static let maximumRuleCount = 1 << 20

  private typealias Entry = (source: ProfileSource, origin: ProfileFile.Origin)

  /// What can be included, the sources before the shipped ones of the same name.
  private let library: [Entry]
  private var profile = Profile()
  private var errors: [ProfileError] = []
  /// How many rules set a limit.
  private var quotaCount = 0

  /// What the line that is being read belongs to.
  private struct Context {
    var rank: ProfileSource.Rank
    var file: Int
    /// The profiles that led here, the outermost first.
    var including: [[UInt8]]
    var line = 0
  }

  /// Reads all layers, in the order of their ranks.
  ///
  /// Throws every mistake of every layer.
  static func read(_ sources: [ProfileSource]) throws(ProfileErrors) -> Profile {
    let entries = sources.enumerated().map { (source: $1, origin: ProfileFile.Origin.source($0)) }
    let shipped = ShippedProfiles.all.enumerated().map {
      (source: $1, origin: ProfileFile.Origin.shipped($0))
    }
    var parser = Self(library: entries.filter { $0.source.rank == .included } + shipped)
    for rank in ProfileSource.Rank.allCases where rank != .included {
      for entry in entries where entry.source.rank == rank {
        parser.read(entry, rank: rank, including: [])
      }
    }
    guard parser.errors.isEmpty else { throw ProfileErrors(errors: parser.errors) }
    return parser.profile
  }

  private init(library: [Entry]) {
    self.library = library
  }

  private mutating func read(
    _ entry: Entry, rank: ProfileSource.Rank, including: [[UInt8]]
  ) {
    let source = entry.source
    var context = Context(
      rank: rank, file: profile.files.count, including: including + [source.name])
    profile.files.append(ProfileFile(name: source.name, origin: entry.origin))
    guard source.text.count <= rank.maximumByteCount else {
      context.line = 1
      let limit = "a profile of at most \(rank.maximumByteCount) bytes"
      return report(LineError(column: 1, text: [], expected: limit), in: context)
    }
    for line in source.text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      context.line += 1
      guard !isFull else { return }
      do throws(LineError) {
        try read(Lexer.words(of: line), in: context)
      } catch {
        report(error, in: context)
      }
    }
  }

  private var isFull: Bool { errors.count >= Self.maximumErrorCount }

  private mutating func report(_ error: LineError, in context: Context) {
    guard !isFull else { return }
    errors.append(
      ProfileError(
        file: profile.files[context.file].name, line: context.line, column: error.column,
        text: error.text, expected: error.expected))
  }

  private mutating func read(_ words: [Word], in context: Context) throws(LineError) {
    guard let first = words.first else { return }
    guard first.text.first == UInt8(ascii: "@") else { return readRule(words, in: context) }
    switch String(decoding: first.plain, as: UTF8.self) {
    case "@include": try include(words, in: context)
    case "@expect": try expect(words, in: context)
    default: throw LineError(first, expected: "@include, @expect or a pattern")
    }
  }

  // MARK: Directives

  private mutating func include(_ words: [Word], in context: Context) throws(LineError) {
    let name = try word(1, of: words, expected: "the name of a profile")
    try end(of: words, at: 2)
    guard let entry = library.first(where: { $0.source.answers(to: name.plain) }) else {
      var known: [String] = []
      for entry in library {
        let name = Presentation.escaped(entry.source.name)
        if !known.contains(name) { known.append(name) }
      }
      throw LineError(name, expected: "a profile that is there: \(known.joined(separator: ", "))")
    }
    guard !context.including.contains(entry.source.name) else {
      throw LineError(name, expected: "a profile that does not include itself")
    }
    guard context.including.count < Self.maximumIncludeDepth else {
      throw LineError(
        name, expected: "profiles that include each other at most \(Self.maximumIncludeDepth) deep")
    }
    read(entry, rank: context.rank, including: context.including)
  }

  /// Reads `@expect allow|deny OPERATION PATH [PATH]`.
  ///
  /// An included profile's own expectations are about that profile alone, so they are only checked.
  private mutating func expect(_ words: [Word], in context: Context) throws(LineError) {
    let answer = try word(1, of: words, expected: "allow or deny")
    guard ["allow", "deny"].contains(String(decoding: answer.plain, as: UTF8.self)) else {
      throw LineError(answer, expected: "allow or deny")
    }
    let verbs = Operation.allCases.map(\.name).joined(separator: ", ")
    let verb = try word(2, of: words, expected: "an operation: \(verbs)")
    guard let operation = Operation(name: String(decoding: verb.plain, as: UTF8.self)) else {
      throw LineError(verb, expected: "an operation: \(verbs)")
    }
    let path = try viewPath(word(3, of: words, expected: "a path"))
    let second =
      try operation.takesTwoPaths
      ? viewPath(word(4, of: words, expected: "the second path of \(operation.name)")) : nil
    try end(of: words, at: operation.takesTwoPaths ? 5 : 4)
    guard context.including.count == 1 else { return }
    profile.expectations.append(
      Expectation(
        isAllowed: answer.plain == Array("allow".utf8), operation: operation, path: path,
        secondPath: second, file: profile.files[context.file].name, line: context.line))
  }

  private func viewPath(_ word: Word) throws(LineError) -> ViewPath {
    do {
      return try ViewPath(word.plain)
    } catch {
      throw LineError(word, expected: error.expected)
    }
  }

  private func word(
    _ index: Int, of words: [Word], expected: String
  ) throws(LineError) -> Word {
    guard index < words.count else {
      let last = words[words.count - 1]
      throw LineError(column: last.column + last.text.count, text: [], expected: expected)
    }
    return words[index]
  }

  private func end(of words: [Word], at index: Int) throws(LineError) {
    if index < words.count { throw LineError(words[index], expected: "the end of the line") }
  }

  // MARK: Rules

  /// Reads a pattern and its attributes, each by itself: one mistake does not hide another.
  private mutating func readRule(_ words: [Word], in context: Context) {
    var reader = RuleReader(rank: context.rank)
    var pattern: Pattern?
    do throws(LineError) {
      pattern = try Pattern(words[0])
    } catch {
      report(error, in: context)
    }
    for word in words.dropFirst() {
      do throws(LineError) {
        try reader.read(word, on: pattern)
      } catch {
        report(error, in: context)
      }
    }
    if words.count == 1 {
      let column = words[0].column + words[0].text.count
      let expected = "an attribute: \(RuleReader.spellings(for: context.rank))"
      report(LineError(column: column, text: [], expected: expected), in: context)
    }
    guard let pattern else { return }
    guard profile.rules.count < Self.maximumRuleCount else {
      let expected = "at most \(Self.maximumRuleCount) rules in all layers together"
      return report(LineError(words[0], expected: expected), in: context)
    }
    if reader.setsLimit {
      quotaCount += 1
      guard quotaCount <= QuotaSet.capacity else {
        let expected = "at most \(QuotaSet.capacity) rules with quota= in all layers together"
        return report(LineError(words[0], expected: expected), in: context)
      }
    }
    let place = SourcePlace(rank: context.rank, file: context.file, line: context.line)
    profile.rules.append(reader.rule(pattern, at: place))
  }
}
