// What a bundle's seal is worth: the comparison with its files, and who signed it.
public import Containers
internal import Crypto
public import LinuxKit
internal import Paths
internal import Seal

/// Who signed a seal.
public struct Signer: Equatable, Sendable {
  /// How a signer is known.
  public enum Kind: Equatable, Sendable {
    /// By a certificate of this issuer, with this SHA-256 digest.
    case certificate(issuer: String, sha256: [UInt8])
    /// By a key of minisign's, and what the signer says about the signature.
    case minisign(comment: String)
  }

  /// The certificate's name, or the key's number.
  public let name: String
  /// How the signer is known.
  public let kind: Kind
  /// Whether `trust.d` names them.
  public let isTrusted: Bool
}

/// What a bundle's seal is worth.
public struct BundleVerdict: Sendable {
  /// The state in a word.
  public private(set) var state: ContainerRecord.SealState
  /// The comparison of the seal with the files.
  public private(set) var inspection: BundleInspection
  /// Who signed the seal, as far as that is known.
  public private(set) var signers: [Signer] = []
  /// Why the state is no better, a line each; paths that differ are not among them.
  public private(set) var reasons: [String] = []
  /// What was not checked, or should be known, a line each.
  public private(set) var notes: [String] = []

  /// Reads a whole bundle, and says what its seal is worth to who trusts `trust`.
  ///
  /// With `isDeep` every bundle in it that has a seal of its own is held against that as well.
  /// Throws for what can't be read, and not for what a seal or a signature says.
  public init(
    of bundle: borrowing Walker, called name: [UInt8], trust: Trust, digests: BundleDigests = [],
    isDeep: Bool = false, progress: SealProgress? = nil
  ) throws(StoreError) {
    // Other seals may have other digests of the same files.
    let wanted = isDeep ? digests.union(.sha256) : digests
    try self.init(of: bundle, called: name, trust, wanted, known: .none, progress, isDeep: isDeep)
  }

  /// The same, but what is known of a file need not be computed again.
  init(
    of bundle: borrowing Walker, called name: [UInt8], _ trust: Trust,
    _ digests: BundleDigests = [],
    known: KnownDigests, _ progress: SealProgress? = nil, isDeep: Bool = false
  ) throws(StoreError) {
    inspection = try BundleInspection(
      of: bundle, called: name, digests, known: known, progress)
    state = .unsigned
    guard let seal = inspection.sealBytes else { return }
    let verdicts = try signatures(of: bundle, called: name, over: seal, trust)
    if isDeep { try inspectDeep(bundle, called: name, trust) }
    addNotes(try Self.isMachO(inspection.executable, in: bundle, called: name))
    state = state(after: verdicts)
  }

  // MARK: The state

  private mutating func state(after verdicts: [Verdict]) -> ContainerRecord.SealState {
    if let mistake = inspection.sealMistake {
      reasons.append("CodeResources is no seal: \(mistake)")
    }
    var isModified = !inspection.isIntact
    var isTrusted = false
    for verdict in verdicts {
      switch verdict {
      case .broken(let path, let reason):
        inspection.noteChanged(path)
        reasons.append("\(path.printable): \(reason)")
        isModified = true
      case .untrusted(let reason): reasons.append(reason)
      case .trusted: isTrusted = true
      }
    }
    if isModified { return .modified }
    guard !verdicts.isEmpty else { return .adHoc }
    guard isTrusted else { return .untrusted }
    // One signature that is trusted is enough, whatever others there are.
    reasons = []
    if let gap {
      reasons.append(gap)
      return .untrusted
    }
    return .valid
  }

  /// What a signature over the seal does not bind, though it must to mean anything.
  private var gap: String? {
    if let code = inspection.code.first {
      return "\(code.printable) is sealed only by the signature inside of it, which is not checked"
    }
    for path in [inspection.executable, inspection.information].compactMap(\.self) {
      let isSealed = inspection.files.contains { $0.path == path && $0.standing.isSealed }
      if !isSealed { return "\(path.printable) is not under the seal, so anybody can exchange it" }
    }
    // A main executable that is a link leads to a file that may be any of these.
    if inspection.information != nil, inspection.executable == nil,
      let path = inspection.unsealed.first
    {
      return "\(path.printable) is not under the seal, so anybody can exchange it"
    }
    return nil
  }

