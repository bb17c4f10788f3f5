// Going through a whole tree, however deep and wide it is.
//
// Only the directory at hand is open, and only one batch of its names is in memory: what is above
// is remembered by its identity, and checked when one comes back to it. So a tree that was built
// to exhaust descriptors, stack or memory does not.
internal import CLinux
internal import Glibc

/// What is done at each step of the way through a tree.
public protocol TreeVisitor: ~Copyable {
  /// Looks at an entry; true to go down into it if it is a directory.
  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool
  /// Is inside the directory of this name now.
  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno)
  /// Has come back from the directory of this name.
  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno)
}

extension TreeVisitor where Self: ~Copyable {
  /// Does nothing.
  public mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {}
  /// Does nothing.
  public mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {}
}

/// A directory on the way down: what of it is still to be visited.
private struct Level {
  let name: [UInt8]
  let identity: FileIdentity
  var batch: ArraySlice<DirectoryEntry> = []
  var nextPosition: Int64 = 0
  var isAtEnd = false
}

extension Walker {
  /// Shows each entry below this directory to `visitor`, a directory before what is in it.
  ///
  /// Symbolic links are not followed and mount points are not crossed: EXDEV. An entry that is gone
  /// when its turn comes is left out. Throws ESTALE if a directory was moved while one was in it.
  public borrowing func visitTree(
    _ visitor: inout some TreeVisitor & ~Copyable
  ) throws(Errno) {
    var place = try reopened()
    var level = Level(name: [], identity: try place.status().identity)
    var above: [Level] = []
    while true {
      if let entry = level.batch.popFirst() {
        guard try visitor.visit(entry, in: place), entry.kind == .directory else { continue }
        guard let below = try place.enterIfPresent(entry.name) else { continue }
        above.append(level)
        level = Level(name: entry.name, identity: try below.status().identity)
        place = below
        try visitor.didEnter(place, name: level.name)
      } else if !level.isAtEnd {
        let batch = try place.batch(from: level.nextPosition)
        level.batch = batch.entries[...]
        level.nextPosition = batch.nextPosition
        level.isAtEnd = batch.isAtEnd
      } else {
        guard let parent = above.popLast() else { return }
        place = try place.ascend(to: parent.identity)
        try visitor.didLeave(level.name, to: place)
        level = parent
      }
    }
  }

  private borrowing func enterIfPresent(_ name: [UInt8]) throws(Errno) -> Walker? {
    do throws(Errno) {
      return try enter(name)
    } catch {
      // It is gone, or has become another kind, since the directory was read.
      if [.noEntry, .notDirectory, .tooManyLinks].contains(error) { return nil }
      throw error
    }
  }

  /// Removes a file, a link or a whole tree; nothing if there is no such entry.
  ///
  /// Never follows a link and never crosses a mount point: EXDEV or EBUSY.
  public borrowing func removeTree(_ name: some Collection<UInt8>) throws(Errno) {
    let name = Array(name)
    do {
      guard try status(of: name).kind == .directory else { return try removeFile(name) }
      try openUp(name)
      let top = try enter(name)
      try top.removeContents()
      try removeDirectory(name)
    } catch .noEntry {
      return
    }
  }

  /// Removes all that is in this directory.
  public borrowing func removeContents() throws(Errno) {
    var removal = Removal()
    repeat {
      removal.leftovers = 0
      removal.removed = 0
      try visitTree(&removal)
    } while removal.leftovers > 0 && removal.removed > 0
    if removal.leftovers > 0 { throw .notEmpty }
  }

  /// Lets the owner into a directory that shuts itself off.
  public borrowing func openUp(_ name: [UInt8]) throws(Errno) {
    let found = try open(name, O_PATH | O_DIRECTORY)
    let status = try found.status()
    guard status.permissions & 0o700 != 0o700 else { return }
    try found.setPermissions(status.permissions | 0o700)
  }

  /// Gives everything below this directory, and not the directory itself, to an owner.
  public borrowing func setOwnerOfContents(uid: UInt32, gid: UInt32) throws(Errno) {
    var change = OwnerChange(uid: uid, gid: gid)
    try visitTree(&change)
  }
}

/// Removes what it sees.
///
/// Some file systems skip entries when others vanish while they are read: what is left over is
/// counted, and the tree gone through again.
private struct Removal: TreeVisitor {
  var removed = 0
  var leftovers = 0

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    do {
      if entry.kind == .directory {
        try directory.openUp(entry.name)
        return true
      }
      try directory.removeFile(entry.name)
      removed += 1
    } catch .noEntry {
      return false
    }
    return false
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    do {
      try parent.removeDirectory(name)
      removed += 1
    } catch .noEntry {
      return
    } catch .notEmpty {
      leftovers += 1
    }
  }
}

/// Changes the owner of what it sees.
private struct OwnerChange: TreeVisitor {
  let uid: UInt32
  let gid: UInt32

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    do {
      try directory.setOwner(of: entry.name, uid: uid, gid: gid)
      return true
    } catch .noEntry {
      return false
    }
  }
}
