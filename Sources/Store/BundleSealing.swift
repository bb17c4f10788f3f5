// Sealing a bundle, and signing the seal.
//
// All that a seal consists of is made whole beside `_CodeSignature` and exchanged with it in one
// step, so that at no time a seal is there without its signature or with that of another.
internal import Containers
internal import Crypto
public import LinuxKit
internal import Paths
internal import PropertyLists
internal import Seal

/// A key and its certificates, ready to sign seals.
public final class SigningIdentity {
  let key: PrivateKey
  let chain: [Certificate]

  /// Reads a PEM file with a private key, and one with its certificate and those above it.
  public init(key: [UInt8], certificate: [UInt8]) throws(StoreError) {
    let keyText = try Self.read(key)
    let certificateText = try Self.read(certificate)
    do throws(SignatureError) {
      self.key = try PrivateKey.pem(keyText)
    } catch {
      throw StoreError(.failed, "\(key.printable): \(error.reason)")
    }
    do throws(SignatureError) {
      chain = try Certificate.pem(certificateText)
    } catch {
      throw StoreError(.failed, "\(certificate.printable): \(error.reason)")
    }
    guard !chain.isEmpty else {
      throw StoreError(.failed, "\(certificate.printable): there is no certificate in it")
    }
  }

  private static let maximumByteCount = 1 << 20

  private static func read(_ path: [UInt8]) throws(StoreError) -> [UInt8] {
    try saying(path.printable) { () throws(Errno) in
      try Descriptor.following(path).reopened(Opening.reading).readToEnd(atMost: maximumByteCount)
    }
  }
}

/// What was sealed.
public struct SealingReport: Equatable, Sendable {
  /// How many files and links the seal names.
  public let entryCount: Int
  /// Who signed it, if somebody did.
  public let signer: String?
  /// Whether it was sealed just so before.
  public let isUnchanged: Bool
}

/// Seals bundles.
public enum BundleSealing {
  /// Seals a bundle that nobody else changes, and signs the seal if there is an identity.
  ///
  /// What was sealed or signed before is replaced. Without an identity a seal that would be the
  /// same stays as it is, with its signatures. Throws for what a seal can't hold.
  public static func seal(
    _ bundle: borrowing Walker, called name: [UInt8], identity: SigningIdentity? = nil,
    progress: SealProgress? = nil
  ) throws(StoreError) -> SealingReport {
    try seal(bundle, called: name, identity, known: .none, progress)
  }

  /// The same, but what is known of a file need not be computed again.
  static func seal(
    _ bundle: borrowing Walker, called name: [UInt8], _ identity: SigningIdentity?,
    known: KnownDigests, _ progress: SealProgress?
  ) throws(StoreError) -> SealingReport {
    var place = try saying(name.printable) { () throws(Errno) in
      try SealPlace.forSealing(bundle)
    }
    try checkBundle(bundle, called: name, at: place)
    var inventory = try BundleInventory(of: bundle, called: name, at: place) { _ in false }
    if !inventory.outside.isEmpty {
      // What lies beside Contents is sealed too, from where all of it can be seen.
      place = .top
      inventory = try BundleInventory(of: bundle, called: name, at: place) { _ in false }
    }
    let (jobs, links) = try sealable(inventory, called: name, at: place)
    let found = try BundleHashing.digests(
      of: jobs, in: bundle, called: name, known: known, progress: progress)
    try refuseBrokenBundles(of: bundle, called: name, known: KnownDigests(jobs, found), jobs)
    let hashed = zip(jobs, found).map { job, digests in
      SealableEntry(
        path: Array(job.path.dropFirst(place.prefix.count)),
        content: .file(sha1: digests.sha1, sha256: digests.sha256))
    }
    let resources = try resources(over: hashed + links, called: name)
    guard let bytes = resources.propertyList.xml else {
      preconditionFailure("names that XML can't hold have been refused")
    }
    let root = try saying(name.printable) { () throws(Errno) in
      try bundle.enter(path: place.names)
    }
    var files = [(name: SealFiles.codeResources, bytes: bytes)]
    var signer: String?
    if let identity {
      let signature = try signature(of: bytes, by: identity)
      files.append((SealFiles.signature, signature.bytes))
      signer = signature.signer
    }
    let before = try current(in: root, called: name)
    let isSame = signer == nil && before == bytes
    if !isSame { try replace(files, in: root, called: name) }
    return SealingReport(
      entryCount: resources.book.entries.count, signer: signer, isUnchanged: isSame)
  }

  // MARK: What is sealed

  /// Refuses a directory that is no bundle.
  private static func checkBundle(
    _ bundle: borrowing Walker, called name: [UInt8], at place: SealPlace
  ) throws(StoreError) {
    for path in BundleContents.informationPaths {
      let found = try allowing([.noEntry, .notDirectory], name.printable) { () throws(Errno) in
        try bundle.find(beneath: place.prefix + Array(path.utf8))
      }
      if found != nil { return }
    }
    throw StoreError(
      .failed,
      "\(name.printable) is no bundle: it has neither Info.plist, Contents/Info.plist nor "
        + "Resources/Info-gnustep.plist")
  }

