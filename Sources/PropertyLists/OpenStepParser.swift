// The property lists of NeXTSTEP and OpenStep, with what GNUstep added: `{ key = value; }`,
// `( value, value )`, `<0fbd77>`, texts with or without quotes, and the typed values `<*I5>`,
// `<*R1.5>`, `<*BY>`, `<*BN>`, `<*D2003-11-30 12:00:00 +0000>` and `<[base64]>`.
//
// Taken beside these: comments, a comma or no semicolon before the end of a list, `key;` for
// `key = key;`, and the `.strings` form, which is a dictionary without its braces.

extension PropertyList {
  /// How deep lists may lie in each other.
  public static let maximumDepth = 128

  /// Reads a property list in the OpenStep form.
  ///
  /// Throws the first mistake. What is empty but for blanks and comments is one.
  public static func openStep(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList {
    guard let text = OpenStepText.utf8(bytes) else {
      throw PropertyListError(
        at: .text(line: 1, column: 1), "not a text in the encoding it names")
    }
    var parser = OpenStepParser(text: text)
    return try parser.wholeText()
  }
}

/// Reads one text from its start to its end.
struct OpenStepParser {
  private let text: [UInt8]
  private var position = 0

  init(text: [UInt8]) { self.text = text }

  // MARK: Lists

  mutating func wholeText() throws(PropertyListError) -> PropertyList {
    try skipBlanks()
    guard let first = here else { throw mistake("nothing but blanks") }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "(") || first == UInt8(ascii: "<") {
      return try valueAlone()
    }
    let start = position
    let word = try string()
    try skipBlanks()
    guard here != nil else { return .string(word) }
    position = start
    return .dictionary(try entries(until: nil, depth: 0))
  }

  private mutating func valueAlone() throws(PropertyListError) -> PropertyList {
    let value = try value(depth: 0)
    try skipBlanks()
    guard here == nil else { throw mistake("expected nothing after the end of the list") }
    return value
  }

  private mutating func value(depth: Int) throws(PropertyListError) -> PropertyList {
    try skipBlanks()
    guard let first = here else { throw mistake("expected a value, not the end") }
    guard depth < PropertyList.maximumDepth else {
      throw mistake("lists lie more than \(PropertyList.maximumDepth) deep in each other")
    }
    switch first {
    case UInt8(ascii: "{"):
      position += 1
      return .dictionary(try entries(until: UInt8(ascii: "}"), depth: depth + 1))
    case UInt8(ascii: "("):
      position += 1
      return .array(try elements(depth: depth + 1))
    case UInt8(ascii: "<"):
      position += 1
      return try angled()
    default:
      return .string(try string())
    }
  }

  private mutating func elements(depth: Int) throws(PropertyListError) -> [PropertyList] {
    var values: [PropertyList] = []
    while true {
      try skipBlanks()
      if take(")") { return values }
      values.append(try value(depth: depth))
      try skipBlanks()
      if take(",") { continue }
      guard here == UInt8(ascii: ")") else { throw mistake("expected ',' or ')'") }
    }
  }

  private mutating func entries(
    until end: UInt8?, depth: Int
  ) throws(PropertyListError) -> PropertyDictionary {
    var dictionary = PropertyDictionary()
    while true {
      try skipBlanks()
      if here == end {
        if end != nil { position += 1 }
        return dictionary
      }
      if here == nil { throw mistake("expected a key or '}', not the end") }
      let key = try string()
      try skipBlanks()
      dictionary[key] = take("=") ? try value(depth: depth) : .string(key)
      try skipBlanks()
      guard take(";") || here == end else { throw mistake("expected ';'") }
    }
  }

  // MARK: Words

