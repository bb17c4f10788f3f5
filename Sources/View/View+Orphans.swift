// Files that lose their name while they are open, beyond the budget of descriptors: they move to
// the orphans' directory until their last release, so that no app can use up the daemon's
// descriptors by unlinking what it has open.
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  /// Gives the file of `doomed`, which is about to lose its last name, one in the orphans'
  /// directory, if the budget of descriptors is used up and someone has it open.
  ///
  /// The orphan's name, if it got one. The name that it has is still there, so that nothing is lost
  /// if the removal fails or the daemon dies.
  func setAside(
    _ name: Name, _ parent: NodeIndex, _ doomed: CInt, _ status: borrowing InodeStatus,
    _ scratch: ThreadScratch
  ) -> Name? {
    guard status.linkCount == 1, nodes.isOverBudget(name, parent, status) else { return nil }
    let orphan = orphanName(status.inode, scratch)
    do throws(Errno) {
      try Names.link(doomed, orphan.cString, in: backing.orphans.rawValue)
      return orphan
    } catch {
      // An earlier process may have begun to do the same.
      if error == .exists, let orphan = self.orphan(of: Identity(status), scratch) {
        return orphan
      }
      // Then it is kept by a descriptor like any other.
      return nil
    }
  }

  /// The name that a file has in the orphans' directory; nil if it has none there.
  func orphan(of identity: Identity, _ scratch: ThreadScratch) -> Name? {
    let orphan = orphanName(identity.inode, scratch)
    guard let status = try? InodeStatus.of(orphan.cString, in: backing.orphans.rawValue),
      Identity(status) == identity
    else { return nil }
    return orphan
  }

  /// The removal failed: the file is no orphan.
  func takeBack(_ orphan: Name?) {
    guard let orphan else { return }
    // What fails here is swept by the next daemon.
    try? Names.unlink(orphan.cString, in: backing.orphans.rawValue)
  }

  /// A name is gone, and the file that it named is reached by the orphan's name or by `doomed`.
  func leave(
    _ name: Name, _ parent: NodeIndex, _ status: borrowing InodeStatus, isLast: Bool,
    _ doomed: consuming Descriptor, _ orphan: Name?
  ) {
    if let orphan {
      nodes.orphaned(name, parent, to: orphan, status)
      // It is closed now.
      RequestRecord.current.descriptor = -1
    } else {
      nodes.removed(name, parent, status, isLast: isLast, descriptor: doomed)
    }
  }

  /// The last handle of an orphan is gone: now it is removed.
  func dropOrphan(_ inode: UInt64) {
    guard let scratch = try? ThreadScratch.current() else { return }
    let name = orphanName(inode, scratch)
    // What fails here is swept by the next daemon.
    try? Names.unlink(name.cString, in: backing.orphans.rawValue)
  }

  /// An orphan is named by its inode number, in hexadecimal.
  private func orphanName(_ inode: UInt64, _ scratch: ThreadScratch) -> Name {
    let buffer = scratch.name(ScratchName.orphan)
    for position in 0..<16 {
      let digit = CChar(truncatingIfNeeded: (inode >> (60 - 4 * UInt64(position))) & 0xF)
      buffer[position] = digit < 10 ? 48 + digit : 87 + digit
    }
    buffer[16] = 0
    return Name(UnsafePointer(buffer))
  }
}

extension NodeTable {
  /// Whether an open file is to be set aside instead of kept by a descriptor.
  func isOverBudget(_ name: Name, _ parent: NodeIndex, _ status: borrowing InodeStatus) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    let index = node(at: name, in: parent, status)
    return anchoredCount >= anchoredLimit && index != 0 && record(index).pointee.opens > 0
  }

  /// A file was moved to the orphans' directory.
  func orphaned(
    _ name: Name, _ parent: NodeIndex, to orphan: Name, _ status: borrowing InodeStatus
  ) {
    moved(name, parent, to: orphan, NodeTable.orphans, status, rulingWithoutPath)
    lock.lock()
    let index = node(at: orphan, in: NodeTable.orphans, status)
    if index != 0 { record(index).pointee.state.insert(.orphaned) }
    lock.unlock()
  }

  /// The backing's number of a node.
  func inode(of index: NodeIndex) -> UInt64 { record(index).pointee.inode }

  /// The backing's number of a node's parent; the node's own if it has none.
  func parentInode(of index: NodeIndex) -> UInt64 {
    lock.lock()
    defer { lock.unlock() }
    let parent = record(index).pointee.parent
    return record(parent == 0 ? index : parent).pointee.inode
  }
}
