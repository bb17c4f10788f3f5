// Detached signatures in the Cryptographic Message Syntax (RFC 5652), as DER.

internal import CCrypto

/// Why something about keys, certificates or signatures did not work, in words.
public struct SignatureError: Error, Equatable, Sendable {
  /// What is wrong, without the file's name before it.
  public let reason: String

  init(_ reason: String) { self.reason = reason }

  static let unavailable = SignatureError("libcrypto can't do it")

  /// What libcrypto said last.
  static var lastReason: String {
    guard let reason = libcrypto.ERR_reason_error_string(libcrypto.ERR_peek_last_error()) else {
      return "no reason"
    }
    return String(cString: reason)
  }
}

/// What a signature is worth.
public enum SignatureVerdict: Equatable, Sendable {
  /// It is over these bytes, by who is trusted.
  case trusted(by: Certificate)
  /// It is over these bytes, as far as that can be known, by who is not trusted.
  case untrusted(by: Certificate?, reason: String)
  /// It is not over these bytes, or it is no signature.
  case broken(reason: String)
}

/// Signatures by certificates.
public enum CMS {
  /// How many bytes a signature may have.
  public static let maximumByteCount = 1 << 20
  private static let maximumSignerCount = 8

  // MARK: Signing

  /// A signature over these bytes by the first certificate of a chain; the others go with it.
  public static func signature(
    of content: [UInt8], key: borrowing PrivateKey, chain: [Certificate]
  ) throws(SignatureError) -> [UInt8] {
    defer { libcrypto.ERR_clear_error() }
    guard let first = chain.first, let signer = X509Handle(der: first.der) else {
      throw SignatureError("there is no certificate")
    }
    if let mistake = key.mistake { throw SignatureError(mistake) }
    guard libcrypto.X509_check_private_key(signer.pointer, key.pointer) == 1 else {
      throw SignatureError("the key does not belong to the first certificate, \(first.name)")
    }
    if let mistake = usageMistake(of: signer.pointer) { throw SignatureError(mistake) }
    let others = try X509Stack(chain.dropFirst())
    let flags = UInt32(CMS_DETACHED | CMS_BINARY | CMS_PARTIAL | CMS_NOSMIMECAP)
    guard let source = MemoryBIO(content),
      let message = libcrypto.CMS_sign(nil, nil, others.pointer, nil, flags)
    else { throw .unavailable }
    defer { libcrypto.CMS_ContentInfo_free(message) }
    guard
      libcrypto.CMS_add1_signer(message, signer.pointer, key.pointer, libcrypto.EVP_sha256(), flags)
        != nil,
      libcrypto.CMS_final(message, source.pointer, nil, flags) == 1,
      let bytes = encoded({ libcrypto.i2d_CMS_ContentInfo(message, $0) })
    else { throw SignatureError("signing failed: \(SignatureError.lastReason)") }
    return bytes
  }

  // MARK: Verifying

  /// What a signature over these bytes is worth to who trusts these certificates.
  ///
  /// `seconds` is the time that counts, in seconds since 1970; nil for the present.
  public static func verdict(
    of signature: [UInt8], over content: [UInt8], trusting trusted: [Certificate],
    at seconds: Int? = nil
  ) -> SignatureVerdict {
    defer { libcrypto.ERR_clear_error() }
    do throws(Finding) {
      let message = try Message(signature)
      let known = (try? X509Stack(trusted[...])) ?? nil
      // Signers whose certificate does not come along may be among those who are trusted.
      _ = libcrypto.CMS_set1_signers_certs(message.pointer, known?.pointer, 0)
      let signers = try message.signers()
      try check(message, over: content, known)
      let included = OwnedStack(libcrypto.CMS_get1_certs(message.pointer))
      for signer in signers {
        if let reason = distrust(of: signer, included, trusted, at: seconds) {
          return .untrusted(by: Certificate(signer), reason: reason)
        }
      }
      guard let first = Certificate(signers.first ?? nil) else {
        return .broken(reason: "nobody signed it")
      }
      return .trusted(by: first)
    } catch {
      return error.verdict
    }
  }

  /// What ends a verification early.
  fileprivate struct Finding: Error {
    let verdict: SignatureVerdict

    static func broken(_ reason: String) -> Finding {
      Finding(verdict: .broken(reason: reason))
    }
  }

  /// Whether the signatures are over the content, whoever made them.
  private static func check(
    _ message: borrowing Message, over content: [UInt8], _ known: X509Stack?
  ) throws(Finding) {
    guard let source = MemoryBIO(content) else { throw .broken("it is too large") }
    let flags = UInt32(CMS_BINARY | CMS_NO_SIGNER_CERT_VERIFY)
    guard
      libcrypto.CMS_verify(message.pointer, known?.pointer, nil, source.pointer, nil, flags) == 1
    else {
      throw .broken("it is a signature over something else: \(SignatureError.lastReason)")
    }
  }

