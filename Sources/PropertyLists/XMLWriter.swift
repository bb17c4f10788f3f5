// Writes the XML form as Apple's tools do, byte for byte where they agree: tabs, data on lines of
// their own, keys in the dictionary's order.

extension PropertyList {
  /// The list as a file in the XML form.
  ///
  /// Nil if a text holds what XML cannot: bytes that are no UTF-8, or control characters.
  public var xml: [UInt8]? {
    var writer = XMLWriter()
    writer.line(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
      "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      """)
    guard writer.write(self, depth: 0) else { return nil }
    writer.line("</plist>")
    return writer.bytes
  }

  /// Whether XML can hold a text.
  public static func isWritable(_ text: [UInt8]) -> Bool {
    guard let string = String(validating: text, as: UTF8.self) else { return false }
    return string.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 9, 10, 13: true
      case 0..<0x20, 0xfffe, 0xffff: false
      default: true
      }
    }
  }
}

struct XMLWriter {
  private(set) var bytes: [UInt8] = []

  /// How many letters of data stand on a line.
  private static let dataWidth = 68

  mutating func line(_ text: some StringProtocol) { bytes += Array(text.utf8) + [10] }

  private mutating func indent(_ depth: Int) {
    bytes += [UInt8](repeating: 9, count: depth)
  }

  private mutating func element(_ name: String, _ content: some StringProtocol, depth: Int) {
    indent(depth)
    line("<\(name)>\(content)</\(name)>")
  }

  private mutating func text(_ name: String, _ text: [UInt8], depth: Int) -> Bool {
    guard PropertyList.isWritable(text) else { return false }
    indent(depth)
    bytes += Array("<\(name)>".utf8)
    for byte in text {
      switch byte {
      case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
      case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
      case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
      case 13: bytes += Array("&#13;".utf8)
      default: bytes.append(byte)
      }
    }
    line("</\(name)>")
    return true
  }

  /// False if it can't be written.
  mutating func write(_ list: PropertyList, depth: Int) -> Bool {
    switch list {
    case .string(let text): return self.text("string", text, depth: depth)
    case .integer(let number): element("integer", String(number), depth: depth)
    case .real(let number): element("real", Self.text(of: number), depth: depth)
    case .date(let seconds): element("date", TypedValue.isoText(seconds), depth: depth)
    case .boolean(let truth):
      indent(depth)
      line(truth ? "<true/>" : "<false/>")
    case .data(let data): write(data, depth: depth)
    case .array(let values):
      indent(depth)
      if values.isEmpty {
        line("<array/>")
        return true
      }
      line("<array>")
      for value in values {
        guard write(value, depth: depth + 1) else { return false }
      }
      indent(depth)
      line("</array>")
    case .dictionary(let dictionary): return write(dictionary, depth: depth)
    case .uid(let number):
      // As Apple's tools write it where there is no form for it.
      var reference = PropertyDictionary()
      reference["CF$UID"] = .integer(Int128(number))
      return write(reference, depth: depth)
    }
    return true
  }

  private mutating func write(_ dictionary: PropertyDictionary, depth: Int) -> Bool {
    indent(depth)
    if dictionary.count == 0 {
      line("<dict/>")
      return true
    }
    line("<dict>")
    for entry in dictionary.entries {
      guard text("key", entry.key, depth: depth + 1), write(entry.value, depth: depth + 1) else {
        return false
      }
    }
    indent(depth)
    line("</dict>")
    return true
  }

  private mutating func write(_ data: [UInt8], depth: Int) {
    indent(depth)
    line("<data>")
    let letters = Base64.encoded(data)
    for start in stride(from: 0, to: letters.count, by: Self.dataWidth) {
      indent(depth)
      bytes += letters[start..<min(start + Self.dataWidth, letters.count)] + [10]
    }
    indent(depth)
    line("</data>")
  }

  /// A whole number without the point that it does not need.
  static func text(of number: Double) -> String {
    if let whole = Int64(exactly: number), whole.magnitude < 1 << 53 { return String(whole) }
    if number.isInfinite { return number < 0 ? "-infinity" : "infinity" }
    return String(number)
  }
}
