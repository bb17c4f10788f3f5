// Files and directories that a person lends to an app: which may be lent, and whether what is there
// now is what was lent.
//
// A path is looked up as the person, once when it is lent and once for each run, the second time
// without following any link; then the inode is compared. So whatever an app or another person
// puts in its way, the app gets what was lent, or does not run.
public import Containers
internal import LinuxKit
internal import Paths

/// Why something can't be lent: one line for a person.
public struct GrantError: Error, Equatable, CustomStringConvertible {
  /// What is wrong and what to do, without the program's name before it.
  public let description: String

  init(_ path: [UInt8], _ reason: String) { description = "\(path.printable): \(reason)" }
}

/// What is lent in a run, as it was found: its inode is compared once more when it is bound.
struct LentPlace: Equatable {
  /// The path, outside and inside.
  let path: [UInt8]
  /// Whether it is a directory.
  let isDirectory: Bool
  /// Whether nothing may be changed there.
  let isReadOnly: Bool
  /// The device's number.
  let device: UInt64
  /// The inode's.
  let inode: UInt64
}

extension Launch {
  /// A grant of what a path leads to, by the caller, who must be able to do there what it allows.
  public static func grant(
    _ path: [UInt8], _ access: Grant.Access, keepingFrom privatePlaces: [[UInt8]],
    environment: [[UInt8]]
  ) throws(GrantError) -> Grant {
    let canonical = try looking(path) { () throws(Errno) in try canonicalPath(path) }
    let found = try Found.at(canonical)
    let status = found.status
    try Fence.refuseOccupied(canonical)
    let kind = try found.kind(canonical)
    do throws(Errno) {
      try found.file.checkAccess(writing: access == .write, searching: kind == .directory)
    } catch {
      let remedy = access == .write ? "; --read-only lends less" : ""
      throw GrantError(
        canonical, "you can't lend what you may not use yourself: \(error.message)\(remedy)")
    }
    try Fence(privatePlaces, environment).check(found.file, canonical, kind)
    return Grant(
      path: canonical, kind: kind, access: access, identity: Grant.Identity(status),
      parent: found.parent, ownerUID: status.ownerUID, grantorUID: effectiveUID())
  }

  /// What is there of a grant now.
  static func place(
    of grant: Grant, keepingFrom privatePlaces: [[UInt8]], environment: [[UInt8]]
  ) throws(GrantError) -> LentPlace {
    guard grant.grantorUID == effectiveUID() else {
      throw GrantError(grant.path, "it was lent by uid \(grant.grantorUID), not by you")
    }
    let found = try Found.at(grant.path)
    let status = found.status
    let isMet =
      (try? found.kind(grant.path)) == grant.kind
      && grant.isMet(
        by: Grant.Identity(status), in: found.parent, ownerUID: status.ownerUID,
        linkCount: status.linkCount)
    guard isMet else {
      throw GrantError(
        grant.path, "it is another \(grant.kind.rawValue) than the one that was lent")
    }
    try Fence(privatePlaces, environment).check(found.file, grant.path, grant.kind)
    return LentPlace(
      path: grant.path, isDirectory: grant.kind == .directory,
      isReadOnly: grant.access == .read, device: status.identity.device,
      inode: status.identity.inode)
  }

  /// Why an app would not run with a grant; nil if it would.
  public static func problem(
    of grant: Grant, keepingFrom privatePlaces: [[UInt8]], environment: [[UInt8]]
  ) -> String? {
    do throws(GrantError) {
      _ = try place(of: grant, keepingFrom: privatePlaces, environment: environment)
      return nil
    } catch {
      return error.description
    }
  }
}

/// What is at a path, no link followed.
private struct Found: ~Copyable {
  /// It, as a place only.
  let file: Descriptor
  let status: FileStatus
  /// The directory that it is in.
  let parent: Grant.Identity

  private init(_ file: consuming Descriptor, _ parent: FileStatus) throws(Errno) {
    status = try file.status()
    self.parent = Grant.Identity(parent)
    self.file = file
  }

  static func at(_ path: [UInt8]) throws(GrantError) -> Found {
    do throws(Errno) {
      let parent = try Descriptor.exactly(path.upToLastSlash).status()
      return try Found(try Descriptor.exactly(path), parent)
    } catch {
      if error == .tooManyLinks {
        throw GrantError(path, "a symbolic link is in the place of what was lent")
      }
      throw GrantError(path, error.message)
    }
  }

  borrowing func kind(_ path: [UInt8]) throws(GrantError) -> Grant.Kind {
    switch status.kind {
    case .directory: .directory
    case .regular: .file
    default: throw GrantError(path, "only files and directories can be lent")
    }
  }
}

/// What no app may be lent.
private struct Fence {
  let places: [[UInt8]]

  init(_ privatePlaces: [[UInt8]], _ environment: [[UInt8]]) {
    places = privatePlaces + [RunDirectory.path(environment: environment)].compactMap(\.self)
  }

