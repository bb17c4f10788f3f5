// Property lists as files, in whichever form one is.
internal import PropertyLists

/// Reads property lists in each of their forms, and writes XML.
enum PropertyListFile {
  /// The most bytes that are read as a property list, where nothing else is said.
  static let maximumByteCount = 4 << 20

  /// Why bytes are no property list, on one line.
  struct Malformed: Error {
    let reason: String
  }

  /// Reads the binary, the XML and the OpenStep form.
  static func read(_ bytes: [UInt8]) throws(Malformed) -> PropertyList {
    guard !bytes.isEmpty else { throw Malformed(reason: "it is empty") }
    do throws(PropertyListError) {
      return try PropertyList.read(bytes)
    } catch {
      throw Malformed(reason: error.description)
    }
  }

  /// The XML form, keys in the dictionary's order.
  static func xml(_ list: PropertyList) throws(Malformed) -> [UInt8] {
    guard let bytes = list.xml else {
      throw Malformed(reason: "a text in it is not UTF-8, or has control characters")
    }
    return bytes
  }
}
