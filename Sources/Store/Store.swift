// A store on disk: a directory of containers, which one process at a time changes.
//
// Whatever is being made lies in `staging` until it is whole. Who holds `lock` knows that all that
// is in there belongs to nobody any more, and clears it away or, if it was past the point of no
// return, finishes it.
public import LinuxKit
public import Paths

/// A directory of containers.
public final class Store: Sendable {
  /// The places that it was opened by.
  public let location: StoreLocation
  /// Its canonical path.
  public let path: [UInt8]
  /// Its directory.
  public let directory: Walker

  static let containersName = "containers"
  static let stagingName = "staging"
  static let lockName = "lock"
  static let purgeLockName = "purge.lock"

  private init(location: StoreLocation, path: [UInt8], directory: consuming Walker) {
    self.location = location
    self.path = path
    self.directory = directory
  }

  /// Opens a store that is there.
  ///
  /// Throws `notFound` if it is not, and refuses one that others could change.
  public static func open(_ location: StoreLocation) throws(StoreError) -> Store {
    let path: [UInt8]
    let directory: Walker
    do throws(Errno) {
      path = try canonicalPath(location.store)
      directory = try Walker.open(path: path)
    } catch {
      if error == .noEntry {
        throw StoreError(
          .notFound,
          "there is no store at \(location.store.printable): 'sandboxfs install' makes it")
      }
      throw StoreError(location.store.printable, error)
    }
    let store = Store(location: location, path: path, directory: directory)
    try store.refuseStrangers()
    try store.recoverIfIdle()
    return store
  }

  /// Opens a store, which is made if it is not there.
  public static func openOrCreate(_ location: StoreLocation) throws(StoreError) -> Store {
    do {
      return try open(location)
    } catch  where error.kind == .notFound {
      try create(at: location.store)
      return try open(location)
    }
  }

  /// Makes the directory, and those above it as the XDG specification wants them.
  private static func create(at path: [UInt8]) throws(StoreError) {
    var made: [UInt8] = path.first == UInt8(ascii: "/") ? [] : Array(".".utf8)
    for name in path.split(separator: UInt8(ascii: "/")) {
      made += [UInt8(ascii: "/")] + name
      do throws(Errno) {
        try makeDirectory(made, mode: 0o700)
      } catch {
        if error != .exists { throw StoreError("making the store \(path.printable)", error) }
      }
    }
  }

  private func refuseStrangers() throws(StoreError) {
    let status = try saying(path.printable) { () throws(Errno) in try directory.status() }
    let caller = effectiveUID()
    guard status.ownerUID == caller else {
      throw StoreError(
        .failed, "the store \(path.printable) belongs to uid \(status.ownerUID), not to you")
    }
    guard status.permissions & 0o022 == 0 else {
      throw StoreError(
        .failed,
        "others can write into the store \(path.printable): chmod 700 it, after a look inside")
    }
  }

  // MARK: One at a time

  /// Runs `body` as the only one who changes the store, after clearing away what others left.
  func changing<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let file = try lockFile()
    try saying("locking \(path.printable)") { () throws(Errno) in try file.lock(.exclusive) }
    try recover()
    return try body()
  }

  /// Runs `body` as the only one who purges the store.
  public func purging<Result>(_ body: () throws -> Result) throws -> Result {
    let shown = "\(path.printable)/\(Self.purgeLockName)"
    let file = try saying(shown) { () throws(Errno) in
      try directory.openOrCreateFile(Self.purgeLockName.utf8, mode: 0o600)
    }
    try saying("locking \(shown)") { () throws(Errno) in try file.lock(.exclusive) }
    defer { _ = file }
    return try body()
  }

  /// Clears away what others left, unless one is at work.
  private func recoverIfIdle() throws(StoreError) {
    let isClean = (try? directory.enter(Self.stagingName.utf8).entries().isEmpty) ?? true
    if isClean, !hasThrowAways { return }
    let file = try lockFile()
    let isIdle = try saying("locking \(path.printable)") { () throws(Errno) in
      try file.tryLock(.exclusive)
    }
    if isIdle { try recover() }
  }

  private func lockFile() throws(StoreError) -> Descriptor {
    try saying("\(path.printable)/\(Self.lockName)") { () throws(Errno) in
      try directory.openOrCreateFile(Self.lockName.utf8, mode: 0o600)
    }
  }

  // MARK: Containers

  /// The container of an app.
  ///
  /// Throws `notFound` if there is none.
  public func container(_ identifier: BundleIdentifier) throws(StoreError) -> Container {
    guard let container = try containerIfPresent(identifier) else {
      throw StoreError(
        .notFound, "\(identifier) is not installed in \(path.printable): see 'sandboxfs list'")
    }
    return container
  }

  func containerIfPresent(_ identifier: BundleIdentifier) throws(StoreError) -> Container? {
    let directory: Walker
    do throws(Errno) {
      directory = try self.directory.enter(Self.containersName.utf8).enter(identifier.bytes)
    } catch {
      if error == .noEntry { return nil }
      throw StoreError(containerPath(identifier), error)
    }
    return try Container(identifier, of: self, in: directory)
  }

  /// The directory of all containers, which is made if it is not there.
  func containersDirectory() throws(StoreError) -> Walker {
    try saying("\(path.printable)/\(Self.containersName)") { () throws(Errno) in
      try directory.enterOrCreate(Self.containersName.utf8, mode: 0o700)
    }
  }

  /// A container's path, to be shown.
  func containerPath(_ identifier: BundleIdentifier) -> String {
    "\(path.printable)/\(Self.containersName)/\(identifier)"
  }

  /// The register of uids, in a store of root's.
  var uidRegister: UIDRegister? {
    isPrivileged() ? UIDRegister(path: location.uidRegister, first: location.firstUID) : nil
  }
}
