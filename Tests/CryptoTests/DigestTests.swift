// SHA-256 and SHA-1 against the examples of their standard.

import Crypto
import Testing

@Suite struct DigestTests {
  /// FIPS 180-4's examples, as NIST publishes them.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func agreesWithTheStandard(text: String, expected: String) throws {
    let digest = SHA256.digest(of: Array(text.utf8))
    #expect(hexadecimal(digest) == expected)
  }

  @Test func agreesWithTheStandardForSHA1() throws {
    let digest = try SHA1.digest(of: Array("abc".utf8))
    #expect(hexadecimal(digest) == "a9993e364706816aba3e25717850c26c9cd0d89d")
  }

  @Test func matchesItsOwnBytesOnly() throws {
    let digest = SHA256.digest(of: Array("abc".utf8))
    func matches(_ text: String) -> Bool {
      Array(text.utf8).withUnsafeBytes { bytes in
        digest.withUnsafeBytes { SHA256.matches($0.baseAddress.unsafelyUnwrapped, of: bytes) }
      }
    }
    #expect(matches("abc"))
    #expect(!matches("abd") && !matches("ab") && !matches(""))
  }

  @Test func takesBytesInPieces() throws {
    var digest = SHA256()
    for piece in ["a", "", "bc"] {
      Array(piece.utf8).withUnsafeBytes { digest.update($0) }
    }
    let whole = SHA256.digest(of: Array("abc".utf8))
    #expect(digest.finish() == whole)
    Array("abc".utf8).withUnsafeBytes { digest.update($0) }
    #expect(digest.finish() == whole, "finish() begins a new digest")
  }

  /// RFC 4231's first, second and third example.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
  ])
  func authenticatesAsTheStandard(key: [UInt8], message: [UInt8], expected: String) throws {
    let code = Authentication.code(for: message, key: key)
    #expect(hexadecimal(code) == expected)
    #expect(Authentication.areEqual(code, code))
    var other = code
    other[31] ^= 1
    #expect(!Authentication.areEqual(code, other) && !Authentication.areEqual(code, []))
  }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
