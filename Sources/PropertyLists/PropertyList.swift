// A property list as a value, the same for each of the formats that it may be written in.
//
// Keys and strings are UTF-8 as bytes, so that equal means equal byte for byte and never
// canonically equivalent; dictionaries keep their order.

/// A property list.
public indirect enum PropertyList: Equatable, Sendable {
  /// A text, as UTF-8.
  case string([UInt8])
  /// Bytes.
  case data([UInt8])
  /// A whole number; wide enough for what is unsigned.
  case integer(Int128)
  /// A number with a fraction.
  case real(Double)
  /// A truth value.
  case boolean(Bool)
  /// A point in time, in seconds since 1970.
  case date(Double)
  /// Values in order.
  case array([PropertyList])
  /// Values by key, in order.
  case dictionary(PropertyDictionary)
  /// A reference to an object of a keyed archive, which the binary form alone can say.
  case uid(UInt64)
}

extension PropertyList {
  /// A text.
  public static func string(_ text: some StringProtocol) -> PropertyList {
    .string(Array(text.utf8))
  }

  /// The bytes of a text; nil for everything else.
  public var bytesOfString: [UInt8]? {
    guard case .string(let bytes) = self else { return nil }
    return bytes
  }

  /// A text; nil for everything else, and for bytes that are not UTF-8.
  public var string: String? {
    bytesOfString.flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Bytes; nil for everything else.
  public var data: [UInt8]? {
    guard case .data(let bytes) = self else { return nil }
    return bytes
  }

  /// A whole number; nil for everything else.
  public var integer: Int128? {
    guard case .integer(let number) = self else { return nil }
    return number
  }

  /// A point in time; nil for everything else.
  public var date: Double? {
    guard case .date(let seconds) = self else { return nil }
    return seconds
  }

  /// A reference to an object of a keyed archive; nil for everything else.
  public var uid: UInt64? {
    guard case .uid(let number) = self else { return nil }
    return number
  }

  /// Values in order; nil for everything else.
  public var array: [PropertyList]? {
    guard case .array(let values) = self else { return nil }
    return values
  }

  /// Values by key; nil for everything else.
  public var dictionary: PropertyDictionary? {
    guard case .dictionary(let dictionary) = self else { return nil }
    return dictionary
  }

  /// What a dictionary has under a key; nil for everything else.
  public subscript(key: String) -> PropertyList? { dictionary?[Array(key.utf8)] }
}

extension PropertyList {
  /// Reads a property list in whichever form it is.
  ///
  /// Throws the first mistake; what is empty is one.
  public static func read(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyList {
    if isBinary(bytes) { return try binary(bytes) }
    return isXML(bytes) ? try xml(bytes) : try openStep(bytes)
  }
}

/// Values by key, in the order in which the keys came first.
public struct PropertyDictionary: Equatable, Sendable {
  /// One value with its key.
  public struct Entry: Equatable, Sendable {
    /// The key, as UTF-8.
    public let key: [UInt8]
    /// The value.
    public fileprivate(set) var value: PropertyList
  }

  /// The values with their keys, in order.
  public private(set) var entries: [Entry] = []
  private var positions: [[UInt8]: Int] = [:]

  /// An empty dictionary.
  public init() {}

  /// How many values there are.
  public var count: Int { entries.count }

  /// The value of a key.
  ///
  /// A new key goes to the end, and a known one keeps its place.
  public subscript(key: [UInt8]) -> PropertyList? {
    get { positions[key].map { entries[$0].value } }
    set {
      guard let newValue else { return remove(key) }
      if let position = positions[key] {
        entries[position].value = newValue
      } else {
        positions[key] = entries.count
        entries.append(Entry(key: key, value: newValue))
      }
    }
  }

  /// The value of a key that is given as a text.
  public subscript(key: String) -> PropertyList? {
    get { self[Array(key.utf8)] }
    set { self[Array(key.utf8)] = newValue }
  }

  private mutating func remove(_ key: [UInt8]) {
    guard let position = positions.removeValue(forKey: key) else { return }
    entries.remove(at: position)
    for later in position..<entries.count { positions[entries[later].key] = later }
  }

  /// In order, key by key.
  public static func == (left: Self, right: Self) -> Bool { left.entries == right.entries }
}
