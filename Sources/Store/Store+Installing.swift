// Installing: from a bundle on the host to a container, or to a new bundle in one.
public import Containers
internal import LinuxKit
public import Paths
internal import Policy

/// How an app is installed.
public struct InstallOptions: Equatable, Sendable {
  /// The user of the host that owns the container; nil for one of its own.
  public var owner: [UInt8]?
  /// The profile that holds; nil for the one before, or `default`.
  public var profileName: String?
  /// What the seal must be worth, now and whenever it is launched; nil for what held before, or a
  /// seal by anyone.
  public var requirement: SealRequirement?
  /// Whether a new version of what is mounted waits for the next mount, rather than being refused.
  public var mayWait: Bool

  /// Nothing out of the ordinary.
  public init(
    owner: [UInt8]? = nil, profileName: String? = nil, requirement: SealRequirement? = nil,
    mayWait: Bool = false
  ) {
    self.owner = owner
    self.profileName = profileName
    self.requirement = requirement
    self.mayWait = mayWait
  }
}

/// A bundle that lies where containers are made.
struct StagedBundle {
  let name: [UInt8]
  /// What the installer should know, a line each.
  var warnings: [String] = []
  var notes: [String] = []
}

/// What was installed.
public struct InstallReport: Equatable, Sendable {
  /// The container's key.
  public var identifier: BundleIdentifier
  /// The name that people see.
  public var name: String
  /// The version that people see.
  public var version: String
  /// What the seal of the bundle is worth.
  public var sealState: ContainerRecord.SealState
  /// Who signed it.
  public var signers: [Signer]
  /// Whether the container was there before.
  public var isUpdate: Bool
  /// Whether it waits for the next mount.
  public var isWaiting = false
  /// What the installer should know, a line each.
  public var warnings: [String]
  /// What went as it should and may still be of interest, a line each.
  public var notes: [String]
}

extension Store {
  /// Installs a bundle's directory or an .ipa, into a new container or one that is there.
  ///
  /// It happens whole or not at all: whatever is thrown, the store is as it was before.
  public func install(
    from path: [UInt8], options: InstallOptions = InstallOptions()
  ) throws(StoreError) -> InstallReport {
    try changing { () throws(StoreError) in
      try withStaging { staging throws(StoreError) in
        try install(from: path, options, by: staging)
      }
    }
  }

  private func install(
    from path: [UInt8], _ options: InstallOptions, by staging: borrowing Walker
  ) throws(StoreError) -> InstallReport {
    let staged = try saying("preparing the install") { () throws(Errno) in
      try staging.createDirectory(Self.stagedContainer.utf8, mode: 0o700)
    }
    let bundles = try saying("preparing the install") { () throws(Errno) in
      try staged.createDirectory(ContainerLayout.bundle.utf8, mode: BundleWriter.directoryMode)
    }
    let (name, warnings, notes) = try BundleSource.bring(path, into: bundles)
    return try establish(
      StagedBundle(name: name, warnings: warnings, notes: notes), in: staged, options, by: staging)
  }

  /// Makes a container of a bundle that lies in `staged`, or another bundle of one that is there.
  func establish(
    _ bundle: StagedBundle, in staged: borrowing Walker, _ options: InstallOptions,
    by staging: borrowing Walker
  ) throws(StoreError) -> InstallReport {
    let name = bundle.name
    var warnings = bundle.warnings
    let notes = bundle.notes
    let bundles = try saying("preparing the install") { () throws(Errno) in
      try staged.enter(ContainerLayout.bundle.utf8)
    }
    let bundle = try saying(name.printable) { () throws(Errno) in try bundles.enter(name) }
    let information = try information(of: bundle, called: name, warnings)
    try checkProfile(of: bundle, called: name)

    let present = try containerIfPresent(information.identifier)
    let requirement = options.requirement ?? present?.record.requirement ?? .adHoc
    let seal = try judgeSeal(
      of: bundle, called: name, requiring: max(requirement, try self.requirement()))
    warnings += seal.warnings
    let lock = try lock(present, for: options)
    let isWaiting = lock == nil && present != nil
    let owner = try owner(of: information.identifier, present, options, staged)
    try giveAway(bundles, to: owner)
    var record = try record(of: information, name, owner, options, present)
    record.sealState = seal.state
    record.requirement = requirement
    record.limits = present?.record.limits ?? ContainerLimits()
    try BundleSeal.write(
      for: bundle, &record, into: staged, digests: seal.digests,
      key: try StoreKey(of: location).readOrCreate())
    try Container.write(record, into: staged)
    if let present {
      let data = try Skeleton.data(of: present.directory)
      try refuseEntryInTheWay(of: name, present, in: data)
      if isWaiting {
        try leaveWaiting(for: present, from: staging)
      } else {
        try commitUpdate(of: present, from: staging)
      }
    } else {
      try complete(staged, record)
      try commitNew(information.identifier, from: staging)
    }
    _ = lock
    return InstallReport(
      identifier: record.identifier, name: record.displayName, version: record.version,
      sealState: seal.state, signers: seal.signers, isUpdate: present != nil,
      isWaiting: isWaiting, warnings: warnings, notes: notes)
  }

