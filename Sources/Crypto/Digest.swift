// Digests over bytes that are all there and over bytes that come in pieces.

internal import CCrypto

/// The kinds of trouble that libcrypto has.
public enum CryptoError: Error, Equatable {
  /// libcrypto refused a call that can only fail for want of memory or of the algorithm.
  case unavailable
}

/// A SHA-256 digest that is computed piece by piece (FIPS 180-4); nothing is allocated.
public struct SHA256: ~Copyable {
  /// How many bytes a digest has.
  public static var byteCount: Int { 32 }

  private var context = SHA256_CTX()

  /// A digest over nothing yet.
  public init() { ccrypto_sha256_begin(&context) }

  /// Takes the next bytes in.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    ccrypto_sha256_update(&context, bytes.baseAddress, bytes.count)
  }

  /// The digest of all that was taken in; the next bytes begin a new one.
  public mutating func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
      guard let place = buffer.baseAddress else { return }
      finish(into: place)
      count = Self.byteCount
    }
  }

  /// Writes the digest of all that was taken in to a place of 32 bytes; the next bytes begin a new
  /// one.
  public mutating func finish(into place: UnsafeMutableRawPointer) {
    ccrypto_sha256_finish(&context, place)
    ccrypto_sha256_begin(&context)
  }

  /// Whether the digest of some bytes is this one, of 32 bytes.
  public static func matches(_ digest: UnsafeRawPointer, of bytes: UnsafeRawBufferPointer) -> Bool {
    var found: [32 of UInt8] = .init(repeating: 0)
    return withUnsafeMutableBytes(of: &found) { found in
      self.digest(of: bytes, into: found)
      return found.baseAddress.map { ccrypto_equal($0, digest, byteCount) } == 1
    }
  }

  /// Writes the digest of some bytes to a place of 32.
  public static func digest(
    of bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawBufferPointer
  ) {
    precondition(place.count == byteCount, "a digest has its size")
    guard let start = place.baseAddress else { return }
    var digest = SHA256()
    digest.update(bytes)
    ccrypto_sha256_finish(&digest.context, start)
  }

  /// The digest of these bytes.
  public static func digest(of bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { digest(of: $0) }
  }

  /// The digest of these bytes.
  public static func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var digest = SHA256()
    digest.update(bytes)
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
    context = try DigestContext(libcrypto.EVP_sha1(), byteCount: Self.byteCount)
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
    guard let context = libcrypto.EVP_MD_CTX_new() else { throw .unavailable }
    guard libcrypto.EVP_DigestInit_ex(context, kind, nil) == 1 else {
      libcrypto.EVP_MD_CTX_free(context)
      throw .unavailable
    }
    self.context = context
    self.byteCount = byteCount
  }

  deinit { libcrypto.EVP_MD_CTX_free(context) }

  borrowing func update(_ bytes: UnsafeRawBufferPointer) {
    let done = libcrypto.EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(done == 1, "a digest in memory cannot fail")
  }

  borrowing func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      let done = libcrypto.EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
      let again = libcrypto.EVP_DigestInit_ex(context, nil, nil)
      precondition(done == 1 && again == 1, "a digest in memory cannot fail")
      count = byteCount
    }
  }

  static func digest(
    _ kind: OpaquePointer?, byteCount: Int, of bytes: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    let context = try DigestContext(kind, byteCount: byteCount)
    bytes.withUnsafeBytes { context.update($0) }
    return context.finish()
  }
}
