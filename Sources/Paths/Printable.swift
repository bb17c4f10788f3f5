// A name as people may read it: names are bytes, and escaped only here, only to be printed.

extension Sequence<UInt8> {
  /// The bytes as text for a terminal, a log or an error line.
  ///
  /// What is UTF-8 stays as it is. A backslash becomes `\\`; bytes that are not UTF-8 and
  /// characters that would steer a terminal or hide (controls, direction marks, line separators)
  /// become `\ooo`, as in a profile. So two different names never print alike.
  public var printable: String {
    let bytes = Array(self)
    var text = ""
    var position = 0
    while position < bytes.count {
      var parser = Unicode.UTF8.ForwardParser()
      var rest = bytes[position...].makeIterator()
      guard case .valid(let encoded) = parser.parseScalar(from: &rest) else {
        text += octal(bytes[position])
        position += 1
        continue
      }
      let scalar = Unicode.UTF8.decode(encoded)
      let length = encoded.count
      if scalar == "\\" {
        text += "\\\\"
      } else if isTreacherous(scalar) {
        for byte in bytes[position..<position + length] { text += octal(byte) }
      } else {
        text.unicodeScalars.append(scalar)
      }
      position += length
    }
    return text
  }
}

private func isTreacherous(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator: true
  default: false
  }
}

private func octal(_ byte: UInt8) -> String {
  let digits = String(byte, radix: 8)
  return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
}
