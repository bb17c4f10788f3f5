// A whole container from one file: whole or not at all, and never in the place of one that is
// there.
internal import Containers
public import LinuxKit
public import Paths
internal import Policy

/// How a container is imported.
public struct ImportOptions: Equatable, Sendable {
  /// The user of the host that owns the container; nil for one of its own.
  public var owner: [UInt8]?
  /// Whose the data becomes, without the bundle; nil for the app's that the file names.
  public var identifier: BundleIdentifier?
  /// Whether rules of its own that the file holds become the container's.
  public var takesRules = false

  /// Nothing out of the ordinary.
  public init() {}
}

/// What was imported.
public struct ImportReport: Equatable, Sendable {
  /// The container's key.
  public var identifier: BundleIdentifier
  /// How many entries came.
  public var entryCount: Int
  /// How many bytes of files.
  public var byteCount: Int64
  /// What was left out or changed for safety, a line each.
  public var remarks: [String]
}

extension Store {
  /// Makes the container that an open file or pipe holds, as `ContainerExport` has written it.
  ///
  /// Its bundle is judged as one that is installed. Throws if the app is there already.
  public func importContainer(
    from file: borrowing Descriptor, shownAs shown: String, _ options: ImportOptions,
    progress: @escaping ContainerExport.Progress
  ) throws(StoreError) -> ImportReport {
    try changing { () throws(StoreError) in
      try withStaging { staging throws(StoreError) in
        try importContainer(file, shown, options, by: staging, progress)
      }
    }
  }

  private func importContainer(
    _ file: borrowing Descriptor, _ shown: String, _ options: ImportOptions,
    by staging: borrowing Walker, _ progress: @escaping ContainerExport.Progress
  ) throws(StoreError) -> ImportReport {
    let staged = try saying("preparing the import") { () throws(Errno) in
      let staged = try staging.createDirectory(Self.stagedContainer.utf8, mode: 0o700)
      _ = try staged.createDirectory(ContainerLayout.bundle.utf8, mode: BundleWriter.directoryMode)
      _ = try staged.createDirectory(ContainerLayout.data.utf8, mode: 0o755)
      return staged
    }
    var archived = try ContainerArchive.unpack(
      file, shownAs: shown, into: staged, takesBundle: options.identifier == nil,
      progress: progress)
    if let other = options.identifier { archived.record = archived.record.data(of: other) }
    let identifier = archived.record.identifier
    guard try containerIfPresent(identifier) == nil else {
      throw StoreError(
        .failed, "\(identifier) is installed already: uninstall it first, or restore a backup")
    }
    try takeRules(&archived, shown, options, into: staged)
    if archived.record.bundleName.isEmpty {
      try establishData(archived.record, options, in: staged, by: staging)
    } else {
      try establishBundle(&archived, shown, options, in: staged, by: staging)
    }
    return ImportReport(
      identifier: identifier, entryCount: archived.entryCount, byteCount: archived.byteCount,
      remarks: archived.remarks)
  }

  /// Rules of its own loosen what the shipped ones say: whoever imports decides on them.
  private func takeRules(
    _ archived: inout ArchivedContainer, _ shown: String, _ options: ImportOptions,
    into staged: borrowing Walker
  ) throws(StoreError) {
    guard let rules = archived.rules else { return }
    guard options.takesRules else {
      archived.remarks.append("its own rules are left out: --rules takes them")
      return
    }
    let source = ProfileSource(
      rank: .container, name: Array("\(shown)/profile".utf8), text: rules)
    let library = try Profiles(settings: location.settings).library()
    do throws(ProfileErrors) {
      _ = try PolicyEngine(
        layers: [ShippedProfiles.standard, source] + library,
        bundleName: archived.record.bundleName)
    } catch {
      throw StoreError(.failed, error.errors.first?.description ?? "\(shown): its rules are broken")
    }
    try saying("writing its rules") { () throws(Errno) in
      try staged.replaceFile(ContainerLayout.profile.utf8, contents: rules, mode: 0o600)
    }
  }

  private func establishBundle(
    _ archived: inout ArchivedContainer, _ shown: String, _ options: ImportOptions,
    in staged: borrowing Walker, by staging: borrowing Walker
  ) throws(StoreError) {
    let name = archived.record.bundleName
    let bundle = try saying("the bundle of \(shown)") { () throws(Errno) in
      try staged.enter(path: [Array(ContainerLayout.bundle.utf8), name])
    }
    try LinkCheck.refuseLinksThatLeave(bundle, called: name)
    let information = try BundleInformation(of: bundle, called: name)
    guard information.identifier == archived.record.identifier else {
      throw StoreError(
        .failed,
        "\(shown): its record says \(archived.record.identifier), and its bundle is "
          + "\(information.identifier)")
    }
    let report = try establish(
      StagedBundle(name: name), in: staged,
      InstallOptions(
        owner: options.owner, profileName: archived.record.profileName,
        requirement: archived.record.requirement), by: staging)
    archived.remarks += report.warnings
  }

  private func establishData(
    _ portable: ContainerRecord, _ options: ImportOptions, in staged: borrowing Walker,
    by staging: borrowing Walker
  ) throws(StoreError) {
    let owner = try owner(
      of: portable.identifier, nil, InstallOptions(owner: options.owner), staged)
    _ = try Profiles(settings: location.settings).shipped(named: portable.profileName)
    var record = portable
    (record.ownerUID, record.ownerGID) = (owner.uid, owner.gid)
    record.inodeKey = [.random(in: 0...UInt64.max), .random(in: 0...UInt64.max)]
    record.sealState = .dataOnly
    try Container.write(record, into: staged)
    try complete(staged, record)
    try commitNew(record.identifier, from: staging)
  }
}

extension ContainerRecord {
  /// The record of another app that gets the data of this one, without its bundle.
  fileprivate func data(of other: BundleIdentifier) -> ContainerRecord {
    ContainerRecord(
      identifier: other, ownerUID: ownerUID, ownerGID: ownerGID, bundleName: [], executable: [],
      displayName: "\(other)", version: "", sealState: .dataOnly, profileName: profileName,
      inodeKey: inodeKey, installedSeconds: installedSeconds, updatedSeconds: updatedSeconds)
  }
}
