// A pattern: which paths a rule is about.

import Paths

/// The pattern of a rule, anchored at the view's root.
struct Pattern: Hashable, Sendable {
  /// The most bytes that a pattern may have: no path that a program can name is longer.
  static let maximumByteCount = 4096

  enum Component: Hashable, Sendable {
    case literal([UInt8])
    case glob(Glob)
    /// `**`: any number of names; at the end of a pattern at least one.
    case anyDepth
  }

  let components: [Component]

  /// Whether it is about what lies in a bundle alone: its first name ends in `.app`.
  var isOfBundles: Bool {
    switch components.first {
    case .literal(let name): name.suffix(4).elementsEqual(".app".utf8)
    case .glob(let glob): glob.literalSuffix.suffix(4).elementsEqual(".app".utf8)
    case .anyDepth, nil: false
    }
  }

  /// Reads a pattern; one without a slash matches a name at any depth.
  init(_ word: Word) throws(LineError) {
    guard word.bytes.count <= Self.maximumByteCount else {
      throw LineError(word, expected: "a pattern of at most \(Self.maximumByteCount) bytes")
    }
    if word.bytes.count == 1, word.bytes[0].isSpecial("/") {
      components = []
      return
    }
    var parts = word.split(separator: "/")
    var components: [Component] = []
    if parts.count == 1 {
      components.append(.anyDepth)
    } else if parts[0].bytes.isEmpty {
      parts.removeFirst()
    }
    for part in parts {
      let component = try Self.component(part, in: word)
      if component == .anyDepth, components.last == .anyDepth { continue }
      components.append(component)
    }
    self.components = components
  }

  private static func component(_ part: Word, in word: Word) throws(LineError) -> Component {
    guard !part.bytes.isEmpty else {
      throw LineError(
        column: part.column, text: word.text, expected: "a name on both sides of this slash")
    }
    if part.bytes.count == 2, part.bytes.allSatisfy({ $0.isSpecial("*") }) { return .anyDepth }
    let glob = try Self.glob(part)
    guard let literal = glob.literal else { return .glob(glob) }
    if literal == Array(".".utf8) || literal == Array("..".utf8) {
      throw LineError(part, expected: "a name other than . and ..")
    }
    return .literal(literal)
  }

  /// The pattern of one name, from a word.
  static func glob(_ word: Word) throws(LineError) -> Glob {
    let glob: Glob
    do {
      glob = try Glob(word.bytes[...])
    } catch {
      let offset = min(error.offset, word.columns.count - 1)
      throw LineError(
        column: word.columns[offset], text: word.text, expected: error.expected)
    }
    let limit = ViewPath.maximumNameByteCount
    guard glob.minimumByteCount <= limit, word.bytes.count <= limit * 4 else {
      throw LineError(word, expected: "a name of at most \(limit) bytes")
    }
    return glob
  }

  /// Whether everything that it matches lies at or below a path of plain names.
  func isWithin(_ names: [String]) -> Bool {
    components.count >= names.count
      && zip(components, names).allSatisfy { $0 == .literal(Array($1.utf8)) }
  }
}
