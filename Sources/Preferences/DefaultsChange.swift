// The words behind the key of `sandboxfs defaults write`, as those of macOS's `defaults`.
public import PropertyLists

/// Words that mean no value.
public struct DefaultsMistake: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong and what was expected, on one line.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// What a key gets.
public enum DefaultsChange: Equatable, Sendable {
  /// Another value.
  case set(PropertyList)
  /// More values behind those of its array.
  case append([PropertyList])
  /// More values by key in its dictionary.
  case merge(PropertyDictionary)

  /// Reads the words; they must be one value, or several behind a word for several.
  public init(words: [[UInt8]]) throws(DefaultsMistake) {
    var reader = WordReader(words: words[...])
    guard let first = reader.words.first else { throw DefaultsMistake("a value is missing") }
    switch String(decoding: first, as: UTF8.self) {
    case "-array": self = .set(.array(try reader.several()))
    case "-array-add": self = .append(try reader.several())
    case "-dict": self = .set(.dictionary(try reader.pairs()))
    case "-dict-add": self = .merge(try reader.pairs())
    default:
      self = .set(try reader.value())
      guard reader.words.isEmpty else {
        throw DefaultsMistake("expected one value; several stand behind -array or -dict")
      }
    }
  }

  /// The value that a key has then, which had `value`.
  ///
  /// Throws if it is not of the kind that more can be added to.
  public func applied(to value: PropertyList?) throws(DefaultsMistake) -> PropertyList {
    switch self {
    case .set(let new): return new
    case .append(let values):
      guard let old = value.map(\.array) ?? [] else {
        throw DefaultsMistake("its value is no array, so nothing can be added to it")
      }
      return .array(old + values)
    case .merge(let entries):
      guard var merged = value.map(\.dictionary) ?? PropertyDictionary() else {
        throw DefaultsMistake("its value is no dictionary, so nothing can be added to it")
      }
      for entry in entries.entries { merged[entry.key] = entry.value }
      return .dictionary(merged)
    }
  }
}

/// Takes values from the front of words.
private struct WordReader {
  private(set) var words: ArraySlice<[UInt8]>

  mutating func several() throws(DefaultsMistake) -> [PropertyList] {
    words.removeFirst()
    var values: [PropertyList] = []
    while !words.isEmpty { values.append(try value()) }
    return values
  }

  mutating func pairs() throws(DefaultsMistake) -> PropertyDictionary {
    words.removeFirst()
    var entries = PropertyDictionary()
    while !words.isEmpty {
      let key = try text("a key")
      guard !words.isEmpty else {
        throw DefaultsMistake("expected a value behind the key '\(shown(key))'")
      }
      entries[key] = try value()
    }
    return entries
  }

  /// One value: behind the word for its kind, or as a property list.
  mutating func value() throws(DefaultsMistake) -> PropertyList {
    let word = words.removeFirst()
    switch String(decoding: word, as: UTF8.self) {
    case "-string": return .string(try text("a text"))
    case "-data": return .data(try bytes())
    case "-int", "-integer":
      return try typed("a whole number of 64 bits") { PropertyList.integer($0) }
    case "-float", "-real":
      return try typed("a number") { Double($0).map(PropertyList.real) }
    case "-bool", "-boolean":
      return try typed("true, false, yes or no") { truth($0).map(PropertyList.boolean) }
    case "-date":
      return try typed("a date, such as 2003-11-30T12:00:00Z") { PropertyList.date($0) }
    case "-array", "-array-add", "-dict", "-dict-add":
      throw DefaultsMistake("'\(shown(word))' can stand only directly behind the key")
    case "-h", "--help", "-help":
      throw DefaultsMistake("'\(shown(word))' is no type: options stand before the key")
    case let text where isOption(text):
      throw DefaultsMistake(
        "'\(shown(word))' is no type; expected -string, -int, -float, -bool, -date, -data, -array, "
          + "-array-add, -dict or -dict-add, and a text that begins with '-' behind -string")
    default:
      return try list(word)
    }
  }

  private mutating func text(_ what: String) throws(DefaultsMistake) -> [UInt8] {
    guard let word = words.popFirst() else { throw DefaultsMistake("expected \(what)") }
    guard PropertyList.isWritable(word) else {
      throw DefaultsMistake("a property list holds UTF-8 without control characters only")
    }
    return word
  }

  private mutating func typed(
    _ what: String, _ read: (String) -> PropertyList?
  ) throws(DefaultsMistake) -> PropertyList {
    guard let word = words.popFirst() else { throw DefaultsMistake("expected \(what)") }
    guard let value = read(String(decoding: word, as: UTF8.self)) else {
      throw DefaultsMistake("'\(shown(word))': expected \(what)")
    }
    return value
  }

  private mutating func bytes() throws(DefaultsMistake) -> [UInt8] {
    let what = "bytes in hexadecimal, such as 0fbd77"
    guard let word = words.popFirst() else { throw DefaultsMistake("expected \(what)") }
    let digits = word.map { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 != nil }) else {
      throw DefaultsMistake("'\(shown(word))': expected \(what)")
    }
    return stride(from: 0, to: digits.count, by: 2).map { index in
      UInt8((digits[index] ?? 0) << 4 | (digits[index + 1] ?? 0))
    }
  }

  /// A word as it is, or what stands in braces, brackets or quotes, or is XML.
  private func list(_ word: [UInt8]) throws(DefaultsMistake) -> PropertyList {
    guard let first = word.first(where: { $0 > 32 }), "{(<\"".utf8.contains(first) else {
      guard PropertyList.isWritable(word) else {
        throw DefaultsMistake("a property list holds UTF-8 without control characters only")
      }
      return .string(word)
    }
    do throws(PropertyListError) {
      return try PropertyList.openStep(word)
    } catch {
      if let value = try? PropertyList.xml(word) { return value }
      throw DefaultsMistake("'\(shown(word))' is no property list: \(error)")
    }
  }

  /// `-x`, and neither `-5` nor `-`.
  private func isOption(_ text: String) -> Bool {
    guard text.hasPrefix("-"), let second = text.dropFirst().first else { return false }
    return second.isLetter || second == "-"
  }
}

/// What a word says of truth; nil if nothing.
func truth(_ text: String) -> Bool? {
  switch text.lowercased() {
  case "true", "yes", "1": true
  case "false", "no", "0": false
  default: nil
  }
}

/// A word in an error, without what would steer a terminal; of a long one the beginning.
public func shown(_ word: [UInt8]) -> String {
  let longest = 60
  let text = String(decoding: word.prefix(longest * 8), as: UTF8.self)
  let harmless = String(
    String.UnicodeScalarView(
      text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? "?" : $0 }))
  return harmless.count > longest ? harmless.prefix(longest) + "..." : harmless
}
