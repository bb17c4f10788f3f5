// Codes that only who has a key can make, and the key's random bytes.

internal import CCrypto

/// An HMAC with SHA-256 (RFC 2104).
public enum Authentication {
  /// How many bytes a code, and a key, has.
  public static var byteCount: Int { 32 }

  /// The code of a message.
  public static func code(
    for message: [UInt8], key: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: byteCount)
    var count: UInt32 = 0
    let made = key.withUnsafeBufferPointer { key in
      message.withUnsafeBufferPointer { message in
        HMAC(
          EVP_sha256(), key.baseAddress, CInt(key.count), message.baseAddress, message.count,
          &code, &count) != nil
      }
    }
    guard made, count == byteCount else { throw .unavailable }
    return code
  }

  /// Whether two codes are the same, in a time that does not tell where they differ.
  public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
  }

  /// A new key.
  public static func newKey() throws(CryptoError) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: byteCount)
    guard RAND_bytes(&key, CInt(byteCount)) == 1 else { throw .unavailable }
    return key
  }
}
