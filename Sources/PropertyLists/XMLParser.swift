// The XML form, as Apple's and GNUstep's tools write it.
//
// Keys stay bytes: two that are canonically equal are two. Nothing outside of the text is read, no
// entity can be declared, and what the form does not have is a mistake with its place.

extension PropertyList {
  /// Whether bytes begin as the XML form does, which no OpenStep list does.
  public static func isXML(_ bytes: [UInt8]) -> Bool {
    // UTF-16, or a byte order mark, or blanks before the tag.
    let start = bytes.prefix(64).filter { $0 > 32 && $0 < 0x7f }
    return ["<?xml", "<!DOC", "<!--", "<plis"].contains { start.starts(with: $0.utf8) }
  }

  /// Reads a property list in the XML form, in UTF-8 or with a byte order mark in UTF-16.
  ///
  /// Throws the first mistake. Of a key that comes twice the last value holds.
  public static func xml(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList {
    var text: [UInt8]? = bytes
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { text = Array(bytes.dropFirst(3)) }
    if bytes.starts(with: [0xff, 0xfe]) {
      text = OpenStepText.utf16(bytes.dropFirst(2), isBigEndian: false)
    }
    if bytes.starts(with: [0xfe, 0xff]) {
      text = OpenStepText.utf16(bytes.dropFirst(2), isBigEndian: true)
    }
    guard let text, String(validating: text, as: UTF8.self) != nil else {
      throw PropertyListError(at: .text(line: 1, column: 1), "expected UTF-8")
    }
    var parser = XMLParser(text: text)
    return try parser.wholeText()
  }
}

/// A tag of the form.
private struct Tag {
  let name: [UInt8]
  let isEnd: Bool
  /// `<name/>`, which begins and ends.
  let isEmpty: Bool
  let start: Int

  func named(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { name.elementsEqual($0) }
  }
}

/// Reads one text from its start to its end.
private struct XMLParser {
  private let text: [UInt8]
  private var position = 0

  init(text: [UInt8]) { self.text = text }

  mutating func wholeText() throws(PropertyListError) -> PropertyList {
    var tag = try nextTag()
    let hasFrame = tag.named("plist") && !tag.isEnd && !tag.isEmpty
    if hasFrame { tag = try nextTag() }
    let list = try value(in: tag, depth: 0)
    if hasFrame { try expectEnd("plist") }
    try skipBetween()
    guard position == text.count else { throw mistake("expected nothing after the list") }
    return list
  }

  // MARK: Values

  private mutating func value(in tag: Tag, depth: Int) throws(PropertyListError) -> PropertyList {
    guard depth < PropertyList.maximumDepth else {
      throw mistake("lists lie more than \(PropertyList.maximumDepth) deep in each other")
    }
    guard !tag.isEnd else { throw mistake("expected a value", at: tag.start) }
    if tag.named("dict") { return .dictionary(try entries(of: tag, depth: depth)) }
    if tag.named("array") { return .array(try elements(of: tag, depth: depth)) }
    if tag.named("string") { return .string(try content(of: tag)) }
    if tag.named("true") || tag.named("false") {
      let isTrue = tag.named("true")
      let isBlank = try content(of: tag).allSatisfy(Self.isBlank)
      guard isBlank else { throw mistake("expected nothing in a truth value", at: tag.start) }
      return .boolean(isTrue)
    }
    let bytes = try content(of: tag)
    guard let value = scalar(of: tag, bytes) else {
      throw mistake(
        "expected <dict>, <array>, <string>, <integer>, <real>, <date>, <data>, <true/> or "
          + "<false/> with a fitting content", at: tag.start)
    }
    return value
  }

  private func scalar(of tag: Tag, _ content: [UInt8]) -> PropertyList? {
    if tag.named("data") { return Base64.decoded(content).map(PropertyList.data) }
    guard let text = String(validating: Self.trimmed(content), as: UTF8.self) else { return nil }
    if tag.named("integer") { return TypedValue.integer(text).map(PropertyList.integer) }
    if tag.named("real") { return Double(text).map(PropertyList.real) }
    if tag.named("date") { return TypedValue.isoDate(text).map(PropertyList.date) }
    return nil
  }

  private mutating func entries(
    of tag: Tag, depth: Int
  ) throws(PropertyListError) -> PropertyDictionary {
    var entries = PropertyDictionary()
    if tag.isEmpty { return entries }
    while true {
      let next = try nextTag()
      if next.isEnd, next.named("dict") { return entries }
      guard next.named("key"), !next.isEnd else {
        throw mistake("expected <key> or </dict>", at: next.start)
      }
      let key = try content(of: next)
      let start = try nextTag()
      entries[key] = try value(in: start, depth: depth + 1)
    }
  }

  private mutating func elements(
    of tag: Tag, depth: Int
  ) throws(PropertyListError) -> [PropertyList] {
    var elements: [PropertyList] = []
    if tag.isEmpty { return elements }
    while true {
      let next = try nextTag()
      if next.isEnd, next.named("array") { return elements }
      elements.append(try value(in: next, depth: depth + 1))
    }
  }

  // MARK: Text

  /// The text up to the tag's end, with what stands for other characters replaced.
  private mutating func content(of tag: Tag) throws(PropertyListError) -> [UInt8] {
    if tag.isEmpty { return [] }
    var content: [UInt8] = []
    while let byte = here {
      if byte == UInt8(ascii: "<") {
        if try takeMarkedText(into: &content) { continue }
        let end = try tagHere()
        guard end.isEnd, end.name == tag.name else {
          throw mistake("expected </\(String(decoding: tag.name, as: UTF8.self))>", at: end.start)
        }
        return content
      }
      if byte == UInt8(ascii: "&") {
        content += try reference()
      } else if byte == 13 {
        // XML makes every line end a line feed.
        position += 1
        if here != 10 { content.append(10) }
      } else {
        content.append(byte)
        position += 1
      }
    }
    throw mistake(
      "this <\(String(decoding: tag.name, as: UTF8.self))> has no end", at: tag.start)
  }

