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
