// Signatures by certificates: openssl(1) makes them for us and checks ours.
import Crypto
import Foundation
import TestSupport
import Testing

/// Keys and certificates that openssl made, once for all tests.
private struct Authority: Sendable {
  let directory: String
  static let shared = Result { try Authority() }

  private init() throws {
    var template = Array("/tmp/sandboxfs-test.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ProgramFailure(description: "no directory") }
    // Keys take a while to make, so all tests share them, and the last one out removes them.
    atexit {
      guard case .success(let authority) = Authority.shared else { return }
      _ = try? run("rm", ["-rf", "--one-file-system", "--", authority.directory])
    }
    directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    try shell(
      """
      exec 2>log
      new() {  # NAME CN KEYTYPE EXTENSIONS [ISSUER]
        case $3 in
          rsa*) openssl genrsa -out $1.key ${3#rsa} ;;
          *) openssl ecparam -name $3 -genkey -noout -out $1.key ;;
        esac
        printf '%b' "$4" > $1.ext
        openssl req -new -key $1.key -subj "/O=Example/CN=$2" -out $1.csr
        if [ -n "${5:-}" ]; then
          openssl x509 -req -in $1.csr -CA $5.pem -CAkey $5.key -CAcreateserial -days 30 \
            -extfile $1.ext -out $1.pem
        else
          openssl x509 -req -in $1.csr -signkey $1.key -days 30 -extfile $1.ext -out $1.pem
        fi
      }
      ca='basicConstraints=critical,CA:TRUE\\nkeyUsage=keyCertSign'
      code='basicConstraints=CA:FALSE\\nkeyUsage=digitalSignature\\nextendedKeyUsage=codeSigning'
      new ca 'Example CA' rsa2048 "$ca"
      new between 'Example Between' prime256v1 "$ca" ca
      new jane 'Jane Doe' prime256v1 "$code" between
      new rsa 'Rita RSA' rsa2048 "$code"
      new web 'www.example.org' prime256v1 'extendedKeyUsage=serverAuth' ca
      new crl 'Cert Signer' prime256v1 'keyUsage=cRLSign' ca
      new weak 'Wendy Weak' rsa1024 "$code"
      new plain 'Paul Plain' prime256v1 'basicConstraints=CA:FALSE' ca
      cat jane.pem between.pem > jane.chain
      printf 'the bytes of a seal\\r\\n\\n' > content
      """)
  }

  @discardableResult
  func shell(_ script: String) throws -> Outcome {
    let outcome = try run("bash", ["-c", "set -eu; cd \(directory); \(script)"])
    guard outcome.status == 0 else {
      let log = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
      throw ProgramFailure(description: "\(outcome) \(log.suffix(400))")
    }
    return outcome
  }

  func file(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
  }

  func certificates(_ names: String...) throws -> [Certificate] {
    try names.flatMap { try Certificate.pem(try file("\($0).pem")) }
  }

  /// What openssl signs.
  func signature(_ name: String, _ options: String = "-md sha256", chain: String? = nil) throws
    -> [UInt8]
  {
    // openssl refuses to add the signer's own certificate twice.
    let more = chain.flatMap { $0 == name ? nil : "-certfile \($0).pem" } ?? ""
    let output = "sig.\(UInt64.random(in: 0...UInt64.max))"
    try shell(
      "openssl cms -sign -binary -in content -signer \(name).pem -inkey \(name).key \(more) "
        + "\(options) -outform DER -out \(output) 2>log")
    return try file(output)
  }
}

@Suite struct CMSTests {
  private let authority: Authority

  init() throws { authority = try Authority.shared.get() }

  private var content: [UInt8] { get throws { try authority.file("content") } }

  private func reason(_ verdict: SignatureVerdict) -> String {
    switch verdict {
    case .trusted(let by): "trusted: \(by.name)"
    case .untrusted(let by, let reason): "untrusted: \(by?.name ?? "-"): \(reason)"
    case .broken(let reason): "broken: \(reason)"
    }
  }

  @Test(
    "What openssl signs is trusted if its root is",
    arguments: [
      ("jane", "between", "ca", "Jane Doe"), ("jane", "between", "between", "Jane Doe"),
      ("jane", "between", "jane", "Jane Doe"), ("rsa", "rsa", "rsa", "Rita RSA"),
      ("plain", "plain", "ca", "Paul Plain"),
    ])
  func trusted(_ signer: String, _ chain: String, _ root: String, _ name: String) throws {
    let signature = try authority.signature(signer, chain: chain)
    let verdict = CMS.verdict(
      of: signature, over: try content, trusting: try authority.certificates(root))
    #expect(reason(verdict) == "trusted: \(name)")
  }