  /// Throws why something can't be lent that is open as a place only.
  func check(
    _ found: borrowing Descriptor, _ path: [UInt8], _ kind: Grant.Kind
  ) throws(GrantError) {
    try Self.refuseOccupied(path)
    try refusePrivatePlaces(found, path, kind)
    try refuseMounts(found, path)
  }

  /// Refuses a path where a container has something of its own, and what holds it.
  static func refuseOccupied(_ path: [UInt8]) throws(GrantError) {
    let occupied = Sandbox.occupiedPaths(HostTree.current()).first {
      isPath(path, inside: $0) || isPath($0, inside: path)
    }
    guard let occupied else { return }
    throw GrantError(path, "it can't be lent: inside, \(occupied.printable) is the container's own")
  }

  private func refusePrivatePlaces(
    _ found: borrowing Descriptor, _ path: [UInt8], _ kind: Grant.Kind
  ) throws(GrantError) {
    for place in places {
      let refusal = GrantError(
        path, "it can't be lent: \(place.printable), which is no app's business, is there")
      if isPath(whereItWouldBe(place), inside: path) { throw refusal }
      do throws(Errno) {
        let own = try Descriptor.following(place)
        let directory =
          kind == .directory
          ? try found.duplicate() : try Descriptor.exactly(path.upToLastSlash)
        if try directory.isInside(own) { throw Errno.busy }
        if kind == .directory, try own.isInside(found) { throw Errno.busy }
      } catch {
        // What is not there holds nothing.
        if error == .noEntry || error == .notDirectory { continue }
        throw error == .busy ? refusal : GrantError(path, error.message)
      }
    }
  }

  /// The canonical path of what is there, or would be if it were made.
  private func whereItWouldBe(_ place: [UInt8]) -> [UInt8] {
    var missing: [UInt8] = []
    var there = place
    while there.count > 1 {
      if let found = try? canonicalPath(there) { return (found == [slash] ? [] : found) + missing }
      let parent = there.upToLastSlash
      missing = [slash] + there.dropFirst(parent == [slash] ? 1 : parent.count + 1) + missing
      there = parent
    }
    return place
  }

  /// Refuses what shows other apps or the kernel's own files, there or further down.
  private func refuseMounts(
    _ found: borrowing Descriptor, _ path: [UInt8]
  ) throws(GrantError) {
    var refusal: String?
    do throws(Errno) {
      let here = try MountIdentity(found).mount
      for entry in try MountTable.read().entries {
        let isBelow = isPath(entry.mountPoint, inside: path)
        guard isBelow || entry.id == here else { continue }
        guard let shown = try whatIsWrong(with: entry, isBelow: isBelow) else { continue }
        refusal = "it can't be lent: \(shown) is mounted at \(entry.mountPoint.printable)"
        break
      }
    } catch {
      refusal = error.message
    }
    if let refusal { throw GrantError(path, refusal) }
  }

  private func whatIsWrong(
    with entry: MountEntry, isBelow: Bool
  ) throws(Errno) -> String? {
    if Self.refusedTypes.contains(entry.type) {
      return "a file system of type \(entry.type.printable)"
    }
    for place in isBelow ? places : [] where try isOf(entry, place) { return place.printable }
    return nil
  }

  /// Whether a mount further down shows a private place, or what holds it.
  private func isOf(_ entry: MountEntry, _ place: [UInt8]) throws(Errno) -> Bool {
    do throws(Errno) {
      let own = try Descriptor.following(place)
      guard try MountIdentity(own).device == entry.device else { return false }
      let mounted = try Descriptor.exactly(entry.mountPoint)
      guard try mounted.status().kind == .directory else { return false }
      if try own.isInside(mounted) { return true }
      return try mounted.isInside(own)
    } catch {
      if error == .noEntry || error == .notDirectory { return false }
      throw error
    }
  }

  private static let refusedTypes = Set(
    [
      "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts",
      "devtmpfs", "efivarfs", "fuse.sandboxfs", "fusectl", "mqueue", "nsfs", "proc", "pstore",
      "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
    ].map { Array($0.utf8) })
}

private let slash = UInt8(ascii: "/")

extension [UInt8] {
  /// The path of what holds this one.
  fileprivate var upToLastSlash: [UInt8] {
    let parent = Array(prefix(upTo: lastIndex(of: slash) ?? startIndex))
    return parent.isEmpty ? [slash] : parent
  }
}

extension Grant.Identity {
  fileprivate init(_ status: FileStatus) {
    self.init(
      inode: status.identity.inode, bornNanoseconds: status.bornNanoseconds,
      device: status.identity.device)
  }
}

private func looking<Result: ~Copyable>(
  _ path: [UInt8], _ body: () throws(Errno) -> Result
) throws(GrantError) -> Result {
  do throws(Errno) {
    return try body()
  } catch {
    throw GrantError(path, error.message)
  }
}
