// Writes the OpenStep form as `defaults read` shows it on macOS: four blanks a level, keys sorted.
//
// What it writes can be read again, and then numbers, truth values and dates are texts: the form
// has no others.

extension PropertyList {
  /// The list in the OpenStep form, without a line feed at its end.
  public var openStepText: String {
    var text = ""
    OpenStepWriter.write(self, depth: 0, to: &text)
    return text
  }

  /// What a value is called where it stands alone: lists and data in the OpenStep form, everything
  /// else without quotes.
  public var plainText: String {
    switch self {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .integer, .real, .boolean, .date, .uid: OpenStepWriter.word(self)
    case .data, .array, .dictionary: openStepText
    }
  }
}

private enum OpenStepWriter {
  static func write(_ list: PropertyList, depth: Int, to text: inout String) {
    let margin = String(repeating: "    ", count: depth)
    switch list {
    case .dictionary(let dictionary):
      text += margin + "{\n"
      let entries = dictionary.entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
      for entry in entries {
        text += margin + "    " + quoted(String(decoding: entry.key, as: UTF8.self)) + " = "
        write(entry.value, depth: depth + 1, to: &text)
        text += ";\n"
      }
      text += margin + "}"
    case .array(let values):
      text += margin + "(\n"
      for (index, value) in values.enumerated() {
        text += margin + "    "
        write(value, depth: depth + 1, to: &text)
        text += index + 1 < values.count ? ",\n" : "\n"
      }
      text += margin + ")"
    case .data(let bytes): text += hexadecimal(bytes)
    default: text += quoted(word(list))
    }
  }

  /// A value that has no lists in it, without quotes.
  static func word(_ list: PropertyList) -> String {
    switch list {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .integer(let number): String(number)
    case .real(let number): XMLWriter.text(of: number)
    case .boolean(let truth): truth ? "1" : "0"
    case .date(let seconds): TypedValue.dateText(seconds)
    case .uid(let number): String(number)
    case .data, .array, .dictionary: ""
    }
  }

  /// `<0fbd7701 1c>`, in groups of four bytes.
  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    var text = "<"
    for (index, byte) in bytes.enumerated() {
      if index > 0, index.isMultiple(of: 4) { text += " " }
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text + ">"
  }

  /// A text as it is if it is one word of ASCII letters, digits and `_`, else in quotes.
  private static func quoted(_ text: String) -> String {
    let isWord = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    if isWord, !text.isEmpty { return text }
    return "\"" + text.unicodeScalars.map(escaped).joined() + "\""
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\"": "\\\""
    case "\\": "\\\\"
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    case " "..."~": String(scalar)
    default:
      String(scalar).utf16.map { unit in
        let digits = String(unit, radix: 16)
        return "\\U" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      }.joined()
    }
  }
}
