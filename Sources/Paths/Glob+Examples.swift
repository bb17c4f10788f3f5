// A glob turned round: names that it matches, and the text that reads as it.

extension Glob {
  /// Some names that it matches, unlike each other where it leaves room; none if no file can have
  /// such a name.
  public var examples: [[UInt8]] {
    let fillings = [UInt8(ascii: "x"), UInt8(ascii: "0"), UInt8(ascii: "Q")]
    var names: [[UInt8]] = []
    for filling in fillings {
      guard let name = name(filledWith: filling) else { return [] }
      if !names.contains(name) { names.append(name) }
    }
    if let shortest = commonExample(with: self), !names.contains(shortest) {
      names.append(shortest)
    }
    return names.filter(Self.isName)
  }

  /// The shortest name that both match, if there is one.
  public func commonExample(with other: Glob) -> [UInt8]? {
    var search = CommonName(pieces, other.pieces)
    return search.find().flatMap { Self.isName($0) ? $0 : nil }
  }

  /// The pattern, so that a profile reads it as this glob.
  ///
  /// It may need quotes around it, for a blank or a `#`.
  public var text: String {
    var text = ""
    var literal: [UInt8] = []
    for piece in pieces {
      if case .byte(let byte) = piece {
        literal.append(byte)
        continue
      }
      text += Presentation.patternText(literal)
      literal = []
      switch piece {
      case .byte: break
      case .anyByte: text += "?"
      case .anyRun: text += "*"
      case .oneOf(let set): text += set.text
      }
    }
    return text + Presentation.patternText(literal)
  }

  private func name(filledWith filling: UInt8) -> [UInt8]? {
    var name: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .byte(let byte): name.append(byte)
      case .anyByte, .anyRun: name.append(filling)
      case .oneOf(let set):
        guard let byte = set.contains(filling) ? filling : set.example(.all) else { return nil }
        name.append(byte)
      }
    }
    return name
  }

  private static func isName(_ name: [UInt8]) -> Bool {
    (1...ViewPath.maximumNameByteCount).contains(name.count)
      && name != Array(".".utf8) && name != Array("..".utf8)
  }

  /// The bytes that a piece takes.
  fileprivate static func bytes(of piece: Piece) -> ByteSet {
    switch piece {
    case .byte(let byte):
      var set = ByteSet()
      set.insert(byte...byte)
      return set
    case .anyByte, .anyRun: return .all
    case .oneOf(let set): return set
    }
  }
}

extension ByteSet {
  fileprivate static let all: Self = {
    var set = Self()
    set.invert()
    return set
  }()

  /// A byte that is in both sets and that a name can have: one that people can read if there is.
  fileprivate func example(_ other: ByteSet) -> UInt8? {
    let both = ByteSet(words: words & other.words)
    for range in Self.preferred {
      if let byte = range.first(where: both.contains) { return byte }
    }
    return nil
  }

  private static let preferred: [[UInt8]] = [
    Array(UInt8(ascii: "a")...UInt8(ascii: "z")), Array(UInt8(ascii: "0")...UInt8(ascii: "9")),
    (0x21...0x7E).filter { $0 != UInt8(ascii: "/") }, (1...255).filter { $0 != UInt8(ascii: "/") },
  ]

  /// The set in brackets; turned round if most bytes are in it.
  fileprivate var text: String {
    var shown = self
    let isInverted = bitCount > 128
    if isInverted { shown.invert() }
    let ranges = shown.ranges.map { range in
      let first = Presentation.bracketByte(range.lowerBound)
      let last = Presentation.bracketByte(range.upperBound)
      switch range.count {
      case 1: return first
      case 2: return first + last
      default: return "\(first)-\(last)"
      }
    }
    if ranges.isEmpty { return isInverted ? "?" : #"[!\001-\377]"# }
    return "[" + (isInverted ? "!" : "") + ranges.joined() + "]"
  }

  /// Its bytes, without those that no name has and no pattern can say.
  private var ranges: [ClosedRange<UInt8>] {
    var ranges: [ClosedRange<UInt8>] = []
    for byte in UInt8(1)...255 where contains(byte) && byte != UInt8(ascii: "/") {
      if let last = ranges.last, last.upperBound == byte - 1 {
        ranges[ranges.count - 1] = last.lowerBound...byte
      } else {
        ranges.append(byte...byte)
      }
    }
    return ranges
  }

  private var bitCount: Int { words.indices.reduce(0) { $0 + words[$1].nonzeroBitCount } }
}

/// Searches two globs at once for the shortest name, position by position.
private struct CommonName {
  private struct State: Hashable {
    var first: Int
    var second: Int
    /// A name has at least one byte.
    var isEmpty: Bool
  }

  private let first: [Glob.Piece]
  private let second: [Glob.Piece]
  /// How a state was first reached: from where, and by which byte.
  private var origins: [State: (state: State, byte: UInt8?)] = [:]
  private var queue: [State] = []

  init(_ first: [Glob.Piece], _ second: [Glob.Piece]) {
    self.first = first
    self.second = second
  }

  mutating func find() -> [UInt8]? { search().map(name) }

  private mutating func search() -> State? {
    let start = State(first: 0, second: 0, isEmpty: true)
    queue = [start]
    origins = [start: (start, nil)]
    var index = 0
    while index < queue.count {
      let state = queue[index]
      index += 1
      let isAtEnd = state.first == first.count && state.second == second.count
      if isAtEnd, !state.isEmpty { return state }
      follow(state)
    }
    return nil
  }

  private mutating func follow(_ state: State) {
    let one = state.first < first.count ? first[state.first] : nil
    let other = state.second < second.count ? second[state.second] : nil
    // A `*` may also stand for nothing.
    var next = state
    next.first += 1
    if one == .anyRun { reach(next, state, nil) }
    next = state
    next.second += 1
    if other == .anyRun { reach(next, state, nil) }
    guard let one, let other, let byte = Glob.bytes(of: one).example(Glob.bytes(of: other))
    else { return }
    next = state
    next.isEmpty = false
    next.first += one == .anyRun ? 0 : 1
    next.second += other == .anyRun ? 0 : 1
    reach(next, state, byte)
  }

  private mutating func reach(_ state: State, _ origin: State, _ byte: UInt8?) {
    guard origins[state] == nil else { return }
    origins[state] = (origin, byte)
    queue.append(state)
  }

  private func name(_ end: State) -> [UInt8] {
    var name: [UInt8] = []
    var state = end
    while let origin = origins[state], origin.state != state {
      if let byte = origin.byte { name.append(byte) }
      state = origin.state
    }
    return name.reversed()
  }
}