  /// Why a signer is not trusted; nil if it is.
  private static func distrust(
    of signer: OpaquePointer, _ included: borrowing OwnedStack, _ trusted: [Certificate],
    at seconds: Int?
  ) -> String? {
    if let mistake = usageMistake(of: signer) { return mistake }
    guard let store = libcrypto.X509_STORE_new() else { return SignatureError.unavailable.reason }
    defer { libcrypto.X509_STORE_free(store) }
    for certificate in trusted {
      guard let handle = X509Handle(der: certificate.der) else { continue }
      _ = libcrypto.X509_STORE_add_cert(store, handle.pointer)
    }
    guard let context = libcrypto.X509_STORE_CTX_new() else {
      return SignatureError.unavailable.reason
    }
    defer { libcrypto.X509_STORE_CTX_free(context) }
    guard libcrypto.X509_STORE_CTX_init(context, store, signer, included.pointer) == 1 else {
      return SignatureError.unavailable.reason
    }
    let parameters = libcrypto.X509_STORE_CTX_get0_param(context)
    // A certificate that is trusted is trusted, whoever issued it.
    _ = libcrypto.X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    // Keys and digests of at least 112 bits of strength: RSA from 2048 bits, no SHA-1.
    libcrypto.X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    if let seconds { libcrypto.X509_VERIFY_PARAM_set_time(parameters, seconds) }
    if libcrypto.X509_verify_cert(context) == 1 { return nil }
    let code = libcrypto.X509_STORE_CTX_get_error(context)
    let culprit = Certificate(libcrypto.X509_STORE_CTX_get_current_cert(context))
    let text = libcrypto.X509_verify_cert_error_string(Int(code))
    let reason = text.map { String(cString: $0) } ?? "error \(code)"
    return culprit.map { "\(reason) (\($0.name))" } ?? reason
  }
}

/// Why a certificate is not for signing code; nil if it is.
private func usageMistake(of certificate: OpaquePointer) -> String? {
  // A certificate without a restriction may be used for everything.
  let purposes = libcrypto.X509_get_extended_key_usage(certificate)
  guard purposes & UInt32(XKU_CODE_SIGN | XKU_ANYEKU) != 0 else {
    return "the certificate is not for signing code"
  }
  guard libcrypto.X509_get_key_usage(certificate) & UInt32(KU_DIGITAL_SIGNATURE) != 0 else {
    return "the certificate is not for signing"
  }
  return keyMistake(libcrypto.X509_get0_pubkey(certificate))
}

extension CMS {
  /// A signed message of libcrypto's, with one owner.
  private struct Message: ~Copyable {
    let pointer: OpaquePointer

    init(_ bytes: [UInt8]) throws(Finding) {
      guard bytes.count <= CMS.maximumByteCount else { throw .broken("it is too large") }
      guard let source = MemoryBIO(bytes), let parsed = libcrypto.d2i_CMS_bio(source.pointer, nil)
      else {
        throw .broken("it is no CMS signature in DER")
      }
      let isWhole = libcrypto.BIO_ctrl(source.pointer, BIO_CTRL_PENDING, 0, nil) == 0
      let isSigned = libcrypto.OBJ_obj2nid(libcrypto.CMS_get0_type(parsed)) == NID_pkcs7_signed
      let isDetached = isSigned && libcrypto.CMS_is_detached(parsed) == 1
      guard isWhole, isDetached else {
        libcrypto.CMS_ContentInfo_free(parsed)
        throw .broken(
          isWhole ? "it is no detached signature" : "there is something behind the signature")
      }
      pointer = parsed
    }

    deinit { libcrypto.CMS_ContentInfo_free(pointer) }

    /// The certificates of those who signed, borrowed from the message.
    func signers() throws(Finding) -> [OpaquePointer] {
      let stack = libcrypto.CMS_get0_SignerInfos(pointer)
      let count = Int(libcrypto.OPENSSL_sk_num(stack))
      guard count > 0 else { throw .broken("nobody signed it") }
      guard count <= CMS.maximumSignerCount else { throw .broken("too many signed it") }
      var signers: [OpaquePointer] = []
      for index in 0..<count {
        let information = OpaquePointer(libcrypto.OPENSSL_sk_value(stack, Int32(index)))
        var signer: OpaquePointer?
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        libcrypto.CMS_SignerInfo_get0_algs(information, nil, &signer, &digest, nil)
        let algorithm = libcrypto.OBJ_obj2nid(digest?.pointee.algorithm)
        guard [NID_sha256, NID_sha384, NID_sha512].contains(algorithm) else {
          throw .broken("its digest is none of SHA-256, SHA-384 and SHA-512")
        }
        guard let signer else {
          throw Finding(
            verdict: .untrusted(by: nil, reason: "the signer's certificate is not known"))
        }
        signers.append(signer)
      }
      return signers
    }
  }
}

/// Certificates for libcrypto.
private final class X509Stack {
  let pointer: OpaquePointer

  init(_ certificates: ArraySlice<Certificate>) throws(SignatureError) {
    guard let stack = libcrypto.OPENSSL_sk_new_null() else { throw .unavailable }
    pointer = stack
    for certificate in certificates {
      guard let handle = X509Handle(der: certificate.der),
        libcrypto.X509_up_ref(handle.pointer) == 1
      else {
        throw .unavailable
      }
      _ = libcrypto.OPENSSL_sk_push(stack, UnsafeRawPointer(handle.pointer))
    }
  }

  deinit { freeStack(pointer) }
}

/// Certificates that libcrypto gave away.
private struct OwnedStack: ~Copyable {
  let pointer: OpaquePointer?

  init(_ pointer: OpaquePointer?) { self.pointer = pointer }

  deinit { freeStack(pointer) }
}

private func freeStack(_ stack: OpaquePointer?) {
  guard let stack else { return }
  while let certificate = libcrypto.OPENSSL_sk_pop(stack) {
    libcrypto.X509_free(OpaquePointer(certificate))
  }
  libcrypto.OPENSSL_sk_free(stack)
}
