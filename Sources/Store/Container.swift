// A container of a store, opened: its directory is held, and its record was read.
public import Containers
public import LinuxKit
public import Paths
public import Policy
internal import PropertyLists

/// Everything that belongs to one app, in a store.
public final class Container: Sendable {
  /// Its key.
  public let identifier: BundleIdentifier
  /// The store that it is in.
  public let store: Store
  /// Its directory, open for reading.
  public let directory: Walker
  /// What `container.plist` said when it was opened.
  public let record: ContainerRecord
  private let bundleInode: UInt64?
  private let directoryInode: UInt64?
  private let ownProfileVersion: FileVersion?

  init(
    _ identifier: BundleIdentifier, of store: Store, in directory: consuming Walker
  ) throws(StoreError) {
    let path = "\(store.containerPath(identifier))/\(ContainerLayout.record)"
    let record = try Self.readRecord(in: directory, path)
    guard record.identifier == identifier else {
      throw StoreError(.failed, "\(path): it is the record of \(record.identifier)")
    }
    self.identifier = identifier
    self.store = store
    bundleInode = try? directory.status(of: ContainerLayout.bundle.utf8).identity.inode
    directoryInode = try? directory.status().identity.inode
    ownProfileVersion = (try? directory.status(of: ContainerLayout.profile.utf8)).map(
      FileVersion.init)
    self.directory = directory
    self.record = record
  }

  /// Opens a container by the path of its directory, `…/containers/IDENTIFIER` in a store.
  public static func open(
    path: [UInt8], location: StoreLocation
  ) throws(StoreError) -> Container {
    let canonical = try saying(path.printable) { () throws(Errno) in try canonicalPath(path) }
    let names = canonical.split(separator: UInt8(ascii: "/"))
    guard let last = names.last, let identifier = BundleIdentifier(bytes: Array(last)),
      names.dropLast().last?.elementsEqual(Store.containersName.utf8) == true
    else {
      throw StoreError(
        .usage, "\(path.printable) is not a container: those are STORE/containers/IDENTIFIER")
    }
    var location = location
    location.store = names.dropLast(2).flatMap { [UInt8(ascii: "/")] + $0 }
    return try Store.open(location).container(identifier)
  }

  /// The canonical path of its directory.
  public var path: [UInt8] {
    store.path + Array("/\(Store.containersName)/\(identifier)".utf8)
  }

  /// Whether a daemon serves it now.
  public var isMounted: Bool {
    (try? UnixConnection(
      to: ContainerLayout.control, in: directory.descriptor, milliseconds: 1_000)) != nil
  }

  /// What the daemon of its view is started with.
  ///
  /// Throws if a profile can't be read; what is in it is for the daemon to judge.
  public func viewConfiguration(
    target: [UInt8], source: [UInt8], transport: ViewConfiguration.Transport, mountFlags: UInt64
  ) throws(StoreError) -> ViewConfiguration {
    var configuration = ViewConfiguration(
      identifier: identifier.bytes, ownerUID: record.ownerUID, ownerGID: record.ownerGID,
      bundleName: record.bundleName, inodeKey: (record.inodeKey[0], record.inodeKey[1]),
      layers: try Profiles(settings: store.location.settings).layers(of: self),
      transport: transport, target: target, source: source, mountFlags: mountFlags,
      seal: sealStatus().seal, pressure: try pressure())
    configuration.limits = record.limits
    return configuration
  }

  /// When its daemon has the store purged; nil for never.
  private func pressure() throws(StoreError) -> ViewConfiguration.Pressure? {
    let whole = try saying(store.path.printable) { () throws(Errno) in
      try store.directory.descriptor.space().byteCount
    }
    let marks = try Settings(store.location).purgeMarks(of: whole)
    guard marks.low > 0 else { return nil }
    return ViewConfiguration.Pressure(
      lowByteCount: marks.low, highByteCount: marks.high, store: store.path,
      settings: store.location.chosenSettings ?? [])
  }

