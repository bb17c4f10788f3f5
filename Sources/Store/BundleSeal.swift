// The seal of an installed bundle: the table of its chunks, and the code by which this host knows
// that both the table and what the record says are its own.
public import Containers
internal import Crypto
internal import LinuxKit
internal import Paths
internal import Seal

/// Makes the seal of a bundle that is about to be installed.
enum BundleSeal {
  /// Writes the table of a staged bundle beside it, and binds it to the record.
  ///
  /// What is hashed is what was copied: nobody else can get at what is staged.
  static func write(
    for bundle: borrowing Walker, _ record: inout ContainerRecord, into staged: borrowing Walker,
    digests: KnownDigests, key: [UInt8]
  ) throws(StoreError) {
    let items = try BundleSurvey.items(of: bundle, called: record.bundleName, known: digests)
    let table: [UInt8]
    do throws(ChunkTableError) {
      table = try ChunkTable.encode(items)
    } catch {
      throw StoreError(.failed, "\(record.bundleName.printable) is too large to be sealed")
    }
    try saying("sealing \(record.bundleName.printable)") { () throws(Errno) in
      let place = try staged.createDirectory(ContainerLayout.seal.utf8, mode: 0o700)
      try place.addFile(ContainerLayout.chunks.utf8, contents: table, mode: 0o600)
    }
    record.tableDigest = SHA256.digest(of: table)
    record.authenticator = Authentication.code(for: record.sealedMessage, key: key)
  }
}

/// What is known of an installed bundle's seal at this moment.
public struct SealStatus: Equatable, Sendable {
  /// What the seal says: the record's state, or *modified*.
  public let state: ContainerRecord.SealState
  /// What is wrong with a modified one, in words.
  public let reason: String?
  /// What the daemon of the container's view is told.
  let seal: ViewConfiguration.Seal
}

extension Container {
  /// The state of the bundle's seal; reads the table, not the bundle.
  public func sealStatus() -> SealStatus {
    let digest = record.tableDigest
    if record.bundleName.isEmpty {
      return SealStatus(state: record.sealState, reason: nil, seal: .absent)
    }
    if digest.isEmpty && record.authenticator.isEmpty && record.sealState == .unsigned {
      // Or somebody has taken the seal away: there is no way to know, so nothing of it is served.
      return SealStatus(
        state: .unsigned, reason: "it has no seal, as an older version installed it", seal: .broken)
    }
    if let reason = reasonToDistrust() {
      return SealStatus(state: .modified, reason: reason, seal: .broken)
    }
    let found = foundDifference()
    return SealStatus(
      state: found == nil ? record.sealState : .modified, reason: found,
      seal: .table(digest: digest, isModified: found != nil))
  }

  /// Why the record or the table are not what this host made; nil if they are.
  private func reasonToDistrust() -> String? {
    let file = StoreKey(of: store.location)
    do throws(StoreError) {
      guard let key = try file.read() else {
        return "\(file.path.printable), by which this host knows its seals, is not there"
      }
      let code = Authentication.code(for: record.sealedMessage, key: key)
      guard Authentication.areEqual(code, record.authenticator) else {
        return "its record was not written by this host, or was changed"
      }
    } catch {
      return error.message
    }
    guard let table = try? readTable() else { return "the table of its chunks can't be read" }
    let isSame = SHA256.digest(of: table) == record.tableDigest
    return isSame ? nil : "the table of its chunks was changed"
  }

  /// The bytes of the table.
  private func readTable() throws(Errno) -> [UInt8] {
    try directory.enter(ContainerLayout.seal.utf8).openRegularFile(ContainerLayout.chunks.utf8)
      .readToEnd(atMost: ChunkTable.maximumByteCount)
  }

  /// The first difference that a daemon has found; nil if none was.
  private func foundDifference() -> String? {
    do throws(Errno) {
      let text = try directory.enter(ContainerLayout.seal.utf8).openRegularFile(
        ContainerLayout.modified.utf8
      ).readToEnd(atMost: 1 << 20)
      let line = text.split(separator: UInt8(ascii: "\n")).first ?? []
      return line.isEmpty ? "something in it has changed" : line.printable
    } catch {
      return error == .noEntry ? nil : "what was found to have changed can't be read"
    }
  }

  /// What one should know before one uses a bundle that is not what was installed; nil if it is.
  public func sealWarning() -> String? {
    complaint(about: sealStatus()).map { "\($0); only what is as it was installed is served" }
  }

  private func complaint(about status: SealStatus) -> String? {
    guard let reason = status.reason else { return nil }
    if status.state == .unsigned { return "\(identifier) can't be verified: \(reason)" }
    return "\(identifier) was modified since it was installed: \(reason)"
  }

  /// What the seal must be worth for the app to be launched: by the record or by the host.
  public func requirement() throws(StoreError) -> SealRequirement {
    max(record.requirement, try store.requirement())
  }

  /// Throws, in one line, why the app can't be launched as it is.
  ///
  /// Looks at the state and the executable, and so takes as long for a large bundle as for a small
  /// one.
  public func requireLaunchable() throws(StoreError) {
    if record.bundleName.isEmpty { return }
    let status = sealStatus()
    if let complaint = complaint(about: status) {
      throw StoreError(.failed, "\(complaint); install it again")
    }
    let requirement = try requirement()
    guard requirement.accepts(status.state) else {
      throw StoreError(
        .failed,
        "\(identifier) is \(status.state.rawValue), and \(requirement.rawValue) is required here: "
          + "install it again once it is, or with another --require")
    }
    if let difference = differenceOfExecutable() {
      throw StoreError(
        .failed,
        "\(identifier) was modified since it was installed: \(difference); install it again")
    }
  }

  /// How the executable obviously differs from the table; nil if it does not.
  private func differenceOfExecutable() -> String? {
    let name = (record.bundleName + [UInt8(ascii: "/")] + record.executable).printable
    guard let bytes = try? readTable(), let table = ChunkTable(checking: bytes.span),
      let index = table.resolve(path: record.executable, in: bytes.span)
    else { return "\(name) is not sealed" }
    let entry = table.entry(index, in: bytes.span)
    let names = table.path(of: index, in: bytes.span).split(separator: UInt8(ascii: "/"))
      .map(Array.init)
    guard let last = names.last,
      let status = try? directory.enter(
        path: [Array(ContainerLayout.bundle.utf8), record.bundleName] + names.dropLast()
      ).status(of: last)
    else { return "\(name) is missing" }
    guard entry.kind == .file, status.kind == .regular, status.byteCount == entry.size else {
      return "\(name) has changed"
    }
    return nil
  }
}