  /// The lock of a container whose bundle is to be exchanged; nil if there is none yet, or if it is
  /// mounted and the new bundle may wait.
  private func lock(
    _ container: Container?, for options: InstallOptions
  ) throws(StoreError) -> Descriptor? {
    guard let container else { return nil }
    if let lock = try container.lockIfUnmounted() { return lock }
    guard options.mayWait else {
      throw StoreError(
        .inUse,
        "\(container.identifier) is mounted: unmount it first, or have the new version wait for "
          + "the next mount with --stage")
    }
    guard options.profileName == nil else {
      throw StoreError(
        .inUse, "\(container.identifier) is mounted, and --profile can't wait: unmount it first")
    }
    return nil
  }

  /// What a bundle says of itself.
  ///
  /// If that fails, what was left out may be why.
  private func information(
    of bundle: borrowing Walker, called name: [UInt8], _ warnings: [String]
  ) throws(StoreError) -> BundleInformation {
    do throws(StoreError) {
      return try BundleInformation(of: bundle, called: name)
    } catch {
      guard let warning = warnings.first else { throw error }
      throw StoreError(error.kind, "\(error.message) (\(warning))")
    }
  }

  /// Refuses a bundle whose own rules could not be kept later.
  private func checkProfile(
    of bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) {
    let label = "\(name.printable)/\(BundleContents.profileName)"
    guard let text = try Profiles.read(BundleContents.profileName, in: bundle, as: label) else {
      return
    }
    let source = ProfileSource(rank: .bundle, name: Array(label.utf8), text: text)
    let library = try Profiles(settings: location.settings).library()
    do throws(ProfileErrors) {
      _ = try PolicyEngine(layers: [ShippedProfiles.standard, source] + library, bundleName: name)
    } catch {
      throw StoreError(.failed, error.errors.first?.description ?? label)
    }
  }

  func refuseEntryInTheWay(
    of name: [UInt8], _ present: Container, in data: borrowing Walker
  ) throws(StoreError) {
    if name == present.record.bundleName { return }
    guard try Skeleton.isFree(name, in: data) else {
      throw StoreError(
        .failed,
        "\(present.identifier) has a file of its own called \(name.printable), where the bundle "
          + "goes: rename it, and install again")
    }
  }

  // MARK: The owner

  func owner(
    of identifier: BundleIdentifier, _ present: Container?, _ options: InstallOptions,
    _ staged: borrowing Walker
  ) throws(StoreError) -> Owner {
    let wanted = try Self.owner(named: options.owner)
    guard let register = uidRegister else {
      let caller = Owner(uid: effectiveUID(), gid: effectiveGID())
      guard wanted == nil || wanted == caller else {
        throw StoreError(.usage, "only root can give a container to another user")
      }
      return caller
    }
    if let present {
      let owner = Owner(uid: present.record.ownerUID, gid: present.record.ownerGID)
      guard wanted == nil || wanted == owner else {
        throw StoreError(
          .failed,
          "\(identifier) belongs to uid \(owner.uid) already: uninstall it first to change that")
      }
      return owner
    }
    if let wanted { return wanted }
    let holder = try saying("preparing the install") { () throws(Errno) in
      try UIDRegister.Holder(identifier, in: staged)
    }
    let uid = try register.allocate(for: holder)
    return Owner(uid: uid, gid: uid)
  }

  private static func owner(named name: [UInt8]?) throws(StoreError) -> Owner? {
    guard let name else { return nil }
    let account = try saying("looking up \(name.printable)") { () throws(Errno) in
      try HostAccount.named(name)
    }
    guard let account else {
      throw StoreError(.failed, "there is no user '\(name.printable)' on this host")
    }
    guard account.uid != 0 else {
      throw StoreError(.failed, "root can't own a container: name a user without its rights")
    }
    return Owner(uid: account.uid, gid: account.gid)
  }

