// X.509 certificates and private keys, as PEM files hold them.

internal import CCrypto

/// A certificate that libcrypto can read.
public struct Certificate: Hashable, Sendable {
  /// The certificate in DER.
  public let der: [UInt8]
  /// Whose it is: the common name, else the organisation, else all that it says.
  public let name: String
  /// Who issued it, in the same way.
  public let issuerName: String

  /// Reads one certificate and nothing behind it; nil if it is none.
  public init?(der: [UInt8]) {
    guard let handle = X509Handle(der: der) else { return nil }
    self.init(handle, der)
  }

  private init(_ handle: borrowing X509Handle, _ der: [UInt8]) {
    self.der = der
    name = nameText(libcrypto.X509_get_subject_name(handle.pointer))
    issuerName = nameText(libcrypto.X509_get_issuer_name(handle.pointer))
  }

  init?(_ pointer: OpaquePointer?) {
    guard let pointer, let der = encoded({ libcrypto.i2d_X509(pointer, $0) }) else { return nil }
    self.init(der: der)
  }

  /// The certificates of a PEM file, in order; empty if there is none in it.
  ///
  /// Throws if one is broken.
  public static func pem(_ text: [UInt8]) throws(SignatureError) -> [Certificate] {
    defer { libcrypto.ERR_clear_error() }
    guard let source = MemoryBIO(text) else { throw .unavailable }
    var found: [Certificate] = []
    while true {
      let pointer = libcrypto.PEM_read_bio_X509(source.pointer, nil, nil, nil)
      guard let pointer else { break }
      defer { libcrypto.X509_free(pointer) }
      guard let certificate = Certificate(pointer) else {
        throw SignatureError("a certificate in it can't be read")
      }
      found.append(certificate)
    }
    // At the end there is no further beginning; anything else is a mistake.
    guard ERR_GET_REASON(libcrypto.ERR_peek_last_error()) == PEM_R_NO_START_LINE else {
      throw SignatureError("a certificate in it can't be read: \(SignatureError.lastReason)")
    }
    return found
  }

  /// The SHA-256 digest of the certificate, by which it is known everywhere.
  public var fingerprint: [UInt8] { SHA256.digest(of: der) }
}

/// A private key that can sign.
public struct PrivateKey: ~Copyable {
  let pointer: OpaquePointer

  /// Takes ownership.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { libcrypto.EVP_PKEY_free(pointer) }

  /// Reads the key of a PEM file.
  public static func pem(_ text: [UInt8]) throws(SignatureError) -> PrivateKey {
    defer { libcrypto.ERR_clear_error() }
    guard let source = MemoryBIO(text) else { throw .unavailable }
    let isEncrypted = String(decoding: text, as: UTF8.self).contains("ENCRYPTED")
    // Nobody is asked for a pass phrase: a command must not wait on a terminal that nobody watches.
    let key = libcrypto.PEM_read_bio_PrivateKey(source.pointer, nil, { _, _, _, _ in 0 }, nil)
    guard let key else {
      throw SignatureError(
        isEncrypted
          ? "it is encrypted: 'openssl pkey -in KEY.pem -out PLAIN.pem' decrypts it"
          : "there is no private key in it")
    }
    return PrivateKey(owning: key)
  }

  /// Why this kind of key does not sign seals; nil if it does.
  var mistake: String? { keyMistake(pointer) }

  /// A new key on the curve P-256.
  public static func generated() throws(SignatureError) -> PrivateKey {
    defer { libcrypto.ERR_clear_error() }
    guard let context = libcrypto.EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
      throw .unavailable
    }
    defer { libcrypto.EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard libcrypto.EVP_PKEY_keygen_init(context) == 1,
      libcrypto.EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      libcrypto.EVP_PKEY_generate(context, &key) == 1, let key
    else { throw .unavailable }
    return PrivateKey(owning: key)
  }

  /// The key as a PEM file, unencrypted.
  public borrowing func pem() throws(SignatureError) -> [UInt8] {
    guard let target = MemoryBIO(),
      libcrypto.PEM_write_bio_PrivateKey(target.pointer, pointer, nil, nil, 0, nil, nil) == 1
    else { throw .unavailable }
    return target.contents
  }
}

/// Why a public key is no basis of trust; nil if it is.
func keyMistake(_ key: OpaquePointer?) -> String? {
  guard let key else { return "the key can't be read" }
  let bits = libcrypto.EVP_PKEY_get_bits(key)
  switch libcrypto.EVP_PKEY_get_base_id(key) {
  case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS:
    return bits >= 2048 ? nil : "an RSA key of less than 2048 bits is too weak"
  case EVP_PKEY_EC:
    return bits >= 256 ? nil : "an elliptic curve of less than 256 bits is too weak"
  default: return "only RSA and elliptic curve keys sign seals"
  }
}

// MARK: - Certificates of developers

