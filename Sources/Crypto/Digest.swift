// Digests over bytes that are all there and over bytes that come in pieces.

internal import CCrypto

/// The kinds of trouble that libcrypto has.
public enum CryptoError: Error, Equatable {
  /// libcrypto refused a call that can only fail for want of memory or of the algorithm.
  case unavailable
}

/// A SHA-256 digest that is computed piece by piece (FIPS 180-4).
public struct SHA256: ~Copyable {
  /// How many bytes a digest has.
  public static var byteCount: Int { 32 }

  private let context: DigestContext

  /// A digest over nothing yet.
  public init() throws(CryptoError) {
    context = try DigestContext(EVP_sha256(), byteCount: Self.byteCount)
  }

  /// Takes the next bytes in.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) { context.update(bytes) }

  /// The digest of all that was taken in; the next bytes begin a new one.
  public mutating func finish() -> [UInt8] { context.finish() }

  /// Writes the digest of all that was taken in to a place of 32 bytes; the next bytes begin a new
  /// one.
  public mutating func finish(into place: UnsafeMutableRawPointer) { context.finish(into: place) }

  /// Whether the digest of some bytes is this one, of 32 bytes; nothing is allocated.
  public static func matches(_ digest: UnsafeRawPointer, of bytes: UnsafeRawBufferPointer) -> Bool {
    var found: [32 of UInt8] = .init(repeating: 0)
    return withUnsafeMutableBytes(of: &found) { found in
      let result = found.baseAddress?.assumingMemoryBound(to: UInt8.self)
      // What failed matches nothing.
      return ccrypto_sha256(bytes.baseAddress, bytes.count, result) == 1
        && CRYPTO_memcmp(found.baseAddress, digest, found.count) == 0
    }
  }

  /// Writes the digest of some bytes to a place of 32; nothing is allocated.
  public static func digest(
    of bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawBufferPointer
  ) throws(CryptoError) {
    precondition(place.count == byteCount, "a digest has its size")
    let result = place.baseAddress?.assumingMemoryBound(to: UInt8.self)
    guard ccrypto_sha256(bytes.baseAddress, bytes.count, result) == 1 else { throw .unavailable }
  }

  /// The digest of these bytes.
  public static func digest(of bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    var digest = try SHA256()
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.finish()
  }
}

/// A SHA-1 digest that is computed piece by piece (FIPS 180-4).
///
/// For old seals and for names in backups: whoever makes both of two files can make them have the
/// same one.
public struct SHA1: ~Copyable {
  /// How many bytes a digest has.
  public static var byteCount: Int { 20 }

  private let context: DigestContext

  /// A digest over nothing yet.
  public init() throws(CryptoError) {
    context = try DigestContext(EVP_sha1(), byteCount: Self.byteCount)
  }

  /// Takes the next bytes in.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) { context.update(bytes) }

  /// The digest of all that was taken in; the next bytes begin a new one.
  public mutating func finish() -> [UInt8] { context.finish() }

  /// The digest of these bytes.
  public static func digest(of bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    var digest = try SHA1()
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.finish()
  }
}

/// A digest of some kind.
struct DigestContext: ~Copyable {
  private let context: OpaquePointer
  private let byteCount: Int

  init(_ kind: OpaquePointer?, byteCount: Int) throws(CryptoError) {
    guard let context = EVP_MD_CTX_new() else { throw .unavailable }
    guard EVP_DigestInit_ex(context, kind, nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw .unavailable
    }
    self.context = context
    self.byteCount = byteCount
  }

  deinit { EVP_MD_CTX_free(context) }

  borrowing func update(_ bytes: UnsafeRawBufferPointer) {
    let done = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(done == 1, "a digest in memory cannot fail")
  }

  borrowing func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      let done = EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
      let again = EVP_DigestInit_ex(context, nil, nil)
      precondition(done == 1 && again == 1, "a digest in memory cannot fail")
      count = byteCount
    }
  }

  borrowing func finish(into place: UnsafeMutableRawPointer) {
    let done = EVP_DigestFinal_ex(context, place.assumingMemoryBound(to: UInt8.self), nil)
    let again = EVP_DigestInit_ex(context, nil, nil)
    precondition(done == 1 && again == 1, "a digest in memory cannot fail")
  }

  static func digest(
    _ kind: OpaquePointer?, byteCount: Int, of bytes: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    let context = try DigestContext(kind, byteCount: byteCount)
    bytes.withUnsafeBytes { context.update($0) }
    return context.finish()
  }
}
