// The bytes of an old property list as UTF-8, whatever they were written in.

/// A text in UTF-8, made from the bytes of a file.
enum OpenStepText {
  /// Decodes what the byte order mark says; without one UTF-8 if it is that, else ISO 8859-1, in
  /// which every run of bytes is a text.
  ///
  /// Nil for UTF-16 that is cut short or has half of a surrogate pair.
  static func utf8(_ bytes: [UInt8]) -> [UInt8]? {
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) {
      let rest = Array(bytes.dropFirst(3))
      return isUTF8(rest) ? rest : nil
    }
    if bytes.starts(with: [0xff, 0xfe]) { return utf16(bytes.dropFirst(2), isBigEndian: false) }
    if bytes.starts(with: [0xfe, 0xff]) { return utf16(bytes.dropFirst(2), isBigEndian: true) }
    return isUTF8(bytes) ? bytes : latin1(bytes)
  }

  /// Appends one character.
  static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
  }

  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  private static func latin1(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 8)
    for byte in bytes { append(Unicode.Scalar(byte), to: &text) }
    return text
  }

  /// UTF-16 without a byte order mark; nil if it is cut short or has half of a pair.
  static func utf16(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> [UInt8]? {
    guard bytes.count.isMultiple(of: 2) else { return nil }
    let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { position in
      let (first, second) = (UInt16(bytes[position]), UInt16(bytes[position + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
  }
}
