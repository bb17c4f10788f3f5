// Property lists as files: which form one is in, and Foundation's part in reading and writing it.
internal import Foundation
internal import PropertyLists

/// Reads property lists in each of their forms, and writes XML.
enum PropertyListFile {
  /// The most bytes that are read as a property list.
  static let maximumByteCount = 4 << 20

  /// Why bytes are no property list, on one line.
  struct Malformed: Error {
    let reason: String
  }

  /// Reads the binary, the XML and the OpenStep form.
  static func read(_ bytes: [UInt8]) throws(Malformed) -> PropertyList {
    guard !bytes.isEmpty else { throw Malformed(reason: "it is empty") }
    do throws(PropertyListError) {
      if PropertyList.isBinary(bytes) { return try .binary(bytes) }
      if !isXML(bytes) { return try .openStep(bytes) }
    } catch {
      throw Malformed(reason: error.description)
    }
    return try readXML(bytes)
  }

  /// The XML form, keys in alphabetical order.
  static func xml(_ list: PropertyList) throws(Malformed) -> [UInt8] {
    do {
      return [UInt8](
        try PropertyListSerialization.data(
          fromPropertyList: object(of: list), format: .xml, options: 0))
    } catch {
      throw Malformed(reason: oneLine(error))
    }
  }

  /// Whether the first thing in it is a tag that no OpenStep list begins with.
  private static func isXML(_ bytes: [UInt8]) -> Bool {
    // UTF-16, or a byte order mark, or blanks before the tag.
    let start = bytes.prefix(64).filter { $0 > 32 && $0 < 0x7f }
    return ["<?xml", "<!DOC", "<plis"].contains { start.starts(with: $0.utf8) }
  }

  private static func readXML(_ bytes: [UInt8]) throws(Malformed) -> PropertyList {
    let found: Any
    do {
      found = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    } catch {
      throw Malformed(reason: oneLine(error))
    }
    guard let list = list(of: found, depth: 0) else {
      throw Malformed(reason: "it holds what has no place in a property list")
    }
    return list
  }

  private static func oneLine(_ error: any Error) -> String {
    let error = error as NSError
    let text = error.userInfo[NSDebugDescriptionErrorKey] as? String ?? error.localizedDescription
    return text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  private static func list(of object: Any, depth: Int) -> PropertyList? {
    guard depth <= PropertyList.maximumDepth else { return nil }
    switch object {
    case let text as String: return .string(text)
    case let bytes as Data: return .data([UInt8](bytes))
    case let date as Date: return .date(date.timeIntervalSince1970)
    case let values as [Any]:
      var all: [PropertyList] = []
      for value in values {
        guard let value = list(of: value, depth: depth + 1) else { return nil }
        all.append(value)
      }
      return .array(all)
    case let values as [String: Any]:
      var dictionary = PropertyDictionary()
      for (key, value) in values.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
      {
        guard let value = list(of: value, depth: depth + 1) else { return nil }
        dictionary[key] = value
      }
      return .dictionary(dictionary)
    case let truth as Bool where type(of: object) == Bool.self: return .boolean(truth)
    case let number as NSNumber: return self.number(number)
    default: return nil
    }
  }

  private static func number(_ number: NSNumber) -> PropertyList? {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
    default: Int128(number.stringValue).map(PropertyList.integer)
    }
  }

  private static func object(of list: PropertyList) -> Any {
    switch list {
    case .string(let bytes): return String(decoding: bytes, as: UTF8.self)
    case .data(let bytes): return Data(bytes)
    case .integer(let number):
      if let signed = Int64(exactly: number) { return NSNumber(value: signed) }
      return NSNumber(value: UInt64(clamping: number))
    case .real(let number): return NSNumber(value: number)
    case .boolean(let truth): return truth
    case .date(let seconds): return Date(timeIntervalSince1970: seconds)
    case .array(let values): return values.map(object)
    case .dictionary(let dictionary):
      var all: [String: Any] = [:]
      for entry in dictionary.entries {
        all[String(decoding: entry.key, as: UTF8.self)] = object(of: entry.value)
      }
      return all
    }
  }
}
