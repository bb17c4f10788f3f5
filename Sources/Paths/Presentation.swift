// Names for people: bytes become text only here, and the text can be turned back into the bytes.

/// How a name of bytes is printed.
public enum Presentation {
  /// The name with what cannot be shown as `\ooo`.
  ///
  /// Text that is valid UTF-8 and visible stays; control characters, invisible formatting and
  /// broken UTF-8 cannot reach a terminal, and a backslash is doubled.
  public static func escaped(_ name: some Sequence<UInt8>) -> String {
    var text = ""
    append(Array(name), to: &text) { $0 == "\\" }
    return text
  }

  /// The name of which `escaped` made a text.
  public static func bytes(ofEscaped text: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = text.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "\\"), let next = rest.next() else {
        bytes.append(byte)
        continue
      }
      guard next != UInt8(ascii: "\\") else {
        bytes.append(next)
        continue
      }
      let digits = [next, rest.next() ?? 0, rest.next() ?? 0]
      bytes.append(digits.reduce(0) { $0 << 3 | ($1 & 7) })
    }
    return bytes
  }

  /// The name as one word: in double quotes if it has blanks, quotes or a `#`, or is empty.
  ///
  /// A profile reads it back as the same bytes, wildcards aside.
  public static func quoted(_ name: some Sequence<UInt8>) -> String {
    let name = Array(name)
    var text = ""
    append(name, to: &text) { $0 == "\\" || $0 == "\"" }
    let isPlain = !name.isEmpty && !text.contains { " \"#".contains($0) }
    return isPlain ? text : "\"\(text)\""
  }

  /// Components as an absolute path of a view, as one word.
  public static func path(_ components: some Sequence<[UInt8]>) -> String {
    let joined = components.reduce(into: [UInt8]()) { path, name in
      path.append(UInt8(ascii: "/"))
      path.append(contentsOf: name)
    }
    return quoted(joined.isEmpty ? [UInt8(ascii: "/")] : joined)
  }

  /// A path as the pattern that matches it and nothing beside it, as one word of a profile.
  public static func pattern(_ components: some Sequence<[UInt8]>) -> String {
    let text = components.map { "/" + patternText($0) }.joined()
    return quotedPattern(text.isEmpty ? "/" : text)
  }

  /// A pattern's text in double quotes if it has blanks or a `#`.
  public static func quotedPattern(_ text: String) -> String {
    text.contains { " #".contains($0) } ? "\"\(text)\"" : text
  }

  /// Bytes that mean themselves, as a pattern has them; quotes may have to stand around it.
  public static func patternText(_ bytes: [UInt8]) -> String {
    var text = ""
    append(bytes, to: &text) { "\\\"*?[,".unicodeScalars.contains($0) }
    return text
  }

  /// A byte between the brackets of a pattern, where it means itself.
  static func bracketByte(_ byte: UInt8) -> String {
    var text = ""
    append([byte], to: &text) { "\\\"[]-!^:,".unicodeScalars.contains($0) }
    return text
  }

  /// A line of a profile on one line of a terminal: blanks outside of quotes are made one, and what
  /// cannot be shown is `\ooo`.
  public static func line(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    var isQuoted = false
    var isEscaped = false
    for byte in bytes {
      let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
      if isBlank, !isQuoted, !isEscaped {
        if text.last != UInt8(ascii: " "), !text.isEmpty { text.append(UInt8(ascii: " ")) }
      } else {
        text.append(byte)
      }
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    while text.last == UInt8(ascii: " ") || text.last == UInt8(ascii: "\r") { text.removeLast() }
    var shown = ""
    append(text, to: &shown) { _ in false }
    return shown
  }

  private static func append(
    _ bytes: [UInt8], to text: inout String, escapingWith needsBackslash: (Unicode.Scalar) -> Bool
  ) {
    var index = 0
    while index < bytes.count {
      guard let (scalar, count) = scalar(in: bytes, at: index), isVisible(scalar) else {
        appendOctal(bytes[index], to: &text)
        index += 1
        continue
      }
      if needsBackslash(scalar) { text.unicodeScalars.append("\\") }
      text.unicodeScalars.append(scalar)
      index += count
    }
  }

  /// The character that begins at an index; nil where the bytes are not UTF-8.
  private static func scalar(in bytes: [UInt8], at index: Int) -> (Unicode.Scalar, Int)? {
    var decoder = UTF8()
    var iterator = bytes[index...].prefix(4).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
    return (scalar, UTF8.width(scalar))
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator:
      false
    case .spaceSeparator: scalar == " "
    default: true
    }
  }

  private static func appendOctal(_ byte: UInt8, to text: inout String) {
    text += "\\"
    for shift in [6, 3, 0] { text += String((byte >> UInt8(shift)) & 7) }
  }
}
