// Base64 (RFC 4648), as property lists and key files have it.

/// Bytes as letters, four for each three.
public enum Base64 {
  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The letters for these bytes, filled up with `=`.
  public static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
      for place in 0..<4 {
        let digit = Int(bits >> UInt32(18 - 6 * place) & 0x3f)
        text.append(place <= group.count ? digits[digit] : UInt8(ascii: "="))
      }
    }
    return text
  }

  /// The bytes that letters stand for; blanks and line ends between them mean nothing.
  ///
  /// Nil if anything else is among them, or if they are cut short. The `=` at the end may be
  /// missing, as some writers leave it out.
  public static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var decoder = Base64Decoder()
    for byte in text where !isBlank(byte) {
      guard decoder.take(byte) else { return nil }
    }
    return decoder.bytes
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
}

/// Takes letters one by one.
struct Base64Decoder {
  private var decoded: [UInt8] = []
  private var bits: UInt32 = 0
  private var digitCount = 0
  private var padding = 0

  /// Takes the next letter; false if it can't be the next.
  mutating func take(_ byte: UInt8) -> Bool {
    if byte == UInt8(ascii: "=") {
      padding += 1
      return true
    }
    guard padding == 0, let digit = Self.digit(byte) else { return false }
    bits = bits << 6 | UInt32(digit)
    digitCount += 1
    if digitCount % 4 != 1 {
      decoded.append(UInt8(truncatingIfNeeded: bits >> [0, 0, 4, 2][digitCount % 4]))
    }
    return true
  }

  /// The bytes that the letters stand for; nil if they are cut short.
  var bytes: [UInt8]? { digitCount % 4 == 1 || padding > 2 ? nil : decoded }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
