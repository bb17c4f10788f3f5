// The part of a container's data that is always there.
internal import Containers
internal import LinuxKit
internal import Paths
internal import Purging

/// Who owns what a container holds.
struct Owner: Equatable {
  let uid: UInt32
  let gid: UInt32
}

/// The structural entries of a container's data, and the bundle's place among them.
struct Skeleton {
  let owner: Owner

  private static let rootMode: UInt32 = 0o755
  private static let placeMode: UInt32 = 0o755

  /// Makes `data` and all that belongs in it, or what of it is missing.
  ///
  /// Throws ENOTDIR or ELOOP if something else is in the place of a directory, and EXDEV if a mount
  /// point is.
  func ensure(in container: borrowing Walker) throws(StoreError) {
    let data = try directory(ContainerLayout.data, Self.rootMode, in: container, "data")
    for entry in ContainerLayout.structuralEntries {
      let names = entry.path.split(separator: "/").map { Array($0.utf8) }
      let parent = try saying("data/\(entry.path)") { () throws(Errno) in
        try data.enter(path: names.dropLast())
      }
      guard let name = names.last else { continue }
      let shown = "data/\(entry.path)"
      if let target = entry.linkTarget {
        try link(name, to: target, in: parent, shown)
      } else {
        _ = try directory(String(decoding: name, as: UTF8.self), entry.mode, in: parent, shown)
      }
    }
  }

  /// Makes what marks the caches as such, where it is missing.
  func tagCaches(in container: borrowing Walker) throws(StoreError) {
    try saying("marking the caches") { () throws(Errno) in
      try CacheTag.ensure(
        in: container.enter(ContainerLayout.data.utf8), ownerUID: owner.uid, ownerGID: owner.gid)
    }
  }

  /// Whether nothing of it is missing.
  func isWhole(
    in container: borrowing Walker, _ bundleName: [UInt8]
  ) throws(StoreError) -> Bool {
    let data = try allowing([.noEntry], "the container's data") { () throws(Errno) in
      try container.enter(ContainerLayout.data.utf8)
    }
    guard let data else { return false }
    for entry in ContainerLayout.structuralEntries {
      let names = entry.path.split(separator: "/").map { Array($0.utf8) }
      let kind = try Self.kind(of: names, in: data)
      guard kind == .directory || (kind != nil && entry.linkTarget != nil) else { return false }
    }
    if try Self.kind(of: CacheTag.path, in: data) == nil { return false }
    if bundleName.isEmpty { return true }
    return try Self.kind(of: [bundleName], in: data) == .directory
  }

  private static func kind(
    of names: [[UInt8]], in data: borrowing Walker
  ) throws(StoreError) -> FileKind? {
    guard let last = names.last else { return nil }
    let shown = "data/" + names.map(\.printable).joined(separator: "/")
    return try allowing([.noEntry], shown) { () throws(Errno) in
      try data.enter(path: names.dropLast()).status(of: last).kind
    }
  }

  /// Makes the empty directory where the view shows the bundle.
  ///
  /// Throws if the app has something else of that name there.
  func ensurePlace(for bundleName: [UInt8], in container: borrowing Walker) throws(StoreError) {
    let data = try Self.data(of: container)
    guard try Self.isFree(bundleName, in: data) else {
      throw StoreError(
        .failed,
        "data/\(bundleName.printable) is in the way of the bundle: rename it, and install again")
    }
    try saying("data/\(bundleName.printable)") { () throws(Errno) in
      let place = try data.enterOrCreate(bundleName, mode: Self.placeMode)
      try place.descriptor.setOwner(uid: owner.uid, gid: owner.gid)
      try place.descriptor.setPermissions(Self.placeMode)
      try data.synchronize()
    }
  }

  /// Removes that directory, if it is one and empty.
  static func removePlace(of bundleName: [UInt8], in container: borrowing Walker) throws(StoreError)
  {
    let data = try data(of: container)
    do throws(Errno) {
      try data.removeDirectory(bundleName)
    } catch {
      if error == .noEntry || error == .notEmpty || error == .notDirectory { return }
      throw StoreError("data/\(bundleName.printable)", error)
    }
  }

  /// Whether an entry is not there, or is the place of a bundle already.
  static func isFree(_ name: [UInt8], in data: borrowing Walker) throws(StoreError) -> Bool {
    do throws(Errno) {
      return try data.enter(name).entries().isEmpty
    } catch {
      if error == .noEntry { return true }
      if error == .notDirectory || error == .tooManyLinks { return false }
      throw StoreError("data/\(name.printable)", error)
    }
  }

  /// A container's data, where nothing is mounted.
  static func data(of container: borrowing Walker) throws(StoreError) -> Walker {
    try refuseMountPoint(in: container)
    return try saying("the container's data") { () throws(Errno) in
      try container.enter(ContainerLayout.data.utf8)
    }
  }

  /// Refuses data that is a mount point; whether it is there does not matter.
  static func refuseMountPoint(in container: borrowing Walker) throws(StoreError) {
    do throws(Errno) {
      _ = try container.enter(ContainerLayout.data.utf8)
    } catch {
      guard error == .crossDevice else { return }
      throw StoreError(
        .failed, "the container's data is a mount point: mount the whole store there instead")
    }
  }

  private func directory(
    _ name: String, _ mode: UInt32, in parent: borrowing Walker, _ shown: String
  ) throws(StoreError) -> Walker {
    do throws(Errno) {
      return try parent.enter(name.utf8)
    } catch {
      guard error == .noEntry else { throw StoreError(shown, error) }
    }
    return try saying(shown) { () throws(Errno) in
      let created = try parent.createDirectory(name.utf8, mode: mode)
      try created.descriptor.setOwner(uid: owner.uid, gid: owner.gid)
      return created
    }
  }

  private func link(
    _ name: [UInt8], to target: String, in parent: borrowing Walker, _ shown: String
  ) throws(StoreError) {
    do throws(Errno) {
      try parent.createLink(name, to: target.utf8)
      try parent.setOwner(of: name, uid: owner.uid, gid: owner.gid)
    } catch {
      // Whatever the app has there is the app's.
      if error != .exists { throw StoreError(shown, error) }
    }
  }
}
