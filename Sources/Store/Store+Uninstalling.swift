// Uninstalling: the whole container, or all but its data.
internal import Containers
internal import LinuxKit
public import Paths

extension Store {
  /// Removes a container, or with `keepData` only its bundle.
  ///
  /// What is kept is *data only*, and a later install takes it up. It happens whole or not at all.
  public func uninstall(
    _ identifier: BundleIdentifier, keepData: Bool = false
  ) throws(StoreError) {
    try changing { () throws(StoreError) in
      try withStaging { staging throws(StoreError) in
        if keepData {
          try removeBundle(of: try container(identifier), by: staging)
        } else {
          try remove(identifier, by: staging)
        }
      }
    }
  }

  /// Moves the container out of the way, by which it is gone, and removes it then.
  ///
  /// Its record is not read: a broken one must not keep it here.
  private func remove(
    _ identifier: BundleIdentifier, by staging: borrowing Walker
  ) throws(StoreError) {
    let containers = try containersDirectory()
    let directory: Walker
    do throws(Errno) {
      directory = try containers.enter(identifier.bytes)
    } catch {
      guard error == .noEntry else { throw StoreError(containerPath(identifier), error) }
      throw StoreError(
        .notFound, "\(identifier) is not installed in \(path.printable): see 'sandboxfs list'")
    }
    let lock = try Container.lockAgainstMounting(
      directory, identifier, containerPath(identifier))
    // A mount inside would be found only half way through.
    try Skeleton.refuseMountPoint(in: directory)
    try saying(containerPath(identifier)) { () throws(Errno) in
      try containers.rename(
        identifier.bytes, to: staging, as: Self.stagedContainer.utf8, .exclusive)
      try containers.synchronize()
    }
    _ = lock
    try saying("removing what \(identifier) had") { () throws(Errno) in
      try staging.removeTree(Self.stagedContainer.utf8)
    }
  }

  private func removeBundle(
    of container: Container, by staging: borrowing Walker
  ) throws(StoreError) {
    let lock = try container.lockAgainstMounting()
    let staged = try saying("preparing the uninstall") { () throws(Errno) in
      let staged = try staging.createDirectory(Self.stagedContainer.utf8, mode: 0o700)
      _ = try staged.createDirectory(
        ContainerLayout.bundle.utf8, mode: BundleWriter.directoryMode)
      _ = try staged.createDirectory(ContainerLayout.seal.utf8, mode: 0o700)
      return staged
    }
    var record = container.record
    record.bundleName = []
    record.executable = []
    record.sealState = .dataOnly
    record.tableDigest = []
    record.authenticator = []
    // What is installed later may be another's app of the same name.
    record.grants = []
    record.allowances = []
    record.updatedSeconds = currentSeconds()
    try Container.write(record, into: staged)
    try commitUpdate(of: container, from: staging)
    _ = lock
  }
}
