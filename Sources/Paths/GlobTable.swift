// Globs compiled into flat arrays, so that matching a name neither allocates nor counts references.

/// Many globs behind small numbers.
public struct GlobTable: Sendable {
  /// One glob of a table.
  public struct ID: Hashable, Sendable {
    let rawValue: UInt32
  }

  /// A code below 256 is that byte; then come `anyByte`, `anyRun`, and the sets by their index.
  private static let anyByte: UInt32 = 256
  private static let anyRun: UInt32 = 257
  private static let firstSet: UInt32 = 258

  private var codes: [UInt32] = []
  private var sets: [ByteSet] = []
  /// Where each glob's codes begin, and where the next one's would.
  private var starts: [UInt32] = [0]
  private var known: [Glob: ID] = [:]
  private var knownSets: [ByteSet: UInt32] = [:]

  /// A table without globs.
  public init() {}

  /// Adds a glob; one that is there already keeps its number.
  public mutating func insert(_ glob: Glob) -> ID {
    if let id = known[glob] { return id }
    let id = ID(rawValue: UInt32(starts.count - 1))
    for piece in glob.pieces { codes.append(code(piece)) }
    starts.append(UInt32(codes.count))
    known[glob] = id
    return id
  }

  /// Every glob by its number.
  public var globs: [ID: Glob] {
    known.reduce(into: [:]) { $0[$1.value] = $1.key }
  }

  private mutating func code(_ piece: Glob.Piece) -> UInt32 {
    switch piece {
    case .byte(let byte): return UInt32(byte)
    case .anyByte: return Self.anyByte
    case .anyRun: return Self.anyRun
    case .oneOf(let set):
      if let code = knownSets[set] { return code }
      let code = Self.firstSet + UInt32(sets.count)
      sets.append(set)
      knownSets[set] = code
      return code
    }
  }

  /// Whether a glob matches a whole name.
  ///
  /// Greedy with one point of return: after a mismatch only the last `*` takes one byte more, which
  /// is enough, so the time is at most the product of both lengths.
  public func matches(_ id: ID, _ name: Span<UInt8>) -> Bool {
    let end = Int(starts[Int(id.rawValue) + 1])
    var position = Int(starts[Int(id.rawValue)])
    var index = 0
    var afterRun = -1
    var resume = 0
    while index < name.count {
      if position < end {
        let code = codes[position]
        if code == Self.anyRun {
          position += 1
          afterRun = position
          resume = index
          continue
        }
        if fits(code, name[index]) {
          position += 1
          index += 1
          continue
        }
      }
      guard afterRun >= 0 else { return false }
      resume += 1
      index = resume
      position = afterRun
    }
    while position < end, codes[position] == Self.anyRun { position += 1 }
    return position == end
  }

  private func fits(_ code: UInt32, _ byte: UInt8) -> Bool {
    if code < Self.anyByte { return code == UInt32(byte) }
    if code == Self.anyByte { return true }
    return sets[Int(code - Self.firstSet)].contains(byte)
  }
}
