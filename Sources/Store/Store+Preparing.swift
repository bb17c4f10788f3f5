// Before a container is mounted: a store that was copied in gets uids of this host, and what always
// exists is there.
internal import Containers
internal import LinuxKit
public import Paths

extension Store {
  /// The container of an app, ready to be mounted.
  ///
  /// In a store of root's its uid is one that this host gave to it and to nobody else: a container
  /// that was copied in is adopted, and all in it given to a new uid. A version that waits takes
  /// the bundle's place unless it is mounted. Throws `notFound` if there is none, `inUse` if it
  /// should be changed and is mounted.
  public func preparedContainer(_ identifier: BundleIdentifier) throws(StoreError) -> Container {
    let found = try container(identifier)
    if try isPrepared(found), try !canTakeUpNextVersion(found) { return found }
    return try changing { () throws(StoreError) in
      let container = try container(identifier)
      if try !isPrepared(container) { try prepare(container) }
      return try takingUpNextVersion(of: try self.container(identifier))
    }
  }

  private func prepare(_ container: Container) throws(StoreError) {
    let lock = try container.lockAgainstMounting()
    let owner = try ownerAfterAdoption(of: container)
    let skeleton = Skeleton(owner: owner)
    try skeleton.ensure(in: container.directory)
    try skeleton.tagCaches(in: container.directory)
    if !container.record.bundleName.isEmpty {
      try skeleton.ensurePlace(for: container.record.bundleName, in: container.directory)
    }
    try adopt(container, by: owner)
    _ = lock
  }

  private func isPrepared(_ container: Container) throws(StoreError) -> Bool {
    let owner = Owner(uid: container.record.ownerUID, gid: container.record.ownerGID)
    guard try Skeleton(owner: owner).isWhole(in: container.directory, container.record.bundleName)
    else { return false }
    guard let register = uidRegister, register.governs(owner.uid) else {
      try refuseStranger(owner, of: container)
      return true
    }
    return try register.has(owner.uid, for: holder(of: container))
  }

  /// A record from elsewhere may name anyone.
  private func refuseStranger(_ owner: Owner, of container: Container) throws(StoreError) {
    let caller = effectiveUID()
    let isAcceptable = isPrivileged() ? owner.uid != 0 : owner.uid == caller
    guard isAcceptable else {
      throw StoreError(
        .failed,
        "\(container.identifier) belongs to uid \(owner.uid), which can't be right here: its "
          + "record comes from another host")
    }
  }

  private func holder(of container: Container) throws(StoreError) -> UIDRegister.Holder {
    try saying(containerPath(container.identifier)) { () throws(Errno) in
      try UIDRegister.Holder(container.identifier, in: container.directory)
    }
  }

  private func ownerAfterAdoption(of container: Container) throws(StoreError) -> Owner {
    let owner = Owner(uid: container.record.ownerUID, gid: container.record.ownerGID)
    guard let register = uidRegister, register.governs(owner.uid) else { return owner }
    let holder = try holder(of: container)
    if try register.has(owner.uid, for: holder) { return owner }
    let uid = try register.allocate(for: holder)
    return Owner(uid: uid, gid: uid)
  }

  /// Gives everything to the new owner, and then says so: a crash before that only does it again.
  private func adopt(_ container: Container, by owner: Owner) throws(StoreError) {
    var record = container.record
    guard owner != Owner(uid: record.ownerUID, gid: record.ownerGID) else { return }
    let data = try Skeleton.data(of: container.directory)
    try saying("giving \(container.identifier) to uid \(owner.uid)") { () throws(Errno) in
      try data.descriptor.setOwner(uid: owner.uid, gid: owner.gid)
      try data.setOwnerOfContents(uid: owner.uid, gid: owner.gid)
      let bundles = try container.directory.enter(ContainerLayout.bundle.utf8)
      try bundles.setOwnerOfContents(uid: owner.uid, gid: owner.gid)
    }
    record.ownerUID = owner.uid
    record.ownerGID = owner.gid
    // They are about another host's files.
    record.grants = []
    record.allowances = []
    try Container.write(record, into: container.directory)
  }
}
