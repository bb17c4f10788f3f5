// A bundle identifier: the key of a container, and the only place where its grammar is checked.

/// An app's reverse-DNS identifier: `[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+`, at most 155 bytes.
///
/// It names a directory of the store, so no other string may ever be used as one.
public struct BundleIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The most bytes that an identifier may have.
  public static let maximumByteCount = 155

  /// The identifier itself; ASCII, so text and bytes agree.
  public let description: String

  /// Checks the grammar; nil for anything else.
  public init?(_ text: String) {
    self.init(bytes: Array(text.utf8))
  }

  /// Checks the grammar; nil for anything else.
  public init?(bytes: [UInt8]) {
    guard bytes.count <= Self.maximumByteCount, Self.isWellFormed(bytes) else { return nil }
    description = String(decoding: bytes, as: UTF8.self)
  }

  /// The bytes, for system calls.
  public var bytes: [UInt8] { Array(description.utf8) }

  /// In the order of the bytes.
  public static func < (left: Self, right: Self) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  private static func isWellFormed(_ bytes: [UInt8]) -> Bool {
    var componentLength = 0
    var components = 1
    for byte in bytes {
      if byte == UInt8(ascii: ".") {
        guard componentLength > 0 else { return false }
        components += 1
        componentLength = 0
      } else {
        guard isWord(byte) else { return false }
        componentLength += 1
      }
    }
    return components >= 2 && componentLength > 0
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
