// The binary form, `bplist00`: objects, a table of their offsets, and a trailer.
//
// Objects refer to each other by number, so a few bytes can stand for a list without end, or for
// one of 2^60 elements: depth, the number of values and their bytes are bounded.

extension PropertyList {
  /// How many values a binary list may stand for, and how many bytes in all.
  static let maximumBinaryValues = 1 << 20
  static let maximumBinaryBytes = 64 << 20

  /// Whether bytes begin as a binary property list does.
  public static func isBinary(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist0".utf8) }

  /// Reads a property list in the binary form.
  ///
  /// Throws the first mistake.
  public static func binary(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList {
    var parser = try BinaryParser(bytes)
    return try parser.wholeList()
  }
}

/// Reads one binary list.
struct BinaryParser {
  private static let trailerLength = 32

  private let bytes: [UInt8]
  private let offsetWidth: Int
  private let referenceWidth: Int
  private let objectCount: Int
  private let topObject: Int
  private let offsetTable: Int
  private var valuesLeft = PropertyList.maximumBinaryValues
  private var bytesLeft = PropertyList.maximumBinaryBytes

  init(_ bytes: [UInt8]) throws(PropertyListError) {
    let trailer = bytes.count - Self.trailerLength
    guard PropertyList.isBinary(bytes), trailer >= 8 else {
      throw PropertyListError(at: .byte(0), "not a binary property list")
    }
    func number(at offset: Int) -> Int? {
      bytes[trailer + offset..<trailer + offset + 8].reduce(Int?(0)) { value, byte in
        value.flatMap { $0 >> 55 == 0 ? $0 << 8 | Int(byte) : nil }
      }
    }
    self.bytes = bytes
    offsetWidth = Int(bytes[trailer + 6])
    referenceWidth = Int(bytes[trailer + 7])
    guard let objectCount = number(at: 8), let topObject = number(at: 16),
      let offsetTable = number(at: 24), (1...8).contains(offsetWidth),
      (1...8).contains(referenceWidth), topObject < objectCount,
      (8...trailer).contains(offsetTable),
      objectCount <= (trailer - offsetTable) / offsetWidth
    else { throw PropertyListError(at: .byte(trailer), "a trailer that contradicts itself") }
    self.objectCount = objectCount
    self.topObject = topObject
    self.offsetTable = offsetTable
  }

  mutating func wholeList() throws(PropertyListError) -> PropertyList {
    try object(topObject, depth: 0)
  }

  // MARK: Objects

  private mutating func object(
    _ reference: Int, depth: Int
  ) throws(PropertyListError) -> PropertyList {
    guard reference < objectCount else { throw mistake(offsetTable, "no object \(reference)") }
    let offset = try unsigned(offsetTable + reference * offsetWidth, width: offsetWidth)
    guard offset < offsetTable else { throw mistake(offsetTable, "an object behind the objects") }
    let start = Int(offset)
    guard depth <= PropertyList.maximumDepth else {
      throw mistake(start, "lists lie more than \(PropertyList.maximumDepth) deep in each other")
    }
    guard valuesLeft > 0 else { throw mistake(start, "more values than anyone needs") }
    valuesLeft -= 1
    let marker = bytes[start]
    switch marker >> 4 {
    case 0x0: return try constant(marker, at: start)
    case 0x1: return .integer(try integer(at: start))
    case 0x2: return .real(try real(at: start))
    case 0x3: return .date(try date(at: start))
    case 0x4: return .data(try content(at: start, unitWidth: 1))
    case 0x5: return .string(try ascii(at: start))
    case 0x6: return .string(try utf16(at: start))
    case 0x8: return .uid(try uid(at: start))
    case 0xa: return .array(try elements(at: start, depth: depth))
    case 0xd: return .dictionary(try entries(at: start, depth: depth))
    default: throw mistake(start, "an object of a kind that has no place in a property list")
    }
  }

  private func constant(_ marker: UInt8, at start: Int) throws(PropertyListError) -> PropertyList {
    switch marker {
    case 0x08: return .boolean(false)
    case 0x09: return .boolean(true)
    default: throw mistake(start, "an object of a kind that has no place in a property list")
    }
  }

  /// One, two and four bytes are unsigned, eight and sixteen signed.
  private func integer(at start: Int) throws(PropertyListError) -> Int128 {
    let width = 1 << Int(bytes[start] & 0xf)
    guard width <= 16 else { throw mistake(start, "a number of \(width) bytes") }
    let raw = try range(start + 1, count: width).reduce(UInt128(0)) { $0 << 8 | UInt128(bytes[$1]) }
    if width == 8 { return Int128(Int64(truncatingIfNeeded: raw)) }
    return Int128(truncatingIfNeeded: raw)
  }

  /// One to eight bytes here; none of the writers that are known makes more than four.
  private func uid(at start: Int) throws(PropertyListError) -> UInt64 {
    let width = Int(bytes[start] & 0xf) + 1
    guard width <= 8 else { throw mistake(start, "a reference of \(width) bytes") }
    return try unsigned(start + 1, width: width)
  }

  private func real(at start: Int) throws(PropertyListError) -> Double {
    switch bytes[start] & 0xf {
    case 2: return Double(Float(bitPattern: UInt32(try unsigned(start + 1, width: 4))))
    case 3: return Double(bitPattern: try unsigned(start + 1, width: 8))
    default: throw mistake(start, "a fraction of an unknown width")
    }
  }

  /// Kept in seconds since 2001.
  private func date(at start: Int) throws(PropertyListError) -> Double {
    let secondsTo2001 = 978_307_200.0
    guard bytes[start] == 0x33 else { throw mistake(start, "a date of an unknown width") }
    return Double(bitPattern: try unsigned(start + 1, width: 8)) + secondsTo2001
  }

  private mutating func ascii(at start: Int) throws(PropertyListError) -> [UInt8] {
    let text = try content(at: start, unitWidth: 1)
    guard text.allSatisfy({ $0 < 0x80 }) else { throw mistake(start, "a text that is not ASCII") }
    return text
  }

  private mutating func utf16(at start: Int) throws(PropertyListError) -> [UInt8] {
    let raw = try content(at: start, unitWidth: 2)
    guard let text = OpenStepText.utf16(raw[...], isBigEndian: true) else {
      throw mistake(start, "half of a character")
    }
    return text
  }

  private mutating func elements(
    at start: Int, depth: Int
  ) throws(PropertyListError) -> [PropertyList] {
    let (first, count) = try extent(at: start, unitWidth: referenceWidth)
    var values: [PropertyList] = []
    for position in 0..<count {
      values.append(try object(try reference(first, position), depth: depth + 1))
    }
    return values
  }

  private mutating func entries(
    at start: Int, depth: Int
  ) throws(PropertyListError) -> PropertyDictionary {
    let (first, count) = try extent(at: start, unitWidth: 2 * referenceWidth)
    var dictionary = PropertyDictionary()
    for position in 0..<count {
      let key = try object(try reference(first, position), depth: depth + 1)
      guard case .string(let key) = key else { throw mistake(start, "a key that is not a text") }
      let value = try object(try reference(first, count + position), depth: depth + 1)
      dictionary[key] = value
    }
    return dictionary
  }

  // MARK: Bytes

  private func reference(_ first: Int, _ position: Int) throws(PropertyListError) -> Int {
    let value = try unsigned(first + position * referenceWidth, width: referenceWidth)
    guard let reference = Int(exactly: value) else { throw mistake(first, "no such object") }
    return reference
  }

  private mutating func content(
    at start: Int, unitWidth: Int
  ) throws(PropertyListError) -> [UInt8] {
    let (first, count) = try extent(at: start, unitWidth: unitWidth)
    let length = count * unitWidth
    guard length <= bytesLeft else { throw mistake(start, "more bytes than anyone needs") }
    bytesLeft -= length
    return Array(bytes[first..<first + length])
  }

  /// Where the content of an object begins, and how many units it has, all of them there.
  private func extent(
    at start: Int, unitWidth: Int
  ) throws(PropertyListError) -> (first: Int, count: Int) {
    var first = start + 1
    var count = Int(bytes[start] & 0xf)
    if count == 0xf {
      guard first < offsetTable, bytes[first] >> 4 == 1,
        let long = Int(exactly: try integer(at: first))
      else { throw mistake(first, "expected a length") }
      first += 1 + 1 << Int(bytes[first] & 0xf)
      count = long
    }
    guard count >= 0, first <= offsetTable, count <= (offsetTable - first) / unitWidth else {
      throw mistake(start, "cut short")
    }
    return (first, count)
  }

  private func unsigned(_ start: Int, width: Int) throws(PropertyListError) -> UInt64 {
    try range(start, count: width).reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
  }

  private func range(_ start: Int, count: Int) throws(PropertyListError) -> Range<Int> {
    guard start + count <= bytes.count else { throw mistake(start, "cut short") }
    return start..<start + count
  }

  private func mistake(_ offset: Int, _ message: String) -> PropertyListError {
    PropertyListError(at: .byte(offset), message)
  }
}