  @Test(
    "Who is not trusted is told with the reason",
    arguments: [
      ("jane", "-md sha256", "between", "rsa", "untrusted: Jane Doe: unable to get"),
      ("jane", "-md sha256", "jane", "ca", "untrusted: Jane Doe: unable to get"),
      (
        "web", "-md sha256", "web", "ca",
        "untrusted: www.example.org: the certificate is not for signing code"
      ),
      (
        "crl", "-md sha256", "crl", "ca",
        "untrusted: Cert Signer: the certificate is not for signing"
      ),
      ("weak", "-md sha256", "weak", "weak", "untrusted: Wendy Weak: an RSA key of less"),
      (
        "jane", "-md sha256 -nocerts", "jane", "ca",
        "untrusted: -: the signer's certificate is not known"
      ),
      ("jane", "-md sha1", "between", "ca", "broken: its digest is none of"),
      ("jane", "-md sha256 -nodetach", "between", "ca", "broken: it is no detached signature"),
    ])
  func untrusted(
    _ signer: String, _ options: String, _ chain: String, _ root: String, _ wanted: String
  ) throws {
    let signature = try authority.signature(signer, options, chain: chain)
    let verdict = CMS.verdict(
      of: signature, over: try content, trusting: try authority.certificates(root))
    #expect(reason(verdict).hasPrefix(wanted), "\(reason(verdict))")
  }

  @Test("A signer's certificate need not come along if it is trusted")
  func withoutCertificates() throws {
    let signature = try authority.signature("jane", "-md sha256 -nocerts")
    let verdict = CMS.verdict(
      of: signature, over: try content, trusting: try authority.certificates("jane"))
    #expect(reason(verdict) == "trusted: Jane Doe")
  }

  @Test("A signature holds for the bytes that were signed, and within the time of its certificates")
  func bytesAndTimes() throws {
    let signature = try authority.signature("jane", chain: "between")
    let roots = try authority.certificates("ca")
    for other in [[], try content + [10], Array(try content.dropLast())] {
      #expect(
        reason(CMS.verdict(of: signature, over: other, trusting: roots)).hasPrefix(
          "broken: it is a signature over something else"))
    }
    let day = 86_400
    let now = Int(Date().timeIntervalSince1970)
    for (time, wanted) in [
      (now + 10, "trusted"), (now + 60 * day, "untrusted: Jane Doe: certificate has expired"),
      (now - day, "untrusted: Jane Doe: certificate is not yet valid"),
    ] {
      let verdict = CMS.verdict(of: signature, over: try content, trusting: roots, at: time)
      #expect(reason(verdict).hasPrefix(wanted), "\(reason(verdict))")
    }
  }

  @Test(
    "What we sign openssl verifies",
    arguments: [("jane", "jane.chain", "ca"), ("rsa", "rsa.pem", "rsa")])
  func signed(_ signer: String, _ chain: String, _ root: String) throws {
    let key = try PrivateKey.pem(try authority.file("\(signer).key"))
    let signature = try CMS.signature(
      of: try content, key: key, chain: try Certificate.pem(try authority.file(chain)))
    try Data(signature).write(to: URL(filePath: "\(authority.directory)/ours.\(signer)"))
    let verify =
      "openssl cms -verify -binary -inform DER -in ours.\(signer) -purpose any -CAfile \(root).pem"
    #expect(try authority.shell("\(verify) -content content").output == (try content))
    #expect(throws: ProgramFailure.self) { try authority.shell("\(verify) -content ca.pem 2>log") }
    let verdict = CMS.verdict(
      of: signature, over: try content, trusting: try authority.certificates(root))
    #expect(reason(verdict).hasPrefix("trusted: "))
  }