  /// Whether record, bundle and own rules are still those that it was opened with.
  ///
  /// Once the container's daemon holds its lock, record and bundle can't change any more, and who
  /// changes the rules tells the daemon; so who starts one asks afterwards, and starts anew if a
  /// change came between.
  public func isCurrent() -> Bool {
    guard let now = try? store.containerIfPresent(identifier) else { return false }
    return now.record == record && now.bundleInode == bundleInode
      && now.directoryInode == directoryInode && now.ownProfileVersion == ownProfileVersion
  }

  // MARK: What is in it

  /// The bundle's own rules; nil if it has none.
  func bundleProfile() throws(StoreError) -> [UInt8]? {
    if record.bundleName.isEmpty { return nil }
    let bundle = try saying("the bundle of \(identifier)") { () throws(Errno) in
      try directory.enter(path: [Array(ContainerLayout.bundle.utf8), record.bundleName])
    }
    return try Profiles.read(
      BundleContents.profileName, in: bundle,
      as: "\(record.bundleName.printable)/\(BundleContents.profileName)")
  }

  /// The container's own rules; nil if it has none.
  func ownProfile() throws(StoreError) -> [UInt8]? {
    try Profiles.read(
      ContainerLayout.profile, in: directory, as: "the profile of \(identifier)")
  }

  /// The lock of whoever serves the container, so that nobody can.
  ///
  /// Throws `inUse` if somebody does.
  func lockAgainstMounting() throws(StoreError) -> Descriptor {
    try Self.lockAgainstMounting(directory, identifier, store.containerPath(identifier))
  }

  /// The same, for a container whose record may be broken.
  static func lockAgainstMounting(
    _ directory: borrowing Walker, _ identifier: BundleIdentifier, _ path: String
  ) throws(StoreError) -> Descriptor {
    let shown = "\(path)/\(ContainerLayout.lock)"
    let file = try saying(shown) { () throws(Errno) in
      try directory.openOrCreateFile(ContainerLayout.lock.utf8, mode: 0o600)
    }
    let isFree = try saying(shown) { () throws(Errno) in try file.tryLock(.exclusive) }
    guard isFree else { throw StoreError(.inUse, "\(identifier) is in use: unmount it first") }
    return file
  }

  /// The layers that hold with other rules of its own, or with none.
  ///
  /// `name` is what mistakes in these rules are told by.
  public func layers(
    withOwnProfile text: [UInt8]?, called name: [UInt8]
  ) throws(StoreError) -> [ProfileSource] {
    try Profiles(settings: store.location.settings).layers(
      of: self, own: text.map { ProfileSource(rank: .container, name: name, text: $0) })
  }

  // MARK: The record

  private static let maximumRecordByteCount = 1 << 20

  static func readRecord(
    in directory: borrowing Walker, _ path: String
  ) throws(StoreError) -> ContainerRecord {
    let bytes = try saying(path) { () throws(Errno) in
      try directory.openRegularFile(ContainerLayout.record.utf8).readToEnd(
        atMost: maximumRecordByteCount)
    }
    do throws(RecordError) {
      return try ContainerRecord(bytes: bytes)
    } catch {
      throw StoreError(.failed, "\(path) is broken: \(error.reason)")
    }
  }

  /// Writes a record into a container's directory, whole or not at all.
  static func write(
    _ record: ContainerRecord, into directory: borrowing Walker
  ) throws(StoreError) {
    let bytes: [UInt8]
    do throws(PropertyListFile.Malformed) {
      bytes = try PropertyListFile.xml(record.propertyList)
    } catch {
      throw StoreError(.failed, "writing the record of \(record.identifier): \(error.reason)")
    }
    try saying("writing the record of \(record.identifier)") { () throws(Errno) in
      try directory.replaceFile(ContainerLayout.record.utf8, contents: bytes, mode: 0o600)
    }
  }
}

/// Which contents a file that is only ever replaced has: numbers of inodes are used again.
private struct FileVersion: Equatable {
  let inode: UInt64
  let bornNanoseconds: Int64

  init(_ status: FileStatus) {
    inode = status.identity.inode
    bornNanoseconds = status.bornNanoseconds
  }
}
