// Containers for one run: each in a store of its own inside of the store, which goes with the run.
//
//     STORE/ephemeral/NUMBER/          a store
//     STORE/ephemeral/NUMBER/in-use    locked by the run
//
// The kernel gives the lock back when a run is killed, and whoever changes the store next removes
// what nobody has locked. Making one and looking for such takes the store's lock.
internal import Containers
internal import LinuxKit
internal import Paths

/// A container that is thrown away after its use.
public final class ThrowAway {
  /// The container.
  public let container: Container
  private let name: [UInt8]
  private let outer: Store
  private let use: Descriptor

  init(_ container: Container, _ name: [UInt8], in outer: Store, _ use: consuming Descriptor) {
    self.container = container
    self.name = name
    self.outer = outer
    self.use = use
  }

  /// What no app may be lent because of where it lies: the store around it has other apps.
  public var privatePlaces: [[UInt8]] { outer.privatePlaces }

  /// Removes it; what is in use still stays for whoever comes next.
  public func remove() throws(StoreError) {
    try outer.removeThrowAway(name)
  }
}

extension Store {
  private static let throwAwaysName = "ephemeral"
  private static let useName = "in-use"

  /// A copy of a container as it is now, to be thrown away.
  ///
  /// Blocks are shared where the file system can; the bundle's files are the same.
  public func throwAwayCopy(of container: Container) throws(StoreError) -> ThrowAway {
    try throwAway { inner throws(StoreError) in
      try inner.changing { () throws(StoreError) in
        try inner.withStaging { staging throws(StoreError) in
          try copy(container, into: staging)
          try inner.commitNew(container.identifier, from: staging)
        }
      }
      return container.identifier
    }
  }

  /// A container for a bundle on the disk, to be thrown away.
  ///
  /// The bundle is judged as by an install.
  public func throwAwayInstall(from path: [UInt8]) throws(StoreError) -> ThrowAway {
    try throwAway { inner throws(StoreError) in try inner.install(from: path).identifier }
  }

  private func throwAway(
    _ fill: (Store) throws(StoreError) -> BundleIdentifier
  ) throws(StoreError) -> ThrowAway {
    let name = Array(String(UInt64.random(in: 0...UInt64.max), radix: 36).utf8)
    let use = Descriptor(
      owning: try changing { () throws(StoreError) -> CInt in
        try saying("\(path.printable)/\(Self.throwAwaysName)") { () throws(Errno) -> CInt in
          let all = try directory.enterOrCreate(Self.throwAwaysName.utf8, mode: 0o700)
          let file = try all.createDirectory(name, mode: 0o700).createFile(
            Self.useName.utf8, mode: 0o600)
          try file.lock(.exclusive)
          return file.release()
        }
      })
    var place = location
    place.store = path + Array("/\(Self.throwAwaysName)/".utf8) + name
    do throws(StoreError) {
      let inner = try Store.open(place)
      let identifier = try fill(inner)
      return ThrowAway(try inner.container(identifier), name, in: self, use)
    } catch {
      try? removeThrowAway(name)
      throw error
    }
  }

  private func copy(_ container: Container, into staging: borrowing Walker) throws(StoreError) {
    let skipped = [
      ContainerLayout.lock, ContainerLayout.control, ContainerLayout.log, ContainerLayout.olderLog,
      ContainerLayout.firstLog, ContainerLayout.orphans,
    ]
    let owner = isPrivileged() ? CopyOptions.ownership : []
    // An app of an ordinary user's can shut itself out of its own files, and the user with it.
    try saying("copying all that \(container.identifier) holds") { () throws(Errno) in
      let copy = try staging.createDirectory(Self.stagedContainer.utf8, mode: 0o700)
      for entry in try container.directory.entries()
      where !skipped.contains(where: { $0.utf8.elementsEqual(entry.name) }) {
        guard entry.kind == .directory else {
          let source = try container.directory.openRegularFile(entry.name)
          let size = try source.status().byteCount
          try source.copyContents(
            to: try copy.createFile(entry.name, mode: 0o600), byteCount: size)
          continue
        }
        let source = try container.directory.enter(entry.name)
        let status = try source.status()
        let target = try copy.createDirectory(entry.name, mode: 0o700)
        // The view shows the bundle to nobody for writing, and its bytes are compared anyway.
        let isBundle = ContainerLayout.bundle.utf8.elementsEqual(entry.name)
        try source.copyContents(
          into: target, options: owner.union(isBundle ? .links : .extendedAttributes))
        if isPrivileged() {
          try target.descriptor.setOwner(uid: status.ownerUID, gid: status.ownerGID)
        }
        try target.descriptor.setPermissions(status.permissions)
      }
      _ = try copy.createFile(ContainerLayout.lock.utf8, mode: 0o600)
      _ = try copy.createDirectory(ContainerLayout.orphans.utf8, mode: 0o700)
    }
  }

  // MARK: Their end

  fileprivate func removeThrowAway(_ name: [UInt8]) throws(StoreError) {
    try saying("removing the throw-away container") { () throws(Errno) in
      let all = try directory.enter(Self.throwAwaysName.utf8)
      let place = try all.enter(name)
      // A user's daemon ends a moment after its view is gone.
      for _ in 0..<150 where try isServed(place) { pauseMilliseconds(20) }
      if try isServed(place) { throw .busy }
      try all.removeTree(name)
      // The last one takes the directory with it.
      try? directory.removeDirectory(Self.throwAwaysName.utf8)
    }
  }

  /// Whether there are any, of runs that go on or were killed.
  var hasThrowAways: Bool {
    (try? directory.status(of: Self.throwAwaysName.utf8)) != nil
  }

  /// Removes those whose runs were killed; for who holds the store's lock.
  ///
  /// One whose view is mounted still stays for the next.
  func sweepThrowAways() {
    guard let all = try? directory.enter(Self.throwAwaysName.utf8),
      let entries = try? all.entries()
    else { return }
    for entry in entries where entry.kind == .directory {
      do throws(Errno) {
        let place = try all.enter(entry.name)
        if let use = try? place.openRegularFile(Self.useName.utf8),
          try !use.tryLock(.exclusive)
        {
          continue
        }
        if try !isServed(place) { try all.removeTree(entry.name) }
      } catch {
        continue
      }
    }
    try? directory.removeDirectory(Self.throwAwaysName.utf8)
  }

  /// Whether a daemon serves the container in there.
  private func isServed(_ place: borrowing Walker) throws(Errno) -> Bool {
    guard let containers = try? place.enter(Self.containersName.utf8) else { return false }
    for entry in try containers.entries() where entry.kind == .directory {
      guard
        let lock = try? containers.enter(entry.name).openRegularFile(ContainerLayout.lock.utf8)
      else { continue }
      if try !lock.tryLock(.exclusive) { return true }
    }
    return false
  }
}
