// How long a node lives: while the kernel, a child, an open file or a request refers to it.
import FuseKit
import LinuxKit
import Policy

extension NodeTable {
  /// Counts a lookup of `name` in `parent`, whose inode has `status`, and returns its node.
  ///
  /// The count is raised before any answer is sent. Throws ENOMEM when the table is full.
  func enter(
    _ parent: NodeIndex, _ name: Name, _ status: borrowing InodeStatus, _ ruling: Ruling
  ) throws(Errno) -> NodeIndex {
    let identity = Identity(status)
    lock.lock()
    defer { lock.unlock() }
    let known = find(identity)
    if known != 0 {
      let node = record(known)
      if node.pointee.parent == 0 && !node.pointee.state.contains(.permanent) {
        try giveName(known, parent, name)
      }
      // Only the known name's zone is the node's: another name of the inode may be in another.
      if node.pointee.zone != ruling.zone.rawValue || node.pointee.zoneEpoch != zoneEpoch,
        node.pointee.parent == parent,
        names.equals(node.pointee.name, name.cString, count: name.count)
      {
        setZone(node, ruling)
      }
      node.pointee.lookups += 1
      RequestRecord.noteLookup(id(of: known))
      return known
    }
    return try add(parent, name, type: status.mode & 0o170000, identity, ruling)
  }

  /// Counts a lookup of an entry of the table of chunks, and returns its node.
  func enterSealed(
    _ parent: NodeIndex, _ name: Name, _ entry: UInt32, type: UInt32, _ ruling: Ruling
  ) throws(Errno) -> NodeIndex {
    let identity = SealedBundle.identity(entry)
    lock.lock()
    defer { lock.unlock() }
    let known = find(identity)
    if known != 0 {
      let node = record(known)
      if node.pointee.zone != ruling.zone.rawValue || node.pointee.zoneEpoch != zoneEpoch {
        setZone(node, ruling)
      }
      node.pointee.lookups += 1
      RequestRecord.noteLookup(id(of: known))
      return known
    }
    return try add(parent, name, type: type, identity, ruling, sealed: entry)
  }

  func add(
    _ parent: NodeIndex, _ name: Name, type: UInt32, _ identity: Identity, _ ruling: Ruling,
    sealed entry: UInt32 = SealedBundle.none
  ) throws(Errno) -> NodeIndex {
    let index = slab.take()
    guard index != 0 else { throw .noMemory }
    let cells = names.store(name.cString, count: name.count)
    guard cells != 0 else {
      slab.give(index)
      throw .noMemory
    }
    header.pointee.generation &+= 1
    // 0 is the permanent nodes' own.
    if header.pointee.generation == 0 { header.pointee.generation = 1 }
    let node = record(index)
    node.initialize(to: NodeRecord.empty)
    node.pointee.generation = header.pointee.generation
    node.pointee.parent = parent
    node.pointee.name = cells
    node.pointee.identity = identity
    node.pointee.type = type
    node.pointee.lookups = 1
    node.pointee.entry = entry
    setZone(node, ruling)
    record(parent).pointee.children += 1
    insert(index)
    FaultPoint.insideTable.pass()
    var state = record(parent).pointee.state.intersection(.bundle).union(.live)
    if entry != SealedBundle.none { state.insert(.sealed) }
    publish(state: state.rawValue, at: slab.slot(index))
    RequestRecord.noteLookup(id(of: index))
    return index
  }

  @inline(__always)
  func setZone(_ node: UnsafeMutablePointer<NodeRecord>, _ ruling: Ruling) {
    node.pointee.zone = ruling.zone.rawValue
    // One that was computed before the last change is computed anew at its next use.
    node.pointee.zoneEpoch = ruling.epoch
  }

  /// Counts a lookup of a node that is there for certain.
  func enterKnown(_ index: NodeIndex) {
    lock.lock()
    record(index).pointee.lookups += 1
    RequestRecord.noteLookup(id(of: index))
    lock.unlock()
  }

  /// Takes back lookups, and frees what nothing refers to any more.
  func forget(_ id: UInt64, _ count: UInt64) {
    var closing = Closing(backingFiles)
    lock.lock()
    if let index = try? indexLocked(of: id) {
      let node = record(index)
      node.pointee.lookups -= min(count, node.pointee.lookups)
      FaultPoint.insideTable.pass()
      freeUnreferenced(index, &closing)
    }
    let isFull = late.isFull
    lock.unlock()
    closing.closeAll()
    if isFull { closeLate() }
  }

  /// Frees a node that neither the kernel nor a child nor a request under way refers to, then its
  /// parent likewise.
  func freeUnreferenced(_ index: NodeIndex, _ closing: inout Closing) {
    var index = index
    while index != 0 {
      let node = record(index)
      guard node.pointee.lookups == 0, node.pointee.children == 0, node.pointee.opens == 0,
        node.pointee.pins == 0, node.pointee.state.isDisjoint(with: .permanent),
        node.pointee.state.contains(.live)
      else { return }
      let parent = node.pointee.parent
      if !node.pointee.state.contains(.unhashed) { remove(index) }
      dropDescriptor(node, index, &closing)
      closing.takeBacking(of: node)
      endAccount(of: node)
      let name = node.pointee.name
      clear(stateAt: slab.slot(index))
      names.free(name)
      slab.give(index)
      if parent != 0 { record(parent).pointee.children -= 1 }
      index = parent
    }
  }

