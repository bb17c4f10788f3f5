// JSON for programs that read what a subcommand prints. Written here, since Foundation would cost
// each start some milliseconds and the binary some megabytes.

/// A JSON value; an object keeps the order of its members.
enum JSON {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// A number as it is written.
  case number(String)
  case string(String)
  case array([JSON])
  case object([(name: String, value: JSON)])

  /// The text of an optional, or null.
  static func text(_ string: String?) -> JSON { string.map(JSON.string) ?? .null }

  /// The document, indented by two blanks, with a line feed at its end.
  var document: String { text(indent: "") + "\n" }

  private func text(indent: String) -> String {
    switch self {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .number(let text): text
    case .string(let value): Self.quoted(value)
    case .array(let values):
      Self.lines(values.map { $0.text(indent: indent + "  ") }, "[", "]", indent)
    case .object(let members):
      Self.lines(
        members.map { "\(Self.quoted($0.name)): \($0.value.text(indent: indent + "  "))" }, "{",
        "}", indent)
    }
  }

  private static func lines(
    _ items: [String], _ opening: String, _ closing: String, _ indent: String
  ) -> String {
    guard !items.isEmpty else { return opening + closing }
    let body = items.map { "\(indent)  \($0)" }.joined(separator: ",\n")
    return "\(opening)\n\(body)\n\(indent)\(closing)"
  }

  private static func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
