// A version that waits: installed beside a container that is mounted, it takes the bundle's place
// before the next mount.
//
// It lies whole in the container's own `next`: bundle, seal and a record of which only what tells
// of the bundle counts, since the rest may change until then.
internal import Containers
internal import LinuxKit

extension Container {
  /// The version that waits for the next mount, as people see it; nil if none does.
  public func nextVersion() throws(StoreError) -> String? {
    try hasNextVersion ? nextRecord().version : nil
  }

  var hasNextVersion: Bool {
    (try? directory.status(of: ContainerLayout.next.utf8)) != nil
  }

  fileprivate func nextRecord() throws(StoreError) -> ContainerRecord {
    let path = "\(store.containerPath(identifier))/\(ContainerLayout.next)"
    let next = try saying(path) { () throws(Errno) in
      try directory.enter(ContainerLayout.next.utf8)
    }
    return try Container.readRecord(in: next, "\(path)/\(ContainerLayout.record)")
  }
}

extension ContainerRecord {
  /// The record of the same container with the bundle that another one tells of.
  fileprivate func withBundle(of other: ContainerRecord) -> ContainerRecord {
    var record = self
    record.bundleName = other.bundleName
    record.executable = other.executable
    record.displayName = other.displayName
    record.version = other.version
    record.sealState = other.sealState
    record.tableDigest = other.tableDigest
    record.authenticator = other.authenticator
    record.requirement = other.requirement
    record.updatedSeconds = currentSeconds()
    return record
  }
}

extension Store {
  /// Leaves what was staged for the next mount of a container, in the place of what waits there.
  func leaveWaiting(
    for container: Container, from staging: borrowing Walker
  ) throws(StoreError) {
    try saying("leaving the new version of \(container.identifier)") { () throws(Errno) in
      try staging.synchronizeFileSystem()
      try staging.rename(
        Self.stagedContainer.utf8, to: container.directory, as: ContainerLayout.next.utf8,
        container.hasNextVersion ? .exchanging : .exclusive)
      try container.directory.synchronize()
    }
  }

  /// Whether a version waits that could take its place now.
  func canTakeUpNextVersion(_ container: Container) throws(StoreError) -> Bool {
    if !container.hasNextVersion { return false }
    return try container.lockIfUnmounted() != nil
  }

  /// The container with the version that waited for it, unless it is mounted still.
  func takingUpNextVersion(of container: Container) throws(StoreError) -> Container {
    guard container.hasNextVersion, let lock = try container.lockIfUnmounted() else {
      return container
    }
    defer { _ = lock }
    try withStaging { staging throws(StoreError) in
      try takeUpNextVersion(of: container, by: staging)
    }
    return try self.container(container.identifier)
  }

  private func takeUpNextVersion(
    of container: Container, by staging: borrowing Walker
  ) throws(StoreError) {
    let record = container.record.withBundle(of: try container.nextRecord())
    let data = try Skeleton.data(of: container.directory)
    try refuseEntryInTheWay(of: record.bundleName, container, in: data)
    let next = try saying("updating \(container.identifier)") { () throws(Errno) in
      try container.directory.enter(ContainerLayout.next.utf8)
    }
    let bundles = try saying("updating \(container.identifier)") { () throws(Errno) in
      try next.enter(ContainerLayout.bundle.utf8)
    }
    // A store that was copied in has given its containers to other users since.
    try giveAway(bundles, to: Owner(uid: record.ownerUID, gid: record.ownerGID))
    try Container.write(record, into: next)
    // Without what it tells of, the note means nothing: the version goes on waiting.
    try noteUpdate(of: container.identifier, to: next, in: staging)
    try saying("updating \(container.identifier)") { () throws(Errno) in
      try container.directory.rename(
        ContainerLayout.next.utf8, to: staging, as: Self.stagedContainer.utf8, .exclusive)
      try staging.synchronize()
    }
    try finishUpdate(noted: staging)
  }
}