  func dropDescriptor(
    _ node: UnsafeMutablePointer<NodeRecord>, _ index: NodeIndex,
    _ closing: inout Closing
  ) {
    guard node.pointee.descriptor >= 0 else { return }
    if node.pointee.state.contains(.anchored) {
      anchoredCount -= 1
      if !closeLater(node) { closing.add(node.pointee.descriptor) }
    } else {
      unlinkRecent(index)
      closing.add(node.pointee.descriptor)
    }
    descriptorCount -= 1
    node.pointee.descriptor = -1
  }
}

extension NodeTable {
  /// A handle is about to be made.
  ///
  /// Returns the backing file by which all handles of the node are open, 0 if they are not open in
  /// passthrough, and whether this is the first that can be mapped shared for writing.
  ///
  /// The kernel wants all that are open at once to agree, so the first decides: `path` is what it
  /// is registered by, -1 if its I/O is to come to us, as it does where passthrough can't be had.
  /// To register is a short call on the kernel's table, not on the backing store, and so may be
  /// made under the lock.
  ///
  /// Throws ENFILE if as many as can be are open: an app that opens without end stops here, and
  /// what else there is to do goes on.
  func opened(
    _ index: NodeIndex, _ state: HandleRecord.State, path: CInt = -1
  ) throws(Errno) -> (backing: Int32, isFirstMapper: Bool) {
    var closing = Closing(backingFiles)
    lock.lock()
    guard openCount < openLimit else {
      lock.unlock()
      throw .fileTableOverflow
    }
    openCount += 1
    let node = record(index)
    if node.pointee.opens == 0 && path >= 0 && register(node, path) {
      node.pointee.state.insert(.passing)
    }
    node.pointee.opens += 1
    let mappers = node.pointee.mappers
    count(state, 1, in: node)
    let opening = (backing(of: node), mappers == 0 && node.pointee.mappers == 1)
    evict(&closing, sparing: index)
    lock.unlock()
    closing.closeAll()
    return opening
  }

  /// Makes a file known to the kernel, if it is not; false if that can't be, which is no error.
  private func register(_ node: UnsafeMutablePointer<NodeRecord>, _ path: CInt) -> Bool {
    if node.pointee.backing == 0 {
      node.pointee.backing = (try? backingFiles?.open(path)) ?? 0
      FaultPoint.insideTable.pass()
      if node.pointee.backing != 0 { header.pointee.lastBacking = node.pointee.backing }
      if node.pointee.descriptor == path { node.pointee.state.insert(.lasting) }
    }
    return node.pointee.backing != 0
  }

  /// A handle is gone; the inode number of an orphan that nobody has open any more.
  @discardableResult
  func closed(_ index: NodeIndex, _ state: HandleRecord.State) -> UInt64? {
    var closing = Closing(backingFiles)
    var orphan: UInt64?
    lock.lock()
    FaultPoint.insideTable.pass()
    let node = record(index)
    node.pointee.opens -= 1
    openCount -= 1
    count(state, -1, in: node)
    if node.pointee.opens == 0 {
      node.pointee.state.remove(.passing)
      // What nodes may keep is counted by their descriptors.
      if node.pointee.descriptor < 0 || !node.pointee.state.contains(.lasting) {
        closing.takeBacking(of: node)
      }
      if node.pointee.state.contains(.orphaned) {
        orphan = node.pointee.inode
        node.pointee.state.remove(.orphaned)
        detach(index)
        unhash(index)
      }
    }
    freeUnreferenced(index, &closing)
    lock.unlock()
    closing.closeAll()
    return orphan
  }

  /// Counts a handle by what it may do.
  func count(
    _ state: HandleRecord.State, _ change: Int32, in node: UnsafeMutablePointer<NodeRecord>
  ) {
    guard state.contains(.writable) else { return }
    node.pointee.writers = node.pointee.writers &+ UInt32(bitPattern: change)
    if state.contains(.readable) {
      node.pointee.mappers = node.pointee.mappers &+ UInt32(bitPattern: change)
    }
  }

  /// Whether a node may be mapped shared for writing in passthrough, and so changes without a
  /// message.
  ///
  /// What write(2) does there the kernel sees itself.
  @inline(__always)
  func changesUnseen(_ index: NodeIndex) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return record(index).pointee.state.contains(.passing) && record(index).pointee.mappers > 0
  }

  /// Whether a node is open in passthrough now.
  func isOpenInPassthrough(_ index: NodeIndex) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return record(index).pointee.state.contains(.passing)
  }

  /// The backing file by which a node is open; 0 if it is not open in passthrough.
  func backing(of index: NodeIndex) -> Int32 {
    lock.lock()
    defer { lock.unlock() }
    return backing(of: record(index))
  }

  @inline(__always)
  private func backing(of node: UnsafeMutablePointer<NodeRecord>) -> Int32 {
    node.pointee.state.contains(.passing) ? node.pointee.backing : 0
  }

  /// How a known inode is open; nothing if it is not known.
  func openCounts(_ status: borrowing InodeStatus) -> (opens: UInt32, writers: UInt32) {
    lock.lock()
    defer { lock.unlock() }
    let index = find(Identity(status))
    guard index != 0 else { return (0, 0) }
    return (record(index).pointee.opens, record(index).pointee.writers)
  }
}
