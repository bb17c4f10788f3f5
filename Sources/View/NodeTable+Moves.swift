// Names that move or go: what the table makes of a rename or a removal, and how others wait for it.
import FuseKit
import LinuxKit
import Policy

extension NodeTable {
  /// A rename or removal begins: names may be elsewhere than the table says until it ends.
  func beginMove() {
    lock.lock()
    movesUnderWay += 1
    lock.unlock()
  }

  /// It ended, and the table says where names are.
  func endMove() {
    lock.lock()
    movesUnderWay -= 1
    moveCount &+= 1
    lock.unlock()
  }

  /// How many moves have ended, to be compared later.
  var moves: UInt32 {
    lock.lock()
    defer { lock.unlock() }
    return moveCount
  }

  /// Whether a name that was not found may have been on its way since `moves` was read.
  func mayHaveMoved(since moves: UInt32) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return movesUnderWay > 0 || moveCount != moves
  }

  /// The node at `name` in `parent`, if the inode with `status` is known by that name.
  func node(
    at name: Name, in parent: NodeIndex, _ status: borrowing InodeStatus
  ) -> NodeIndex {
    let index = find(Identity(status))
    return index != 0 && isKnown(index, by: name, in: parent) ? index : 0
  }

  /// Whether a node's known name is this one.
  func isKnown(_ index: NodeIndex, by name: Name, in parent: NodeIndex) -> Bool {
    record(index).pointee.parent == parent
      && names.equals(record(index).pointee.name, name.cString, count: name.count)
  }

  /// A name was moved: the node that was known by it is known by the new one.
  ///
  /// `ruling` is the new name's; a directory whose zone changes makes those below it stale.
  func moved(
    _ name: Name, _ parent: NodeIndex, to newName: Name, _ newParent: NodeIndex,
    _ status: borrowing InodeStatus, _ ruling: Ruling
  ) {
    var closing = Closing(backingFiles)
    lock.lock()
    let index = node(at: name, in: parent, status)
    if index != 0 {
      let node = record(index)
      let cells = names.store(newName.cString, count: newName.count)
      if cells == 0 {
        // No room for the name: the node can be reached by its descriptor only.
        detach(index)
      } else {
        let old = node.pointee.name
        FaultPoint.insideTable.pass()
        setPlace(index, parent: newParent, name: cells)
        FaultPoint.insideTable.pass()
        names.free(old)
        record(newParent).pointee.children += 1
        record(parent).pointee.children -= 1
      }
      let changesZone =
        node.pointee.zone != ruling.zone.rawValue || node.pointee.zoneEpoch != ruling.epoch
      setZone(node, ruling)
      if node.pointee.isDirectory && changesZone { raiseZoneEpoch() }
      freeUnreferenced(parent, &closing)
    }
    lock.unlock()
    closing.closeAll()
  }

  /// A name is gone: the node that was known by it is reached by `descriptor` from now on.
  ///
  /// Takes the descriptor. `isLast`: no other name leads to the inode.
  func removed(
    _ name: Name, _ parent: NodeIndex, _ status: borrowing InodeStatus, isLast: Bool,
    descriptor: consuming Descriptor
  ) {
    var closing = Closing(backingFiles)
    let raw = descriptor.release()
    lock.lock()
    FaultPoint.insideTable.pass()
    let index = find(Identity(status))
    if index != 0 && isKnown(index, by: name, in: parent) {
      anchor(index, raw, &closing)
      detach(index)
      let isDirectory = status.isDirectory
      if isLast || isDirectory { noteWeight(index, status) }
    } else {
      closing.add(raw)
    }
    if index != 0 {
      if isLast || record(index).pointee.isDirectory { unhash(index) }
      freeUnreferenced(index, &closing)
      freeUnreferenced(parent, &closing)
    }
    FaultPoint.insideTable.pass()
    // The node has it, or it is closed now: a repetition has nothing to do.
    RequestRecord.current.descriptor = -1
    lock.unlock()
    closing.closeAll()
  }

  /// Notes whether what was removed will give back little.
  private func noteWeight(_ index: NodeIndex, _ status: borrowing InodeStatus) {
    let node = record(index)
    if node.pointee.opens == 0, status.blockCount <= LateClosing.largestBlockCount {
      node.pointee.state.insert(.light)
    }
  }

  /// Keeps a descriptor for good, unless too many are kept already and nobody has the file open.
  func anchor(_ index: NodeIndex, _ raw: CInt, _ closing: inout Closing) {
    let node = record(index)
    guard !node.pointee.state.contains(.anchored) else {
      closing.add(raw)
      return
    }
    if node.pointee.descriptor >= 0 {
      unlinkRecent(index)
      closing.add(raw)
    } else {
      node.pointee.descriptor = raw
      descriptorCount += 1
    }
    node.pointee.state.insert(.anchored)
    anchoredCount += 1
    if anchoredCount > anchoredLimit && node.pointee.opens == 0 && node.pointee.pins == 0 {
      node.pointee.state.remove(.anchored)
      anchoredCount -= 1
      descriptorCount -= 1
      closing.takeBacking(of: node)
      closing.add(node.pointee.descriptor)
      node.pointee.descriptor = -1
    }
  }

  /// Takes a node's name away.
  ///
  /// It stays in the zone of that name, which nobody could find out afterwards.
  func detach(_ index: NodeIndex) {
    let node = record(index)
    if let scratch = try? ThreadScratch.current() { _ = freshZone(index, scratch) }
    if node.pointee.parent != 0 { record(node.pointee.parent).pointee.children -= 1 }
    let name = node.pointee.name
    setPlace(index, parent: 0, name: 0)
    names.free(name)
  }

  /// No name leads to this inode any more: its number may be used again by another.
  func unhash(_ index: NodeIndex) {
    guard !record(index).pointee.state.contains(.unhashed) else { return }
    remove(index)
    record(index).pointee.state.insert(.unhashed)
  }

  /// A node without a name was found by another one.
  func giveName(_ index: NodeIndex, _ parent: NodeIndex, _ name: Name) throws(Errno) {
    let cells = names.store(name.cString, count: name.count)
    guard cells != 0 else { throw .noMemory }
    let node = record(index)
    setPlace(index, parent: parent, name: cells)
    noteName(of: node)
    record(parent).pointee.children += 1
    guard node.pointee.state.contains(.anchored) else { return }
    node.pointee.state.remove(.anchored)
    anchoredCount -= 1
    linkRecent(index)
  }

  /// Makes every zone stale but the root's, which is the same in every policy.
  func raiseZoneEpoch() {
    zoneEpoch &+= 1
    if zoneEpoch == 0 { zoneEpoch = 1 }
    // A list of both would be made in memory when it is first used.
    record(NodeTable.root).pointee.zoneEpoch = zoneEpoch
    record(NodeTable.orphans).pointee.zoneEpoch = zoneEpoch
  }
}
