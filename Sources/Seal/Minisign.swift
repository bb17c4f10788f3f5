// Signatures and public keys as minisign(1) and signify write them.

internal import PropertyLists

/// A signature by minisign: over a file, and over a comment that is trusted with it.
public struct MinisignSignature: Equatable, Sendable {
  /// Whether the BLAKE2b-512 digest of the file is signed, and not the file itself.
  public let isPrehashed: Bool
  /// Which key made it.
  public let keyID: [UInt8]
  /// The Ed25519 signature over the file or its digest.
  public let signature: [UInt8]
  /// What the signer says about it.
  public let trustedComment: [UInt8]
  /// The Ed25519 signature over `signature` and the comment behind it.
  public let globalSignature: [UInt8]

  /// How many bytes such a file may have.
  public static let maximumByteCount = 16 << 10

  /// Reads a `.minisig`.
  public init(_ bytes: [UInt8]) throws(SealError) {
    let lines = try lines(of: bytes, atMost: Self.maximumByteCount)
    guard lines.count == 4, lines[0].starts(with: "untrusted comment:".utf8) else {
      throw SealError("it is no minisign signature, which has four lines")
    }
    let head = Array("trusted comment: ".utf8)
    guard lines[2].starts(with: head) else {
      throw SealError("its third line does not begin with 'trusted comment: '")
    }
    guard let body = Base64.decoded(lines[1]), body.count == 74 else {
      throw SealError("its second line is no signature")
    }
    guard let global = Base64.decoded(lines[3]), global.count == Ed25519Size.signature else {
      throw SealError("its fourth line is no signature")
    }
    switch Array(body[..<2]) {
    case Array("ED".utf8): isPrehashed = true
    case Array("Ed".utf8): isPrehashed = false
    default: throw SealError("its algorithm is neither 'Ed' nor 'ED'")
    }
    keyID = Array(body[2..<10])
    signature = Array(body[10...])
    trustedComment = Array(lines[2].dropFirst(head.count))
    globalSignature = global
  }
}

/// A public key of minisign's.
public struct MinisignKey: Equatable, Sendable {
  /// Which key it is.
  public let keyID: [UInt8]
  /// The Ed25519 key.
  public let key: [UInt8]

  /// Reads a `.pub`: a comment and the key, or the key alone.
  public init(_ bytes: [UInt8]) throws(SealError) {
    var lines = try lines(of: bytes, atMost: MinisignSignature.maximumByteCount)
    if lines.first?.starts(with: "untrusted comment:".utf8) == true { lines.removeFirst() }
    guard lines.count == 1, let body = Base64.decoded(lines[0]), body.count == 42,
      body.starts(with: "Ed".utf8)
    else { throw SealError("it is no public key of minisign") }
    keyID = Array(body[2..<10])
    key = Array(body[10...])
  }

  /// The key's number as minisign shows it: little-endian, in hexadecimal, without leading zeros.
  public static func shown(_ keyID: [UInt8]) -> String {
    let number = keyID.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return String(number, radix: 16, uppercase: true)
  }
}

/// How many bytes keys and signatures of Ed25519 have.
public enum Ed25519Size {
  /// A public key.
  public static let key = 32
  /// A signature.
  public static let signature = 64
}

/// The lines of a text, of which the last may have no end.
private func lines(of bytes: [UInt8], atMost count: Int) throws(SealError) -> [[UInt8]] {
  guard bytes.count <= count else { throw SealError("it has more than \(count) bytes") }
  var lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map { line in
    line.last == 13 ? Array(line.dropLast()) : Array(line)
  }
  if lines.last?.isEmpty == true { lines.removeLast() }
  return lines
}
