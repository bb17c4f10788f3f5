// What minisign is made of: Ed25519 (RFC 8032) and BLAKE2b (RFC 7693).

internal import CCrypto

/// Signatures by Ed25519.
public enum Ed25519 {
  /// Whether a key of 32 bytes made a signature of 64 bytes over a message.
  public static func isValid(_ signature: [UInt8], of message: [UInt8], key: [UInt8]) -> Bool {
    guard let key = libcrypto.EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count),
      let context = libcrypto.EVP_MD_CTX_new()
    else {
      libcrypto.ERR_clear_error()
      return false
    }
    defer {
      libcrypto.EVP_MD_CTX_free(context)
      libcrypto.EVP_PKEY_free(key)
      libcrypto.ERR_clear_error()
    }
    guard libcrypto.EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
    return libcrypto.EVP_DigestVerify(context, signature, signature.count, message, message.count)
      == 1
  }
}

/// BLAKE2b with 64 bytes.
public enum BLAKE2b512 {
  /// The digest of these bytes.
  public static func digest(of bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    try DigestContext.digest(libcrypto.EVP_blake2b512(), byteCount: 64, of: bytes)
  }
}