  @Test("A key that does not fit, or may not sign, is refused before anything is signed")
  func refusals() throws {
    let jane = try PrivateKey.pem(try authority.file("jane.key"))
    for (certificate, wanted) in [
      ("rsa", "the key does not belong to the first certificate, Rita RSA")
    ] {
      let error = #expect(throws: SignatureError.self) {
        try CMS.signature(of: [], key: jane, chain: try authority.certificates(certificate))
      }
      #expect(error?.reason == wanted)
    }
    let web = try PrivateKey.pem(try authority.file("web.key"))
    #expect(throws: SignatureError.self) {
      try CMS.signature(of: [], key: web, chain: try authority.certificates("web"))
    }
    try authority.shell("openssl ec -in jane.key -aes128 -passout pass:x -out locked.key 2>log")
    let error = #expect(throws: SignatureError.self) {
      _ = try PrivateKey.pem(try authority.file("locked.key"))
    }
    #expect(error?.reason.contains("openssl pkey") == true)
    let empty = #expect(throws: SignatureError.self) {
      _ = try PrivateKey.pem(try authority.file("jane.pem"))
    }
    #expect(empty?.reason == "there is no private key in it")
  }

  @Test("A certificate of ours signs, and openssl reads it")
  func selfSigned() throws {
    let key = try PrivateKey.generated()
    let certificate = try Certificate.selfSigned(by: key, name: "Zoë Example", days: 3)
    #expect(certificate.name == "Zoë Example" && certificate.issuerName == "Zoë Example")
    try Data(try key.pem()).write(to: URL(filePath: "\(authority.directory)/zoe.key"))
    try Data(try certificate.pem()).write(to: URL(filePath: "\(authority.directory)/zoe.pem"))
    let text = String(
      decoding: try authority.shell(
        "openssl x509 -in zoe.pem -noout -text; openssl verify -CAfile zoe.pem zoe.pem"
      ).output, as: UTF8.self)
    for words in ["Code Signing", "Digital Signature", "CA:FALSE", "prime256v1", "zoe.pem: OK"] {
      #expect(text.contains(words), "\(words)")
    }
    let signature = try authority.signature("zoe")
    #expect(
      reason(CMS.verdict(of: signature, over: try content, trusting: [certificate]))
        == "trusted: Zoë Example")
  }

  @Test("Cut short, or with any bit changed, a signature is never trusted, and nothing crashes")
  func damage() throws {
    let roots = try authority.certificates("ca")
    let whole = try authority.signature("jane", chain: "between")
    let content = try content
    func isTrusted(_ bytes: [UInt8]) -> Bool {
      if case .trusted = CMS.verdict(of: bytes, over: content, trusting: roots) {
        true
      } else {
        false
      }
    }
    for count in whole.indices { #expect(!isTrusted(Array(whole.prefix(count))), "\(count)") }
    #expect(!isTrusted(whole + [0]))
    var trustedAfterChange = 0
    for position in whole.indices {
      var damaged = whole
      damaged[position] ^= 1 << UInt8(position % 8)
      if isTrusted(damaged) { trustedAfterChange += 1 }
    }
    // A few bits mean nothing: the case of a tag that is not looked at, an unused certificate.
    #expect(trustedAfterChange < whole.count / 20, "\(trustedAfterChange) of \(whole.count)")
  }

  @Test("A PEM file is read to its end, and what is broken in it is told")
  func pem() throws {
    #expect(
      try Certificate.pem(try authority.file("jane.chain")).map(\.name) == [
        "Jane Doe", "Example Between",
      ])
    #expect(try Certificate.pem([]).isEmpty)
    #expect(try Certificate.pem(Array("no certificate".utf8)).isEmpty)
    let text = String(decoding: try authority.file("jane.pem"), as: UTF8.self)
    #expect(throws: SignatureError.self) {
      try Certificate.pem(Array(text.replacing("MII", with: "MIX").utf8))
    }
    #expect(throws: SignatureError.self) { try Certificate.pem(Array(text.prefix(200).utf8)) }
  }
}

@Suite struct MinisignPrimitiveTests {
  /// RFC 8032, 7.1, test 2.
  @Test func ed25519() {
    let key = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    let signature = bytes(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
    #expect(Ed25519.isValid(signature, of: [0x72], key: key))
    #expect(!Ed25519.isValid(signature, of: [0x73], key: key))
    #expect(!Ed25519.isValid(Array(signature.dropLast()), of: [0x72], key: key))
    #expect(!Ed25519.isValid(signature, of: [0x72], key: Array(key.dropLast())))
  }

  /// RFC 7693, appendix A.
  @Test func blake2b() throws {
    let wanted = bytes(
      "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    #expect(try BLAKE2b512.digest(of: Array("abc".utf8)) == wanted)
  }

  private func bytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits)
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(digits[$0...($0 + 1)]), radix: 16)
    }
  }
}
