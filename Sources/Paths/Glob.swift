// A glob: the pattern of one name.
//
// `*` is any run of bytes, `?` one byte, `[...]` one byte of a set. A name is bytes, so `?` is half
// of a two-byte character; a leading dot is a byte like any other.

/// One byte of a pattern, and whether it was escaped: an escaped byte only ever means itself.
public struct PatternByte: Hashable, Sendable {
  /// The byte.
  public let value: UInt8
  /// Whether the byte means itself, whatever it is.
  public let isEscaped: Bool

  /// A byte with what is known of it.
  public init(_ value: UInt8, isEscaped: Bool) {
    self.value = value
    self.isEscaped = isEscaped
  }

  /// Whether it is this byte in its special meaning.
  @inlinable
  public func isSpecial(_ character: Unicode.Scalar) -> Bool {
    !isEscaped && value == UInt8(ascii: character)
  }
}

/// Why a pattern is none.
public struct GlobError: Error, Hashable, Sendable {
  /// The index of the first offending byte in the pattern.
  public let offset: Int
  /// What should have stood there.
  public let expected: String
}

/// A set of bytes.
struct ByteSet: Hashable, Sendable {
  var words = SIMD4<UInt64>()

  func contains(_ byte: UInt8) -> Bool {
    words[Int(byte >> 6)] & (1 << UInt64(byte & 63)) != 0
  }

  mutating func insert(_ range: ClosedRange<UInt8>) {
    for byte in range { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
  }

  mutating func invert() { words = ~words }
}

/// The pattern of one name, checked.
public struct Glob: Hashable, Sendable {
  enum Piece: Hashable, Sendable {
    case byte(UInt8)
    case anyByte
    case anyRun
    case oneOf(ByteSet)
  }

  let pieces: [Piece]

  /// Reads a pattern of one name.
  ///
  /// Throws for an empty one, a slash, a zero byte, `**`, and a set that is not closed.
  public init(_ pattern: ArraySlice<PatternByte>) throws(GlobError) {
    guard !pattern.isEmpty else {
      throw GlobError(offset: 0, expected: "a name")
    }
    var pieces: [Piece] = []
    var rest = pattern
    while let byte = rest.first {
      let offset = rest.startIndex - pattern.startIndex
      if byte.value == UInt8(ascii: "/") || byte.value == 0 {
        throw GlobError(offset: offset, expected: "a name, which has no slash and no zero byte")
      }
      if byte.isSpecial("[") {
        pieces.append(.oneOf(try GlobSetReader.read(&rest, offset: offset)))
        continue
      }
      if byte.isSpecial("*"), pieces.last == .anyRun {
        throw GlobError(offset: offset, expected: "** to stand alone between slashes")
      }
      pieces.append(Self.piece(byte))
      rest.removeFirst()
    }
    self.pieces = pieces
  }

  private static func piece(_ byte: PatternByte) -> Piece {
    if byte.isSpecial("*") { return .anyRun }
    if byte.isSpecial("?") { return .anyByte }
    return .byte(byte.value)
  }

  /// The one name that it matches, if it has no wildcard.
  public var literal: [UInt8]? {
    let prefix = literalPrefix
    return prefix.count == pieces.count ? prefix : nil
  }

  /// The bytes with which every name that it matches begins.
  public var literalPrefix: [UInt8] { Self.literals(pieces) }

  /// The bytes with which every name that it matches ends.
  public var literalSuffix: [UInt8] { Self.literals(pieces.reversed()).reversed() }

  /// How many bytes the shortest name has that it matches.
  public var minimumByteCount: Int { pieces.count { $0 != .anyRun } }

  /// Whether it is `*`.
  public var matchesEverything: Bool { pieces == [.anyRun] }

  private static func literals(_ pieces: some Sequence<Piece>) -> [UInt8] {
    var bytes: [UInt8] = []
    for case .byte(let byte) in pieces.prefix(while: { if case .byte = $0 { true } else { false } })
    {
      bytes.append(byte)
    }
    return bytes
  }
}

/// Reads `[...]`.
///
/// A `]` that comes first and a `-` that comes first or last mean themselves; `!` or `^` first
/// turns the set round; `[:digit:]` and its like are the POSIX locale's.
private enum GlobSetReader {
  static func read(
    _ rest: inout ArraySlice<PatternByte>, offset: Int
  ) throws(GlobError) -> ByteSet {
    var set = ByteSet()
    rest.removeFirst()
    let isInverted = rest.first.map { $0.isSpecial("!") || $0.isSpecial("^") } ?? false
    if isInverted { rest.removeFirst() }
    var isFirst = true
    while let byte = rest.first, isFirst || !byte.isSpecial("]") {
      isFirst = false
      if byte.isSpecial("["), rest.dropFirst().first?.isSpecial(":") == true {
        try insertClass(&rest, into: &set, offset: offset)
      } else {
        try insertRange(&rest, into: &set, offset: offset)
      }
    }
    guard !rest.isEmpty else { throw GlobError(offset: offset, expected: "a ] that closes the [") }
    rest.removeFirst()
    if isInverted { set.invert() }
    return set
  }

  private static func insertRange(
    _ rest: inout ArraySlice<PatternByte>, into set: inout ByteSet, offset: Int
  ) throws(GlobError) {
    let low = rest.removeFirst().value
    guard let dash = rest.first, dash.isSpecial("-"), let high = rest.dropFirst().first,
      !high.isSpecial("]")
    else { return set.insert(low...low) }
    guard low <= high.value else {
      throw GlobError(offset: offset, expected: "a range whose first byte is not above its last")
    }
    rest.removeFirst(2)
    set.insert(low...high.value)
  }

  private static func insertClass(
    _ rest: inout ArraySlice<PatternByte>, into set: inout ByteSet, offset: Int
  ) throws(GlobError) {
    let name = rest.dropFirst(2).prefix { !$0.isSpecial(":") }
    let end = rest.dropFirst(2 + name.count)
    guard end.first?.isSpecial(":") == true, end.dropFirst().first?.isSpecial("]") == true,
      let ranges = classes[String(decoding: name.map(\.value), as: UTF8.self)]
    else {
      let known = classes.keys.sorted().joined(separator: ", ")
      throw GlobError(offset: offset, expected: "a class such as [:digit:], one of \(known)")
    }
    for range in ranges { set.insert(range) }
    rest = end.dropFirst(2)
  }

  private static let classes: [String: [ClosedRange<UInt8>]] = [
    "alnum": [0x30...0x39, 0x41...0x5A, 0x61...0x7A],
    "alpha": [0x41...0x5A, 0x61...0x7A],
    "blank": [0x09...0x09, 0x20...0x20],
    "cntrl": [0x00...0x1F, 0x7F...0x7F],
    "digit": [0x30...0x39],
    "graph": [0x21...0x7E],
    "lower": [0x61...0x7A],
    "print": [0x20...0x7E],
    "punct": [0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E],
    "space": [0x09...0x0D, 0x20...0x20],
    "upper": [0x41...0x5A],
    "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
  ]
}
