// Codes that only who has a key can make, and the key's random bytes.

internal import CCrypto

/// An HMAC with SHA-256 (RFC 2104).
public enum Authentication {
  /// How many bytes a code, and a key, has.
  public static var byteCount: Int { 32 }

  /// The code of a message, by a key of at most 64 bytes.
  public static func code(for message: [UInt8], key: [UInt8]) -> [UInt8] {
    let blockByteCount = 64
    precondition(key.count <= blockByteCount, "a longer key would be hashed first")
    let block = key + [UInt8](repeating: 0, count: blockByteCount - key.count)
    let inner = SHA256.digest(of: block.map { $0 ^ 0x36 } + message)
    return SHA256.digest(of: block.map { $0 ^ 0x5c } + inner)
  }

  /// Whether two codes are the same, in a time that does not tell where they differ.
  public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && ccrypto_equal(one, other, one.count) == 1
  }

  /// A new key.
  public static func newKey() throws(CryptoError) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: byteCount)
    guard libcrypto.RAND_bytes(&key, CInt(byteCount)) == 1 else { throw .unavailable }
    return key
  }
}
