// What is asked of a bundle's seal when it is installed; what has none is sealed.
public import Containers
internal import LinuxKit
internal import Paths

/// What an install found out about a seal.
struct InstalledSeal {
  let state: ContainerRecord.SealState
  let signers: [Signer]
  /// What the installer should know, a line each.
  let warnings: [String]
  /// What was read of its files, the hashes of their chunks among it.
  let digests: KnownDigests
}

extension Store {
  /// What this host requires of every seal.
  public func requirement() throws(StoreError) -> SealRequirement {
    try Settings(location).requirement
  }

  /// Reads a staged bundle, and seals it if nobody has.
  ///
  /// Throws if it was modified since it was sealed, or if its seal is not worth what is required.
  func judgeSeal(
    of bundle: borrowing Walker, called name: [UInt8], requiring requirement: SealRequirement
  ) throws(StoreError) -> InstalledSeal {
    let trust = try Trust(settings: location.settings)
    // All that is needed of any file, so that it is read once.
    let isSealed = try saying(name.printable) { () throws(Errno) in
      try SealPlace.found(in: bundle) != nil
    }
    let verdict = try BundleVerdict(
      of: bundle, called: name, trust, isSealed ? .chunks : [.chunks, .sha1, .sha256],
      known: .none)
    let digests = KnownDigests(of: verdict.inspection)
    switch verdict.state {
    case .modified: throw Self.refusal(of: verdict, called: name)
    case .unsigned: return try seal(bundle, called: name, digests, requiring: requirement)
    case .valid, .adHoc, .untrusted, .dataOnly: break
    }
    guard requirement.accepts(verdict.state) else {
      let reason = verdict.reasons.first ?? "nobody has signed it"
      throw StoreError(
        .failed,
        "\(name.printable) must be signed by a key in trust.d: \(Array(reason.utf8).printable)")
    }
    let reasons = verdict.reasons.map { "\(name.printable): \(Array($0.utf8).printable)" }
    return InstalledSeal(
      state: verdict.state, signers: verdict.signers, warnings: trust.warnings + reasons,
      digests: digests)
  }

  private func seal(
    _ bundle: borrowing Walker, called name: [UInt8], _ digests: KnownDigests,
    requiring requirement: SealRequirement
  ) throws(StoreError) -> InstalledSeal {
    guard requirement != .signed else {
      throw StoreError(
        .failed, "\(name.printable) must be signed by a key in trust.d, and is not even sealed")
    }
    do throws(StoreError) {
      _ = try BundleSealing.seal(bundle, called: name, nil, known: digests, nil)
      return InstalledSeal(state: .adHoc, signers: [], warnings: [], digests: digests)
    } catch {
      guard requirement == .any else {
        throw StoreError(error.kind, "\(error.message), or install it with --require any")
      }
      return InstalledSeal(
        state: .unsigned, signers: [], warnings: ["\(error.message)"], digests: digests)
    }
  }

  private static func refusal(of verdict: BundleVerdict, called name: [UInt8]) -> StoreError {
    StoreError(
      .failed,
      "\(name.printable) was modified since it was sealed: \(verdict.difference); 'sandboxfs "
        + "verify' lists all, and 'sandboxfs seal' seals it as it is")
  }
}
