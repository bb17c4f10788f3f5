// The little of JSON that the control socket needs: one object of strings and plain words a line.

/// The members of a JSON object whose values are strings, numbers, true, false or null.
///
/// A string's value is its bytes, its escapes undone; another's are the bytes that stand there.
/// nil for anything else, nested values too.
public func flatObject(_ text: [UInt8]) -> [String: [UInt8]]? {
  var reader = FlatObjectReader(rest: text[...])
  return reader.object()
}

/// The bytes that `FlatObjectWriter` was given, from the string that a reader makes of them.
///
/// nil for a string that it can't have written.
public func writtenBytes(_ string: [UInt8]) -> [UInt8]? {
  guard let text = String(validating: string, as: UTF8.self) else { return nil }
  let bytes = text.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
  return bytes.count == text.unicodeScalars.count ? bytes : nil
}

/// A JSON object on one line, of strings and numbers, in the order given.
///
/// Bytes that are no text of ASCII's become the characters of the same number, as in Latin-1, so
/// that any byte of a path survives in valid JSON.
public struct FlatObjectWriter {
  private var text: [UInt8] = [UInt8(ascii: "{")]

  /// An object without members.
  public init() {}

  /// Adds a member whose value is a string.
  public mutating func add(_ name: StaticString, _ value: some Sequence<UInt8>) {
    addName(name)
    addString(value)
  }

  /// Adds a member whose value is a number.
  public mutating func add(_ name: StaticString, _ value: Int) {
    addName(name)
    text += Array(String(value).utf8)
  }

  /// The line, without its end.
  public var line: [UInt8] { text + [UInt8(ascii: "}")] }

  private mutating func addName(_ name: StaticString) {
    if text.count > 1 { text.append(UInt8(ascii: ",")) }
    addString(name.description.utf8)
    text.append(UInt8(ascii: ":"))
  }

  private mutating func addString(_ bytes: some Sequence<UInt8>) {
    text.append(UInt8(ascii: "\""))
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
      case 0x20..<0x7F: text.append(byte)
      default:
        let digits = String(byte, radix: 16)
        text += Array((digits.count == 1 ? "\\u000" : "\\u00").utf8) + Array(digits.utf8)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}

private struct FlatObjectReader {
  var rest: ArraySlice<UInt8>

  mutating func object() -> [String: [UInt8]]? {
    var members: [String: [UInt8]] = [:]
    guard take("{") else { return nil }
    if !take("}") {
      repeat {
        guard let name = string(), take(":"), let value = value() else { return nil }
        members[String(decoding: name, as: UTF8.self)] = value
      } while take(",")
      guard take("}") else { return nil }
    }
    skipBlanks()
    return rest.isEmpty ? members : nil
  }

  private mutating func value() -> [UInt8]? {
    skipBlanks()
    if rest.first == UInt8(ascii: "\"") { return string() }
    let word = rest.prefix { isWord($0) }
    rest = rest.dropFirst(word.count)
    return word.isEmpty ? nil : Array(word)
  }

  private mutating func string() -> [UInt8]? {
    guard take("\"") else { return nil }
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return bytes
      case UInt8(ascii: "\\"):
        guard let escaped = escape() else { return nil }
        bytes += escaped
      case 0..<0x20: return nil
      default: bytes.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> [UInt8]? {
    guard let letter = rest.popFirst() else { return nil }
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [letter]
    case UInt8(ascii: "b"): return [8]
    case UInt8(ascii: "f"): return [12]
    case UInt8(ascii: "n"): return [10]
    case UInt8(ascii: "r"): return [13]
    case UInt8(ascii: "t"): return [9]
    case UInt8(ascii: "u"): return character()
    default: return nil
    }
  }

  /// The UTF-8 of `\uXXXX`, or of a pair of them.
  private mutating func character() -> [UInt8]? {
    guard let first = unit() else { return nil }
    var units = [first]
    if UTF16.isLeadSurrogate(first) {
      guard rest.starts(with: #"\u"#.utf8) else { return nil }
      rest = rest.dropFirst(2)
      guard let second = unit() else { return nil }
      units.append(second)
    }
    guard let text = String(validating: units, as: UTF16.self) else { return nil }
    return Array(text.utf8)
  }

  private mutating func unit() -> UInt16? {
    let digits = rest.prefix(4)
    guard digits.count == 4, digits.allSatisfy({ isHexadecimal($0) }) else { return nil }
    rest = rest.dropFirst(4)
    return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skipBlanks() {
    rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
  }
}

private func isHexadecimal(_ byte: UInt8) -> Bool {
  Character(Unicode.Scalar(byte)).isHexDigit && byte < 0x80
}

/// A byte of a number, of true, false or null.
private func isWord(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
    true
  default: false
  }
}