  private static func sealable(
    _ inventory: BundleInventory, called name: [UInt8], at place: SealPlace
  ) throws(StoreError) -> (files: [BundleHashing.Job], links: [SealableEntry]) {
    let shown = { (path: [UInt8]) in (name + [UInt8(ascii: "/")] + path).printable }
    var links: [SealableEntry] = []
    var jobs: [BundleHashing.Job] = []
    for item in inventory.items where !CodeResources.isPartOfSeal(item.entry) {
      let path = place.prefix + item.entry.path
      guard !isInSealDirectory(item.entry.path) else {
        throw StoreError(
          .failed, "\(shown(path)) is no part of a seal: move it elsewhere in the bundle")
      }
      switch item.entry.kind {
      case .file:
        jobs.append(
          BundleHashing.Job(path: path, byteCount: item.byteCount, digests: [.sha1, .sha256]))
      case .link(let target):
        links.append(SealableEntry(path: item.entry.path, content: .link(target)))
      case .nested, .other:
        throw StoreError(
          .failed, "\(shown(path)) is no file: a bundle has files, directories and links")
      }
    }
    return (jobs, links)
  }

  /// Refuses to vouch for a bundle in the bundle that is not what its own seal says.
  private static func refuseBrokenBundles(
    of bundle: borrowing Walker, called name: [UInt8], known: KnownDigests,
    _ jobs: [BundleHashing.Job]
  ) throws(StoreError) {
    for inner in NestedBundle.places(in: jobs.map(\.path)) {
      let shown = name + [UInt8(ascii: "/")] + inner
      let directory = try saying(shown.printable) { () throws(Errno) in
        try bundle.enter(path: inner.split(separator: UInt8(ascii: "/")).map(Array.init))
      }
      let verdict = try BundleVerdict(
        of: directory, called: shown, Trust(), known: known.below(inner))
      guard verdict.state != .modified else {
        throw StoreError(
          .failed,
          "\(shown.printable) was modified since it was sealed: \(verdict.difference); seal it "
            + "before the bundle that it is in")
      }
    }
  }

  private static func isInSealDirectory(_ path: [UInt8]) -> Bool {
    path.split(separator: UInt8(ascii: "/")).first?.elementsEqual(SealFiles.directory.utf8) == true
  }

  private static func resources(
    over entries: [SealableEntry], called name: [UInt8]
  ) throws(StoreError) -> CodeResources {
    do throws(SealError) {
      let second = try RulePatterns(SealRule.ours2)
      let first = try RulePatterns(SealRule.ours1)
      return try CodeResources(
        sealing: entries, matches: second.matches, matches1: first.matches)
    } catch {
      throw StoreError(.failed, "\(name.printable)/\(error.description)")
    }
  }

  // MARK: The signature

  private static func signature(
    of bytes: [UInt8], by identity: SigningIdentity
  ) throws(StoreError) -> (bytes: [UInt8], signer: String) {
    let made: [UInt8]
    do throws(SignatureError) {
      made = try CMS.signature(of: bytes, key: identity.key, chain: identity.chain)
    } catch {
      throw StoreError(.failed, "signing: \(error.reason)")
    }
    let name = identity.chain[0].name
    // What is written is looked at as others will look at it.
    switch CMS.verdict(of: made, over: bytes, trusting: [identity.chain[0]]) {
    case .trusted: return (made, name)
    case .untrusted(_, let reason), .broken(let reason):
      throw StoreError(.failed, "the certificate of \(name) can't sign: \(reason)")
    }
  }

  // MARK: Writing

  private static func current(
    in root: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> [UInt8]? {
    try allowing([.noEntry, .invalid, .tooManyLinks, .notDirectory], name.printable) {
      () throws(Errno) in
      try root.enter(SealFiles.directory.utf8).openRegularFile(SealFiles.codeResources.utf8)
        .readToEnd(atMost: BundleOutline.maximumSealByteCount)
    }
  }

  private static func replace(
    _ files: [(name: String, bytes: [UInt8])], in root: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) {
    let temporary = Array(".CodeSignature.\(UInt64.random(in: 0...UInt64.max))".utf8)
    let final = Array(SealFiles.directory.utf8)
    do throws(Errno) {
      // Whoever owns the bundle must be able to seal it again.
      let owner = try root.status()
      let made = try root.createDirectory(temporary, mode: 0o755)
      do throws(Errno) {
        for file in files {
          let written = try made.createFile(file.name.utf8, mode: 0o644)
          try written.writeAll(file.bytes)
          if isPrivileged() { try written.setOwner(uid: owner.ownerUID, gid: owner.ownerGID) }
          try written.synchronize()
        }
        if isPrivileged() {
          try root.setOwner(of: temporary, uid: owner.ownerUID, gid: owner.ownerGID)
        }
        try made.synchronize()
        try exchange(temporary, final, in: root)
      } catch {
        try? root.removeTree(temporary)
        throw error
      }
      try root.removeTree(temporary)
      try root.synchronize()
    } catch {
      throw StoreError("\(name.printable)/\(SealFiles.directory)", error)
    }
  }

  private static func exchange(
    _ temporary: [UInt8], _ final: [UInt8], in root: borrowing Walker
  ) throws(Errno) {
    do throws(Errno) {
      try root.rename(temporary, to: root, as: final, .exchanging)
    } catch {
      guard error == .noEntry else { throw error }
      try root.rename(temporary, to: root, as: final, .exclusive)
    }
  }
}