  func giveAway(_ bundles: borrowing Walker, to owner: Owner) throws(StoreError) {
    guard isPrivileged() else { return }
    try saying("giving the bundle to uid \(owner.uid)") { () throws(Errno) in
      try bundles.setOwnerOfContents(uid: owner.uid, gid: owner.gid)
    }
  }

  // MARK: The container

  private func record(
    of information: BundleInformation, _ name: [UInt8], _ owner: Owner, _ options: InstallOptions,
    _ present: Container?
  ) throws(StoreError) -> ContainerRecord {
    let profile = options.profileName ?? present?.record.profileName ?? "default"
    guard Profiles.isName(profile) else {
      throw StoreError(.usage, "'\(Array(profile.utf8).printable)' is no name of a profile")
    }
    // One that is not there would keep every view of the container from being mounted.
    _ = try Profiles(settings: location.settings).shipped(named: profile)
    let now = currentSeconds()
    var record = ContainerRecord(
      identifier: information.identifier, ownerUID: owner.uid, ownerGID: owner.gid,
      bundleName: name, executable: information.executable,
      displayName: information.displayName, version: information.version, sealState: .adHoc,
      profileName: profile,
      inodeKey: present?.record.inodeKey
        ?? [.random(in: 0...UInt64.max), .random(in: 0...UInt64.max)],
      installedSeconds: present?.record.installedSeconds ?? now, updatedSeconds: now)
    record.grants = present?.record.grants ?? []
    record.allowances = present?.record.allowances ?? []
    return record
  }

  /// Makes what a new container has besides record and bundle.
  func complete(_ staged: borrowing Walker, _ record: ContainerRecord) throws(StoreError) {
    let skeleton = Skeleton(owner: Owner(uid: record.ownerUID, gid: record.ownerGID))
    try skeleton.ensure(in: staged)
    if isPrivileged() {
      // What was put there before is the app's too.
      try saying("giving the data to uid \(record.ownerUID)") { () throws(Errno) in
        let data = try staged.enter(ContainerLayout.data.utf8)
        try data.descriptor.setOwner(uid: record.ownerUID, gid: record.ownerGID)
        try data.setOwnerOfContents(uid: record.ownerUID, gid: record.ownerGID)
      }
    }
    try skeleton.tagCaches(in: staged)
    if !record.bundleName.isEmpty {
      try skeleton.ensurePlace(for: record.bundleName, in: staged)
    }
    try saying("preparing the install") { () throws(Errno) in
      _ = try staged.createFile(ContainerLayout.lock.utf8, mode: 0o600)
      _ = try staged.createDirectory(ContainerLayout.orphans.utf8, mode: 0o700)
    }
  }
}

/// Where a bundle comes from.
private enum BundleSource {
  /// Brings the bundle at `path` into `target`, and says its name and what one should know.
  static func bring(
    _ path: [UInt8], into target: borrowing Walker
  ) throws(StoreError) -> (name: [UInt8], warnings: [String], notes: [String]) {
    let canonical = try saying(path.printable) { () throws(Errno) in try canonicalPath(path) }
    let found = try saying(path.printable) { () throws(Errno) in
      try Descriptor.following(canonical)
    }
    let kind = try saying(path.printable) { () throws(Errno) in try found.status().kind }
    switch kind {
    case .directory:
      let name = Array(canonical.split(separator: UInt8(ascii: "/")).last ?? [])
      if let mistake = BundleName.mistake(in: name) {
        throw StoreError(.failed, "\(path.printable) is no app: \(mistake)")
      }
      let source = try saying(path.printable) { () throws(Errno) in
        Walker(try found.reopened(Opening.directory))
      }
      let (warnings, notes) = try BundleCopy.copy(source, as: name, into: target)
      return (name, warnings, notes)
    case .regular:
      let file = try saying(path.printable) { () throws(Errno) in
        try found.reopened(Opening.reading)
      }
      let (name, warnings) = try BundleArchive.unpack(file, at: path, into: target)
      return (name, warnings, [])
    default:
      throw StoreError(
        .failed, "\(path.printable) is a \(kind.words): install takes NAME.app or an .ipa")
    }
  }
}