  private mutating func string() throws(PropertyListError) -> [UInt8] {
    if let quote = here, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      return try quoted(by: quote)
    }
    let start = position
    while let byte = here, Self.isBare(byte) { position += 1 }
    guard position > start else { throw mistake("expected a text") }
    return Array(text[start..<position])
  }

  private mutating func quoted(by quote: UInt8) throws(PropertyListError) -> [UInt8] {
    let start = position
    position += 1
    var bytes: [UInt8] = []
    while let byte = here {
      position += 1
      if byte == quote { return bytes }
      if byte == UInt8(ascii: "\\") {
        try escape(into: &bytes)
      } else {
        bytes.append(byte)
      }
    }
    throw mistake("the text that begins here has no end", at: start)
  }

  private mutating func escape(into bytes: inout [UInt8]) throws(PropertyListError) {
    guard let byte = here else { throw mistake("expected a character after '\\'") }
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "7"):
      let code = number(radix: 8, atMost: 3)
      OpenStepText.append(Unicode.Scalar(UInt8(truncatingIfNeeded: code)), to: &bytes)
      return
    case UInt8(ascii: "U"), UInt8(ascii: "u"):
      return OpenStepText.append(try unicodeEscape(), to: &bytes)
    case UInt8(ascii: "a"): bytes.append(7)
    case UInt8(ascii: "b"): bytes.append(8)
    case UInt8(ascii: "f"): bytes.append(12)
    case UInt8(ascii: "n"): bytes.append(10)
    case UInt8(ascii: "r"): bytes.append(13)
    case UInt8(ascii: "t"): bytes.append(9)
    case UInt8(ascii: "v"): bytes.append(11)
    default: bytes.append(byte)
    }
    position += 1
  }

  /// `\Uxxxx`, or two of them where the first is half of a pair.
  private mutating func unicodeEscape() throws(PropertyListError) -> Unicode.Scalar {
    let start = position - 1
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xdc00, take("\\"), here == UInt8(ascii: "U") || here == UInt8(ascii: "u") else {
      throw mistake("half of a character", at: start)
    }
    let second = try codeUnit()
    guard (0xdc00...0xdfff).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    else { throw mistake("half of a character", at: start) }
    return scalar
  }

  private mutating func codeUnit() throws(PropertyListError) -> UInt32 {
    position += 1
    let start = position
    let unit = number(radix: 16, atMost: 4)
    guard position > start else { throw mistake("expected hexadecimal digits") }
    return unit
  }

  private mutating func number(radix: UInt32, atMost count: Int) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let digit = here.flatMap(Self.hexadecimal), digit < radix else { break }
      value = value * radix + UInt32(digit)
      position += 1
    }
    return value
  }

  // MARK: Between < and >

  private mutating func angled() throws(PropertyListError) -> PropertyList {
    if take("*") { return try typed() }
    if take("[") { return .data(try base64()) }
    return .data(try hexadecimalData())
  }

  private mutating func hexadecimalData() throws(PropertyListError) -> [UInt8] {
    var bytes: [UInt8] = []
    var half: UInt8?
    while true {
      try skipBlanks()
      if take(">") { break }
      guard let digit = here.flatMap(Self.hexadecimal) else {
        throw mistake("expected a hexadecimal digit or '>'")
      }
      position += 1
      if let upper = half {
        bytes.append(upper << 4 | digit)
        half = nil
      } else {
        half = digit
      }
    }
    guard half == nil else { throw mistake("half of a byte", at: position - 1) }
    return bytes
  }

  private mutating func base64() throws(PropertyListError) -> [UInt8] {
    let start = position
    var decoder = Base64Decoder()
    while true {
      try skipBlanks()
      if take("]") { break }
      guard let byte = here, decoder.take(byte) else {
        throw mistake("expected a base64 digit or ']'")
      }
      position += 1
    }
    guard let bytes = decoder.bytes else { throw mistake("cut short", at: start) }
    guard take(">") else { throw mistake("expected '>'") }
    return bytes
  }

  private mutating func typed() throws(PropertyListError) -> PropertyList {
    guard let kind = here else { throw mistake("expected a type after '<*'") }
    position += 1
    let start = position
    let content: [UInt8]
    if here == UInt8(ascii: "\"") {
      content = try quoted(by: UInt8(ascii: "\""))
    } else {
      while let byte = here, byte != UInt8(ascii: ">") { position += 1 }
      content = Array(text[start..<position])
    }
    guard take(">") else { throw mistake("expected '>'") }
    guard let value = TypedValue.value(of: kind, content) else {
      throw mistake(
        "expected <*I5>, <*R1.5>, <*BY>, <*BN> or <*D2003-11-30 12:00:00 +0000>", at: start)
    }
    return value
  }

  // MARK: The text

  private var here: UInt8? { position < text.count ? text[position] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard here == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// Skips blanks and comments.
  private mutating func skipBlanks() throws(PropertyListError) {
    while let byte = here {
      if byte == UInt8(ascii: " ") || (9...13).contains(byte) {
        position += 1
      } else if text[position...].starts(with: "//".utf8) {
        while let byte = here, byte != 10, byte != 13 { position += 1 }
      } else if text[position...].starts(with: "/*".utf8) {
        try skipComment()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(PropertyListError) {
    let start = position
    position += 2
    while position + 1 < text.count {
      if text[position] == UInt8(ascii: "*"), text[position + 1] == UInt8(ascii: "/") {
        position += 2
        return
      }
      position += 1
    }
    throw mistake("the comment that begins here has no end", at: start)
  }

  private func mistake(_ message: String) -> PropertyListError { mistake(message, at: position) }

  private func mistake(_ message: String, at place: Int) -> PropertyListError {
    let before = text.prefix(place)
    let line = before.reduce(1) { $1 == 10 ? $0 + 1 : $0 }
    let column = place - (before.lastIndex(of: 10).map { $0 + 1 } ?? 0) + 1
    return PropertyListError(at: .text(line: line, column: column), message)
  }

  // MARK: Characters

  /// What a text without quotes may be made of: what is neither blank nor part of the grammar.
  private static func isBare(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...32, 127: false
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "("), UInt8(ascii: ")"),
      UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "="), UInt8(ascii: ";"),
      UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"):
      false
    default: true
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
