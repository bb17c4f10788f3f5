// The way from "being made" to "is there", in steps that a crash can't split.
//
// A new container is made whole in `staging/N/container` and moved to its place by one rename. An
// update of one that is there is made whole in the same place; then `staging/N/update` is written,
// which is the point of no return: whoever has the store next finishes what it says.
internal import Containers
internal import LinuxKit
internal import Paths

extension Store {
  static let stagedContainer = "container"
  private static let updateNote = "update"

  /// Runs `body` with a directory in which things are made, which is removed at the end.
  func withStaging<Result>(
    _ body: (borrowing Walker) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let name = Array(String(UInt64.random(in: 0...UInt64.max), radix: 36).utf8)
    let place = "\(path.printable)/\(Self.stagingName)"
    let all = try saying(place) { () throws(Errno) in
      try directory.enterOrCreate(Self.stagingName.utf8, mode: 0o700)
    }
    let staging = try saying(place) { () throws(Errno) in
      try all.createDirectory(name, mode: 0o700)
    }
    // What can't be removed now is removed by whoever comes next.
    defer { try? all.removeTree(name) }
    return try body(staging)
  }

  /// Clears away, or finishes, what others left.
  ///
  /// Only for who holds the lock.
  func recover() throws(StoreError) {
    sweepThrowAways()
    let place = "\(path.printable)/\(Self.stagingName)"
    let all = try allowing([.noEntry], place) { () throws(Errno) in
      try directory.enter(Self.stagingName.utf8)
    }
    guard let all else { return }
    let entries = try saying(place) { () throws(Errno) in try all.entries() }
    for entry in entries {
      if entry.kind == .directory {
        let staging = try saying(place) { () throws(Errno) in try all.enter(entry.name) }
        try finishUpdate(noted: staging)
      }
      try saying("clearing \(place)") { () throws(Errno) in try all.removeTree(entry.name) }
    }
  }

  // MARK: A new container

  /// Moves a container that is whole to its place.
  func commitNew(_ identifier: BundleIdentifier, from staging: borrowing Walker) throws(StoreError)
  {
    let containers = try containersDirectory()
    do throws(Errno) {
      try staging.synchronizeFileSystem()
      try staging.rename(
        Self.stagedContainer.utf8, to: containers, as: identifier.bytes, .exclusive)
      try containers.synchronize()
    } catch {
      if error == .crossDevice {
        throw StoreError(
          .failed,
          "\(path.printable)/\(Self.containersName) is another file system: mount the whole store "
            + "there instead")
      }
      throw StoreError(containerPath(identifier), error)
    }
  }

  // MARK: An update

  /// Puts the staged bundle and record in the place of a container's.
  func commitUpdate(
    of container: Container, from staging: borrowing Walker
  ) throws(StoreError) {
    let staged = try saying("updating \(container.identifier)") { () throws(Errno) in
      try staging.enter(Self.stagedContainer.utf8)
    }
    try noteUpdate(of: container.identifier, to: staged, in: staging)
    try finishUpdate(noted: staging)
  }

  /// Writes that a container is to become what `staged` holds, once that is on disk.
  func noteUpdate(
    of identifier: BundleIdentifier, to staged: borrowing Walker, in staging: borrowing Walker
  ) throws(StoreError) {
    try saying("updating \(identifier)") { () throws(Errno) in
      let bundle = try staged.status(of: ContainerLayout.bundle.utf8).identity.inode
      let seal = try staged.status(of: ContainerLayout.seal.utf8).identity.inode
      try staging.synchronizeFileSystem()
      let note = "\(identifier) \(bundle) \(seal)"
      try staging.replaceFile(Self.updateNote.utf8, contents: Array(note.utf8), mode: 0o600)
    }
  }

  /// Does the steps that follow the point of no return, each of which may be done already.
  func finishUpdate(noted staging: borrowing Walker) throws(StoreError) {
    guard let (identifier, inodes) = readNote(in: staging) else { return }
    // Without both there is nothing left to finish.
    let shown = containerPath(identifier)
    let container = try allowing([.noEntry], shown) { () throws(Errno) in
      try directory.enter(path: [Array(Self.containersName.utf8), identifier.bytes])
    }
    let staged = try allowing([.noEntry], shown) { () throws(Errno) in
      try staging.enter(Self.stagedContainer.utf8)
    }
    guard let container, let staged else { return }
    for (name, inode) in zip([ContainerLayout.bundle, ContainerLayout.seal], inodes) {
      try exchange(name, inode, of: container, with: staged, identifier)
    }
    guard let new = try recordIfPresent(identifier, in: staged) else { return }
    let old = try recordIfPresent(identifier, in: container)
    if let old, !old.bundleName.isEmpty, old.bundleName != new.bundleName {
      try Skeleton.removePlace(of: old.bundleName, in: container)
    }
    if !new.bundleName.isEmpty {
      try Skeleton(owner: Owner(uid: new.ownerUID, gid: new.ownerGID)).ensurePlace(
        for: new.bundleName, in: container)
    }
    // A version that waited is older than this one.
    try allowing([.noEntry], shown) { () throws(Errno) in
      try container.removeTree(ContainerLayout.next.utf8)
    }
    try saying("updating \(identifier)") { () throws(Errno) in
      try staged.rename(
        ContainerLayout.record.utf8, to: container, as: ContainerLayout.record.utf8, .replacing)
      try container.synchronize()
    }
  }

  /// What is updated, and the numbers of its new bundle and of the new seal, if that has one.
  private func readNote(in staging: borrowing Walker) -> (BundleIdentifier, inodes: [UInt64])? {
    guard
      let bytes = try? staging.openRegularFile(Self.updateNote.utf8).readToEnd(atMost: 4096)
    else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    let inodes = words.dropFirst().compactMap { UInt64($0) }
    guard (2...3).contains(words.count), inodes.count == words.count - 1,
      let identifier = BundleIdentifier(String(words[0]))
    else { return nil }
    return (identifier, inodes)
  }

  private func exchange(
    _ name: String, _ inode: UInt64, of container: borrowing Walker,
    with staged: borrowing Walker, _ identifier: BundleIdentifier
  ) throws(StoreError) {
    let name = name.utf8
    do throws(Errno) {
      if try container.status(of: name).identity.inode == inode { return }
      try staged.rename(name, to: container, as: name, .exchanging)
    } catch {
      guard error == .noEntry else { throw StoreError("updating \(identifier)", error) }
      try saying("updating \(identifier)") { () throws(Errno) in
        try staged.rename(name, to: container, as: name, .exclusive)
      }
    }
    try saying("updating \(identifier)") { () throws(Errno) in try container.synchronize() }
  }

  private func recordIfPresent(
    _ identifier: BundleIdentifier, in directory: borrowing Walker
  ) throws(StoreError) -> ContainerRecord? {
    do throws(Errno) {
      _ = try directory.status(of: ContainerLayout.record.utf8)
    } catch {
      if error == .noEntry { return nil }
      throw StoreError(containerPath(identifier), error)
    }
    return try Container.readRecord(in: directory, containerPath(identifier))
  }
}
