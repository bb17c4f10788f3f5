// A line of a profile as words: blanks part them, quotes hold them together, a backslash makes a
// byte mean itself.

import Paths

/// One word of a line.
struct Word {
  /// Its bytes without quotes and escapes.
  var bytes: [PatternByte] = []
  /// Where each byte stands in the line, from 1; one more for the end.
  var columns: [Int] = []
  /// The word as it was written.
  var text: [UInt8] = []
  /// Where it begins, from 1.
  var column: Int

  /// The bytes without what is known of them.
  var plain: [UInt8] { bytes.map(\.value) }

  /// A part of it, as a word of its own.
  func part(_ range: Range<Int>) -> Word {
    var part = Word(column: columns[range.lowerBound])
    part.bytes = Array(bytes[range])
    part.columns = Array(columns[range.lowerBound...range.upperBound])
    let start = part.column - column
    part.text = Array(text[start..<(columns[range.upperBound] - column)])
    return part
  }

  /// The parts between unescaped separators; one, perhaps empty, if there is none.
  func split(separator: Unicode.Scalar) -> [Word] {
    var parts: [Word] = []
    var start = 0
    for index in bytes.indices where bytes[index].isSpecial(separator) {
      parts.append(part(start..<index))
      start = index + 1
    }
    parts.append(part(start..<bytes.count))
    return parts
  }
}

/// A mistake in one line.
struct LineError: Error {
  var column: Int
  var text: [UInt8]
  var expected: String

  init(_ word: Word, expected: String) {
    column = word.column
    text = word.text
    self.expected = expected
  }

  init(column: Int, text: [UInt8], expected: String) {
    self.column = column
    self.text = text
    self.expected = expected
  }
}

/// Takes a line apart.
struct Lexer {
  private let line: ArraySlice<UInt8>
  private var index: Int

  init(_ line: ArraySlice<UInt8>) {
    let carriageReturn = UInt8(ascii: "\r")
    self.line = line.last == carriageReturn ? line.dropLast() : line
    index = line.startIndex
  }

  private var next: UInt8? { index < line.endIndex ? line[index] : nil }
  private var column: Int { index - line.startIndex + 1 }

  /// The words of the line, without its comment.
  static func words(of line: ArraySlice<UInt8>) throws(LineError) -> [Word] {
    var lexer = Lexer(line)
    var words: [Word] = []
    while let word = try lexer.word() { words.append(word) }
    return words
  }

  private mutating func word() throws(LineError) -> Word? {
    while let byte = next, Self.isBlank(byte) { index += 1 }
    guard let first = next, first != UInt8(ascii: "#") else { return nil }
    var word = Word(column: column)
    let start = index
    var quoteColumn: Int?
    while let byte = next, quoteColumn != nil || !Self.isBlank(byte) {
      if byte == UInt8(ascii: "\"") {
        quoteColumn = quoteColumn == nil ? column : nil
        index += 1
        continue
      }
      word.columns.append(column)
      word.bytes.append(try patternByte(byte))
    }
    word.columns.append(column)
    word.text = Array(line[start..<index])
    if let quoteColumn {
      let rest = Array(line[(line.startIndex + quoteColumn - 1)...])
      throw LineError(column: quoteColumn, text: rest, expected: "a \" that closes this one")
    }
    return word
  }

  private mutating func patternByte(_ byte: UInt8) throws(LineError) -> PatternByte {
    guard byte != 0 else {
      throw LineError(column: column, text: [0], expected: "text without zero bytes")
    }
    index += 1
    guard byte == UInt8(ascii: "\\") else { return PatternByte(byte, isEscaped: false) }
    return try escaped()
  }

  /// What stands behind a backslash: three octal digits, or a byte that is no letter and no digit.
  private mutating func escaped() throws(LineError) -> PatternByte {
    let backslash = index - 1
    let digits = line[index...].prefix(3).prefix { (0x30...0x37).contains($0) }
    if digits.count == 3 {
      let value = digits.reduce(0) { $0 * 8 + Int($1 - 0x30) }
      if (1...255).contains(value) {
        index += 3
        return PatternByte(UInt8(value), isEscaped: true)
      }
    } else if let byte = next, digits.isEmpty, Self.isPunctuation(byte) {
      index += 1
      return PatternByte(byte, isEscaped: true)
    }
    throw LineError(
      column: backslash - line.startIndex + 1,
      text: Array(line[backslash...].prefix(max(2, digits.count + 1))),
      expected: #"\", \\, another mark behind the backslash, or a byte as \ooo"#)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func isPunctuation(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }
}