extension Certificate {
  /// A certificate for signing code that a key has issued to itself.
  public static func selfSigned(
    by key: borrowing PrivateKey, name: String, days: Int
  ) throws(SignatureError) -> Certificate {
    defer { libcrypto.ERR_clear_error() }
    guard let certificate = libcrypto.X509_new() else { throw .unavailable }
    defer { libcrypto.X509_free(certificate) }
    // 16 random bytes, of which the first bit makes no negative number.
    var serial = [UInt8](repeating: 0, count: 16)
    guard libcrypto.RAND_bytes(&serial, Int32(serial.count)) == 1 else { throw .unavailable }
    serial[0] = serial[0] & 0x7f | 0x40
    let subject = libcrypto.X509_get_subject_name(certificate)
    guard let number = libcrypto.BN_bin2bn(serial, Int32(serial.count), nil) else {
      throw .unavailable
    }
    defer { libcrypto.BN_free(number) }
    let isMade =
      libcrypto.X509_set_version(certificate, 2) == 1
      && libcrypto.BN_to_ASN1_INTEGER(number, libcrypto.X509_get_serialNumber(certificate)) != nil
      && libcrypto.X509_gmtime_adj(libcrypto.X509_getm_notBefore(certificate), 0) != nil
      && libcrypto.X509_time_adj_ex(libcrypto.X509_getm_notAfter(certificate), Int32(days), 0, nil)
        != nil
      && libcrypto.X509_NAME_add_entry_by_NID(
        subject, NID_commonName, 0x1000, Array(name.utf8), Int32(name.utf8.count), -1, 0) == 1
      && libcrypto.X509_set_issuer_name(certificate, subject) == 1
      && libcrypto.X509_set_pubkey(certificate, key.pointer) == 1
      && extend(certificate, NID_basic_constraints, "critical,CA:FALSE")
      && extend(certificate, NID_key_usage, "critical,digitalSignature")
      && extend(certificate, NID_ext_key_usage, "codeSigning")
      && extend(certificate, NID_subject_key_identifier, "hash")
      && libcrypto.X509_sign(certificate, key.pointer, libcrypto.EVP_sha256()) > 0
    guard isMade, let made = Certificate(certificate) else {
      throw SignatureError("the certificate can't be made: \(SignatureError.lastReason)")
    }
    return made
  }

  private static func extend(_ certificate: OpaquePointer, _ kind: Int32, _ value: String) -> Bool {
    var context = X509V3_CTX()
    libcrypto.X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
    guard let made = libcrypto.X509V3_EXT_conf_nid(nil, &context, kind, value) else { return false }
    defer { libcrypto.X509_EXTENSION_free(made) }
    return libcrypto.X509_add_ext(certificate, made, -1) == 1
  }

  /// The certificate as a PEM file.
  public func pem() throws(SignatureError) -> [UInt8] {
    guard let handle = X509Handle(der: der), let target = MemoryBIO(),
      libcrypto.PEM_write_bio_X509(target.pointer, handle.pointer) == 1
    else { throw .unavailable }
    return target.contents
  }
}

// MARK: - libcrypto's objects

/// An X509 of libcrypto's, with one owner.
struct X509Handle: ~Copyable {
  let pointer: OpaquePointer

  init?(der: [UInt8]) {
    let parsed = der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      let parsed = libcrypto.d2i_X509(nil, &place, bytes.count)
      // Bytes behind it belong to nobody.
      if let parsed, place != bytes.baseAddress?.advanced(by: bytes.count) {
        libcrypto.X509_free(parsed)
        return OpaquePointer?.none
      }
      return parsed
    }
    libcrypto.ERR_clear_error()
    guard let parsed else { return nil }
    pointer = parsed
  }

  deinit { libcrypto.X509_free(pointer) }
}

/// Memory that libcrypto reads from or writes to.
struct MemoryBIO: ~Copyable {
  let pointer: OpaquePointer

  /// One to write to.
  init?() {
    guard let made = libcrypto.BIO_new(libcrypto.BIO_s_mem()) else { return nil }
    pointer = made
  }

  /// One that holds a copy of these bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Int32.max, let made = libcrypto.BIO_new(libcrypto.BIO_s_mem()) else {
      return nil
    }
    guard bytes.isEmpty || libcrypto.BIO_write(made, bytes, Int32(bytes.count)) == bytes.count
    else {
      _ = libcrypto.BIO_free(made)
      return nil
    }
    // At its end it is at its end, and not to be tried again.
    _ = libcrypto.BIO_ctrl(made, BIO_C_SET_BUF_MEM_EOF_RETURN, 0, nil)
    pointer = made
  }

  deinit { _ = libcrypto.BIO_free(pointer) }

  /// What is left in it.
  var contents: [UInt8] {
    let count = libcrypto.BIO_ctrl(pointer, BIO_CTRL_PENDING, 0, nil)
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, Int(libcrypto.BIO_read(pointer, buffer.baseAddress, Int32(count))))
    }
  }
}

/// What one of libcrypto's i2d functions writes; nil if it fails.
func encoded(
  _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
) -> [UInt8]? {
  let count = Int(write(nil))
  guard count > 0 else { return nil }
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    var place = buffer.baseAddress
    filled = max(0, Int(write(&place)))
  }
}

private func nameText(_ name: OpaquePointer?) -> String {
  for kind in [NID_commonName, NID_organizationName] {
    let position = libcrypto.X509_NAME_get_index_by_NID(name, kind, -1)
    guard position >= 0, let entry = libcrypto.X509_NAME_get_entry(name, position) else { continue }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = libcrypto.ASN1_STRING_to_UTF8(&bytes, libcrypto.X509_NAME_ENTRY_get_data(entry))
    guard count >= 0, let bytes else { continue }
    defer { libcrypto.CRYPTO_free(bytes, nil, 0) }
    return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
  }
  libcrypto.ERR_clear_error()
  var line = [CChar](repeating: 0, count: 256)
  _ = libcrypto.X509_NAME_oneline(name, &line, Int32(line.count))
  return String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
