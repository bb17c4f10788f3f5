// Files that lose their name while they are open, beyond the budget of descriptors: they move to
// the orphans' directory until their last release, so that no app can use up the daemon's
// descriptors by unlinking what it has open.
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  /// Moves the file at a name to the orphans' directory instead of removing it, if the budget of
  /// descriptors is used up and someone has it open.
  ///
  /// True if it was moved.
  func setAside(
    _ name: Name, _ parent: NodeIndex, _ directory: CInt, _ status: borrowing InodeStatus,
    _ scratch: ThreadScratch
  ) throws(Errno) -> Bool {
    guard status.linkCount == 1, nodes.isOverBudget(name, parent, status) else {
      return false
    }
    let orphan = orphanName(status.inode, scratch)
    try mutate(.movesName(Identity(status))) { () throws(Errno) in
      try Names.rename(
        name.cString, in: directory, to: orphan.cString, in: backing.orphans.rawValue, flags: 0)
    }
    nodes.orphaned(name, parent, to: orphan, status)
    return true
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