  /// Takes a comment, or text between `<![CDATA[` and `]]>`; false if there is neither.
  private mutating func takeMarkedText(into content: inout [UInt8]) throws(PropertyListError)
    -> Bool
  {
    if try takeBlock("<!--", "-->") != nil { return true }
    guard let marked = try takeBlock("<![CDATA[", "]]>") else { return false }
    content += marked
    return true
  }

  private static let namedReferences: [String: UInt8] = [
    "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"), "amp": UInt8(ascii: "&"),
    "quot": UInt8(ascii: "\""), "apos": UInt8(ascii: "'"),
  ]

  /// What `&name;`, `&#10;` or `&#xa;` stands for.
  private mutating func reference() throws(PropertyListError) -> [UInt8] {
    let start = position
    let longest = 12
    let end = text[start...].prefix(longest).firstIndex(of: UInt8(ascii: ";"))
    guard let end else { throw mistake("expected &lt;, &#10; or the like", at: start) }
    position = end + 1
    let name = String(decoding: text[(start + 1)..<end], as: UTF8.self)
    if let byte = Self.namedReferences[name] { return [byte] }
    let number =
      if name.hasPrefix("#x") {
        Self.number(name.utf8.dropFirst(2), radix: 16)
      } else if name.hasPrefix("#") {
        Self.number(name.utf8.dropFirst(), radix: 10)
      } else {
        UInt32?.none
      }
    guard let scalar = number.flatMap(Unicode.Scalar.init), scalar.value != 0 else {
      throw mistake("expected &lt;, &#10; or the like", at: start)
    }
    var bytes: [UInt8] = []
    OpenStepText.append(scalar, to: &bytes)
    return bytes
  }

  /// Digits alone: a sign is no part of a reference.
  private static func number(_ digits: some Collection<UInt8>, radix: Int) -> UInt32? {
    let isSigned = digits.first == UInt8(ascii: "+") || digits.first == UInt8(ascii: "-")
    return isSigned ? nil : UInt32(String(decoding: digits, as: UTF8.self), radix: radix)
  }

  // MARK: Tags

  private var here: UInt8? { position < text.count ? text[position] : nil }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

  private static func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
    return bytes[start..<end]
  }

  private mutating func nextTag() throws(PropertyListError) -> Tag {
    try skipBetween()
    guard here == UInt8(ascii: "<") else {
      throw mistake(here == nil ? "expected a tag, not the end" : "expected a tag")
    }
    return try tagHere()
  }

  private mutating func expectEnd(_ name: StaticString) throws(PropertyListError) {
    let tag = try nextTag()
    guard tag.isEnd, tag.named(name) else { throw mistake("expected </\(name)>", at: tag.start) }
  }

  /// The tag that begins here; what stands behind its name says nothing.
  private mutating func tagHere() throws(PropertyListError) -> Tag {
    let start = position
    position += 1
    let isEnd = here == UInt8(ascii: "/")
    if isEnd { position += 1 }
    let nameStart = position
    while let byte = here, Self.isNameByte(byte) { position += 1 }
    let name = Array(text[nameStart..<position])
    guard !name.isEmpty else { throw mistake("expected the name of a tag", at: start) }
    while let byte = here, byte != UInt8(ascii: ">"), byte != UInt8(ascii: "<") {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        let closing = text[(position + 1)...].firstIndex(of: byte)
        position = closing ?? text.count
      }
      position += 1
    }
    guard position < text.count, text[position] == UInt8(ascii: ">") else {
      throw mistake("this tag has no end", at: start)
    }
    position += 1
    let isEmpty = !isEnd && text[position - 2] == UInt8(ascii: "/")
    return Tag(name: name, isEnd: isEnd, isEmpty: isEmpty, start: start)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  /// Skips blanks, comments, `<?...?>` and a document type without declarations of its own.
  private mutating func skipBetween() throws(PropertyListError) {
    while let byte = here {
      if Self.isBlank(byte) {
        position += 1
        continue
      }
      if try takeBlock("<!--", "-->") != nil { continue }
      if try takeBlock("<?", "?>") != nil { continue }
      let start = position
      guard let type = try takeBlock("<!DOCTYPE", ">") else { return }
      guard !type.contains(UInt8(ascii: "[")) else {
        throw mistake("a property list declares no entities", at: start)
      }
    }
  }

  /// Takes what stands between two marks, if the first is here.
  private mutating func takeBlock(
    _ opening: StaticString, _ closing: StaticString
  ) throws(PropertyListError) -> ArraySlice<UInt8>? {
    guard begins(with: opening, at: position) else { return nil }
    let start = position + opening.utf8CodeUnitCount
    var end = start
    while end < text.count, !begins(with: closing, at: end) { end += 1 }
    guard end < text.count else { throw mistake("what begins here has no end") }
    position = end + closing.utf8CodeUnitCount
    return text[start..<end]
  }

  private func begins(with mark: StaticString, at place: Int) -> Bool {
    mark.withUTF8Buffer { text[place...].starts(with: $0) }
  }

  private func mistake(_ message: String) -> PropertyListError { mistake(message, at: position) }

  private func mistake(_ message: String, at place: Int) -> PropertyListError {
    let before = text.prefix(place)
    let line = before.reduce(1) { $1 == 10 ? $0 + 1 : $0 }
    let column = place - (before.lastIndex(of: 10).map { $0 + 1 } ?? 0) + 1
    return PropertyListError(at: .text(line: line, column: column), message)
  }
}