  /// How a modified bundle differs from what was sealed, in the middle of a line.
  var difference: String {
    let differences =
      inspection.changed.map { "\($0.printable) has changed" }
      + inspection.missing.map { "\($0.printable) is missing" }
      + inspection.added.map { "\($0.printable) was added" }
    let first = differences.first ?? reasons.first ?? "it can't be told how"
    return differences.count > 1 ? "\(first), and \(differences.count - 1) more" : first
  }

  private mutating func addNotes(_ isMachO: Bool) {
    let executable = inspection.executable?.printable ?? ""
    if isMachO {
      notes.append("\(executable) is a Mach-O program: the signature inside of it is not checked")
    }
    for path in inspection.code {
      notes.append("\(path.printable): the signature inside of it is not checked")
    }
    let unsealed = inspection.unsealed
    if let first = unsealed.first {
      let rest = unsealed.count == 1 ? "is" : "and \(unsealed.count - 1) more are"
      notes.append("\(first.printable) \(rest) not under the seal")
    }
    if inspection.hasWeakDigests {
      notes.append(
        "the seal has nothing better than SHA-1 for some files: their maker can make two alike")
    }
  }

  private static func isMachO(
    _ path: [UInt8]?, in bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> Bool {
    guard let path else { return false }
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    let head = try saying((name + [UInt8(ascii: "/")] + path).printable) { () throws(Errno) in
      try bundle.enter(path: names.dropLast()).openRegularFile(names.last ?? [])
        .readSome(atMost: 4)
    }
    let magics: [[UInt8]] = [
      [0xcf, 0xfa, 0xed, 0xfe], [0xce, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe],
      [0xca, 0xfe, 0xba, 0xbf],
    ]
    return magics.contains(head)
  }

  // MARK: Signatures

  private enum Verdict {
    case trusted
    case untrusted(reason: String)
    case broken(path: [UInt8], reason: String)
  }

  private mutating func signatures(
    of bundle: borrowing Walker, called name: [UInt8], over seal: [UInt8], _ trust: Trust
  ) throws(StoreError) -> [Verdict] {
    var verdicts: [Verdict] = []
    if try file(SealFiles.appleCodeDirectory, in: bundle, called: name, atMost: 128 << 20) != nil {
      notes.append("the signature by Apple's tools, over CodeDirectory, is not checked")
    } else if let bytes = try file(
      SealFiles.signature, in: bundle, called: name, atMost: CMS.maximumByteCount)
    {
      verdicts.append(judge(cms: bytes, over: seal, trust))
    }
    if let bytes = try file(
      SealFiles.minisign, in: bundle, called: name, atMost: MinisignSignature.maximumByteCount)
    {
      verdicts.append(judge(minisign: bytes, over: seal, trust))
    }
    return verdicts
  }

  private mutating func judge(cms bytes: [UInt8], over seal: [UInt8], _ trust: Trust) -> Verdict {
    switch CMS.verdict(of: bytes, over: seal, trusting: trust.certificates) {
    case .broken(let reason):
      return .broken(path: path(of: SealFiles.signature), reason: reason)
    case .untrusted(let certificate, let reason):
      guard let certificate else { return .untrusted(reason: reason) }
      add(certificate, isTrusted: false)
      return .untrusted(reason: "the certificate of \(certificate.name) is not trusted: \(reason)")
    case .trusted(let certificate):
      add(certificate, isTrusted: true)
      return .trusted
    }
  }

  private mutating func add(_ certificate: Certificate, isTrusted: Bool) {
    signers.append(
      Signer(
        name: certificate.name,
        kind: .certificate(issuer: certificate.issuerName, sha256: certificate.fingerprint),
        isTrusted: isTrusted))
  }

  private mutating func judge(
    minisign bytes: [UInt8], over seal: [UInt8], _ trust: Trust
  ) -> Verdict {
    let path = path(of: SealFiles.minisign)
    let signature: MinisignSignature
    do throws(SealError) {
      signature = try MinisignSignature(bytes)
    } catch {
      return .broken(path: path, reason: error.description)
    }
    let name = MinisignKey.shown(signature.keyID)
    let keys = trust.keys.filter { $0.keyID == signature.keyID }
    let comment = String(decoding: signature.trustedComment, as: UTF8.self)
    guard !keys.isEmpty else {
      // Without the key nothing is known of the comment either.
      signers.append(Signer(name: name, kind: .minisign(comment: ""), isTrusted: false))
      return .untrusted(reason: "the minisign key \(name) is not trusted")
    }
    let message = signature.isPrehashed ? try? BLAKE2b512.digest(of: seal) : seal
    guard let message else { return .broken(path: path, reason: "libcrypto has no BLAKE2b") }
    let isValid = keys.contains { key in
      Ed25519.isValid(signature.signature, of: message, key: key.key)
        && Ed25519.isValid(
          signature.globalSignature, of: signature.signature + signature.trustedComment,
          key: key.key)
    }
    guard isValid else {
      return .broken(path: path, reason: "it is a signature over something else")
    }
    signers.append(Signer(name: name, kind: .minisign(comment: comment), isTrusted: true))
    return .trusted
  }

  private func path(of name: String) -> [UInt8] {
    inspection.sealPrefix + Array("\(SealFiles.directory)/\(name)".utf8)
  }

  private func file(
    _ file: String, in bundle: borrowing Walker, called name: [UInt8], atMost limit: Int
  ) throws(StoreError) -> [UInt8]? {
    let path = path(of: file)
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    return try allowing([.noEntry], (name + [UInt8(ascii: "/")] + path).printable) {
      () throws(Errno) in
      try bundle.enter(path: names.dropLast()).openRegularFile(file.utf8).readToEnd(atMost: limit)
    }
  }

  // MARK: Bundles in the bundle

  private mutating func inspectDeep(
    _ bundle: borrowing Walker, called name: [UInt8], _ trust: Trust
  ) throws(StoreError) {
    let known = KnownDigests(of: inspection)
    let paths = inspection.files.map(\.path) + inspection.added
    for place in NestedBundle.places(in: paths) {
      let shown = name + [UInt8(ascii: "/")] + place
      let names = place.split(separator: UInt8(ascii: "/")).map(Array.init)
      let directory = try saying(shown.printable) { () throws(Errno) in
        try bundle.enter(path: names)
      }
      let inner = try BundleVerdict(of: directory, called: shown, trust, known: known.below(place))
      notes.append("\(place.printable): \(inner.state.rawValue)")
      guard inner.state == .modified else { continue }
      let prefix = place + [UInt8(ascii: "/")]
      inspection.note(inner.inspection, below: prefix)
      reasons += inner.reasons.map { "\(place.printable): \($0)" }
    }
  }
}

/// Bundles in bundles, known by their seals.
enum NestedBundle {
  /// The directories of bundles below the one that these files are in, sorted.
  static func places(in paths: [[UInt8]]) -> [[UInt8]] {
    let tail = ["\(SealFiles.directory)", SealFiles.codeResources].map { Array($0.utf8) }
    var places: Set<[UInt8]> = []
    for path in paths {
      var names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
      guard names.suffix(2).elementsEqual(tail) else { continue }
      names.removeLast(2)
      if names.last?.elementsEqual("Contents".utf8) == true { names.removeLast() }
      if names.count > 2, names[names.count - 2].elementsEqual("Versions".utf8) {
        names.removeLast(2)
      }
      if !names.isEmpty { places.insert(Array(names.joined(separator: [UInt8(ascii: "/")]))) }
    }
    return places.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

extension SealSurvey.Standing {
  /// Whether the seal has a digest of it.
  var isSealed: Bool {
    switch self {
    case .sha256, .sha1: true
    default: false
    }
  }
}
