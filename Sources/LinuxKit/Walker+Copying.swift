// Copying a whole tree.
internal import CLinux
internal import Glibc

/// What a copy takes over besides contents, modes and times.
public struct CopyOptions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// A set from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The owners; needs privileges.
  public static let ownership = CopyOptions(rawValue: 1)
  /// The `user.` attributes and, where the owner stays, access control lists.
  public static let extendedAttributes = CopyOptions(rawValue: 2)
  /// Files get one more name instead of being copied: both trees are on one file system then.
  public static let links = CopyOptions(rawValue: 4)
  /// Directories may be there already.
  public static let merging = CopyOptions(rawValue: 8)
  /// Files and links take the place of those that are there, each in one step.
  ///
  /// Directories that are there stay as they are. With `merging`, without `links`.
  public static let replacing = CopyOptions(rawValue: 16)
}

/// Whose a copy becomes.
public struct FileOwner: Equatable, Sendable {
  /// The user.
  public let uid: UInt32
  /// The group.
  public let gid: UInt32

  /// An owner by the numbers.
  public init(uid: UInt32, gid: UInt32) {
    self.uid = uid
    self.gid = gid
  }
}

extension Walker {
  /// Copies all that is in this directory into another one, which lies outside of it.
  ///
  /// The copy becomes `owner`'s, if one is given, and entries of the top that are called as
  /// `leaving` says are left out. Links are copied as links, sockets left out, set-id bits kept
  /// only together with the owner. A file with several names becomes several files. Throws EPERM
  /// for a device, EXDEV at a mount point, EEXIST if an entry is there already.
  public borrowing func copyContents(
    into target: borrowing Walker, options: CopyOptions = [], owner: FileOwner? = nil,
    leaving: [[UInt8]] = []
  ) throws(Errno) {
    var copy = TreeCopy(
      target: try target.reopened(), options: options, owner: owner, leaving: leaving)
    try visitTree(&copy)
  }
}

/// Makes in `target` what it sees.
private struct TreeCopy: TreeVisitor, ~Copyable {
  /// The copy of the directory that is visited.
  var target: Walker
  let options: CopyOptions
  let owner: FileOwner?
  let leaving: [[UInt8]]
  /// The copies above `target`, and what is to be set when one leaves them: setting times and modes
  /// first would be undone, or forbid the writing.
  ///
  /// Nothing is set of one that was there.
  var above: [(target: FileIdentity, source: FileStatus?)] = []

  init(
    target: consuming Walker, options: CopyOptions, owner: FileOwner?, leaving: [[UInt8]]
  ) {
    self.target = target
    self.options = options
    self.owner = owner
    self.leaving = leaving
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    if above.isEmpty, leaving.contains(entry.name) { return false }
    switch entry.kind {
    case .directory: return true
    case .regular: try copyFile(entry.name, in: directory)
    case .symbolicLink: try copyLink(entry.name, in: directory)
    case .fifo: try copyPipe(entry.name, in: directory)
    case .socket: break
    case .characterDevice, .blockDevice: throw .notPermitted
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    let identity = try target.status().identity
    if options.contains(.replacing), let present = try targetIfPresent(name) {
      above.append((identity, nil))
      target = present
      return
    }
    above.append((identity, try directory.status()))
    let created =
      options.contains(.merging)
      ? try target.enterOrCreate(name, mode: 0o700)
      : try target.createDirectory(name, mode: 0o700)
    if options.contains(.extendedAttributes) {
      try copyAttributes(from: directory.descriptor, to: created.descriptor)
    }
    target = created
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    guard let (identity, source) = above.popLast() else { return }
    let up = try target.ascend(to: identity)
    if let source { try finish(target.descriptor, like: source) }
    target = up
  }

  private func targetIfPresent(_ name: [UInt8]) throws(Errno) -> Walker? {
    do throws(Errno) {
      return try target.enter(name)
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  private func copyFile(_ name: [UInt8], in directory: borrowing Walker) throws(Errno) {
    if options.contains(.links) { return try directory.linkFile(name, to: target, as: name) }
    let source = try directory.openRegularFile(name)
    let status = try source.status()
    let made = try placeFor(name)
    let copy = try target.createFile(made, mode: 0o600)
    do throws(Errno) {
      try source.copyContents(to: copy, byteCount: status.byteCount)
      if options.contains(.extendedAttributes) { try copyAttributes(from: source, to: copy) }
      try finish(copy, like: status)
      if made != name { try target.rename(made, to: target, as: name, .replacing) }
    } catch {
      if made != name { try? target.removeFile(made) }
      throw error
    }
  }

  /// Under which name something is made: one that is free, and moved to `name` when it is whole,
  /// where it may replace another.
  ///
  /// Where rules allow no such name, what has `name` is removed first.
  private func placeFor(_ name: [UInt8]) throws(Errno) -> [UInt8] {
    guard options.contains(.replacing) else { return name }
    let temporary = Walker.temporaryName()
    do throws(Errno) {
      _ = try target.createFile(temporary, mode: 0o600)
      try target.removeFile(temporary)
      return temporary
    } catch {
      guard error == .accessDenied else { throw error }
    }
    do throws(Errno) {
      try target.removeFile(name)
    } catch {
      if error != .noEntry { throw error }
    }
    return name
  }

  private func copyLink(_ name: [UInt8], in directory: borrowing Walker) throws(Errno) {
    if options.contains(.links) {
      // One that always exists is there already.
      do throws(Errno) {
        return try directory.linkFile(name, to: target, as: name)
      } catch {
        guard error == .exists, options.contains(.merging) else { throw error }
        return
      }
    }
    let status = try directory.status(of: name)
    let made = try placeFor(name)
    try target.createLink(made, to: try directory.readLink(name))
    try finish(made, like: status)
    if made != name { try target.rename(made, to: target, as: name, .replacing) }
  }

  /// The same for what is not opened.
  private func finish(_ name: [UInt8], like source: FileStatus) throws(Errno) {
    try target.setTimes(of: name, accessed: source.accessed, modified: source.modified)
    guard let owner = owner(like: source) else { return }
    try target.setOwner(of: name, uid: owner.uid, gid: owner.gid)
  }

  private func owner(like source: FileStatus) -> FileOwner? {
    if let owner { return owner }
    guard options.contains(.ownership) else { return nil }
    return FileOwner(uid: source.ownerUID, gid: source.ownerGID)
  }

  private func copyPipe(_ name: [UInt8], in directory: borrowing Walker) throws(Errno) {
    let status = try directory.status(of: name)
    try target.createPipe(name, mode: status.permissions & 0o777)
    try finish(name, like: status)
  }

  /// Owner first, since a change of it clears set-id bits.
  private func finish(_ copy: borrowing Descriptor, like source: FileStatus) throws(Errno) {
    if let owner = owner(like: source) { try copy.setOwner(uid: owner.uid, gid: owner.gid) }
    let takesOwner = owner == nil && options.contains(.ownership)
    try copy.setPermissions(source.permissions & (takesOwner ? 0o7777 : 0o1777))
    try copy.setTimes(accessed: source.accessed, modified: source.modified)
  }

  private func copyAttributes(
    from source: borrowing Descriptor, to copy: borrowing Descriptor
  ) throws(Errno) {
    let names: [[UInt8]]
    do {
      names = try source.extendedAttributeNames()
    } catch .notSupported {
      return
    }
    // Another owner's lists are about other users.
    for name in names
    where name.starts(with: "user.".utf8)
      || owner == nil && name.starts(with: "system.posix_acl_".utf8)
    {
      try copy.setExtendedAttribute(name, to: try source.extendedAttribute(name))
    }
  }
}
