// Other data for a container: it is made whole beside the old data, and then takes its place in one
// step. What fails before that changes nothing.
internal import Containers
public import LinuxKit
public import Paths

/// The data of a container, and what is to take its place.
public struct DataReplacement: ~Copyable {
  /// The container.
  public let container: Container
  /// The data as it is.
  public let old: Walker
  /// What will be the data: the structural entries, and what is added to them.
  public let new: Walker
}

extension Store {
  /// Runs `body`, which fills in other data for a container; then that is its data.
  ///
  /// Nobody can mount the container meanwhile. Throws `inUse` if it is mounted. If `body` throws,
  /// the data is what it was.
  public func replaceData<Result>(
    of identifier: BundleIdentifier,
    by body: (borrowing DataReplacement) throws -> Result
  ) throws -> Result {
    _ = try preparedContainer(identifier)
    return try changing { () throws(StoreError) -> Swift.Result<Result, any Error> in
      let container = try self.container(identifier)
      let lock = try container.lockAgainstMounting()
      defer { _ = lock }
      return try withStaging { staging throws(StoreError) in
        let replacement = try prepare(container, in: staging)
        let result = Swift.Result { try body(replacement) }
        if case .success = result { try commitData(of: container, from: staging) }
        return result
      }
    }.get()
  }

  func prepare(
    _ container: Container, in staging: borrowing Walker
  ) throws(StoreError) -> DataReplacement {
    let staged = try saying("preparing the data of \(container.identifier)") { () throws(Errno) in
      try staging.createDirectory(Self.stagedContainer.utf8, mode: 0o700)
    }
    let record = container.record
    let skeleton = Skeleton(owner: Owner(uid: record.ownerUID, gid: record.ownerGID))
    try skeleton.ensure(in: staged)
    if !record.bundleName.isEmpty { try skeleton.ensurePlace(for: record.bundleName, in: staged) }
    return DataReplacement(
      container: container, old: try Skeleton.data(of: container.directory),
      new: try Skeleton.data(of: staged))
  }

  private func commitData(
    of container: Container, from staging: borrowing Walker
  ) throws(StoreError) {
    let record = container.record
    let staged = try saying("replacing the data of \(container.identifier)") { () throws(Errno) in
      try staging.enter(Self.stagedContainer.utf8)
    }
    try Skeleton(owner: Owner(uid: record.ownerUID, gid: record.ownerGID)).tagCaches(in: staged)
    try saying("replacing the data of \(container.identifier)") { () throws(Errno) in
      try staging.synchronizeFileSystem()
      let name = ContainerLayout.data.utf8
      try staged.rename(name, to: container.directory, as: name, .exchanging)
      try container.directory.synchronize()
    }
  }
}
