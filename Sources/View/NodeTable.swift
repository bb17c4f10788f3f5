// The nodes of a view: which file is which number, where its name is, and how long it lives.
//
// A node is found by the identity of its inode, so that two names of one file are one node. It
// holds the one name by which it was found last, and a descriptor only while one is needed.
//
// Everything is guarded by the arena's lock. No system call on the backing store is made under it.
import LinuxKit
import Policy

/// The index of a slot in the node table; 0 is none.
typealias NodeIndex = UInt32

final class NodeTable: @unchecked Sendable {
  static let root: NodeIndex = 1
  static let bundle: NodeIndex = 2
  static let orphans: NodeIndex = 3

  let lock: PlainLock
  let policy: PolicyEngine
  private let header: UnsafeMutablePointer<Arena.Header>
  @exclusivity(unchecked) var slab: Slab
  @exclusivity(unchecked) var names: NameCells

  // Derived: the hash of identities, by linear hashing, which grows one bucket at a time.
  private let buckets: UnsafeMutablePointer<NodeIndex>
  @exclusivity(unchecked) private var bucketCount: UInt64 = 1
  @exclusivity(unchecked) private var roundSize: UInt64 = 1
  @exclusivity(unchecked) private var hashedCount: UInt64 = 0

  // Derived: descriptors that may be closed, most recently used first.
  @exclusivity(unchecked) var mostRecent: NodeIndex = 0
  @exclusivity(unchecked) var leastRecent: NodeIndex = 0
  @exclusivity(unchecked) var descriptorCount = 0
  @exclusivity(unchecked) var anchoredCount = 0
  let descriptorLimit: Int
  let anchoredLimit: Int

  // Renames and removals under way: while there are any, a name that is not where it was may only
  // be on its way.
  @exclusivity(unchecked) private var movesUnderWay: UInt32 = 0
  @exclusivity(unchecked) private var moveCount: UInt32 = 0
  /// Raised when the zones of a whole subtree may have changed.
  @exclusivity(unchecked) private var zoneEpoch: UInt32 = 1

  /// The path of a descriptor itself, for the *at calls.
  let emptyPath: UnsafePointer<CChar>

  private static let bucketCapacity: UInt64 = 1 << 24

  /// A table with its permanent nodes, over directories whose descriptors it takes.
  ///
  /// `descriptorLimit` is how many descriptors nodes may hold in all.
  init(
    _ arena: Arena, _ policy: PolicyEngine, root: CInt, bundle: CInt?, bundleName: [UInt8],
    orphans: CInt, descriptorLimit: Int
  ) throws(Errno) {
    lock = arena.lock
    header = arena.header
    slab = arena.nodes
    names = arena.names
    self.policy = policy
    self.descriptorLimit = descriptorLimit
    anchoredLimit = descriptorLimit / 2
    let mapping = try Mapping(reserving: Int(NodeTable.bucketCapacity) * 4)
    buckets = mapping.start.bindMemory(
      to: NodeIndex.self, capacity: Int(NodeTable.bucketCapacity))
    let empty = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    empty.pointee = 0
    emptyPath = UnsafePointer(empty)
    try addPermanent(NodeTable.root, root, parent: 0, name: [], [])
    try addPermanent(
      NodeTable.bundle, bundle ?? -1, parent: NodeTable.root, name: bundleName, .bundle)
    try addPermanent(NodeTable.orphans, orphans, parent: 0, name: [], [])
  }

  private func addPermanent(
    _ index: NodeIndex, _ descriptor: CInt, parent: NodeIndex, name: [UInt8],
    _ state: NodeRecord.State
  ) throws(Errno) {
    let taken = slab.take()
    precondition(taken == index, "permanent nodes come first")
    let node = record(index)
    node.initialize(to: NodeRecord.empty)
    node.pointee.descriptor = descriptor
    node.pointee.zoneEpoch = zoneEpoch
    node.pointee.type = 0o040000
    node.pointee.zone = ZoneID.root.rawValue
    if parent != 0 && !name.isEmpty {
      node.pointee.parent = parent
      let text = name.map { CChar(bitPattern: $0) } + [0]
      node.pointee.name = names.store(text, count: name.count)
      node.pointee.zone = policy.zone(named: name.span, in: ZoneID.root).rawValue
      record(parent).pointee.children += 1
    }
    if descriptor >= 0 {
      let status = try InodeStatus.of(descriptor)
      node.pointee.identity = Identity(status)
    }
    // They are known by their index, never found by their identity.
    node.pointee.state = state.union([.live, .permanent, .unhashed])
  }

  @inline(__always)
  func record(_ index: NodeIndex) -> UnsafeMutablePointer<NodeRecord> {
    slab.slot(index).assumingMemoryBound(to: NodeRecord.self)
  }

  /// How many nodes there are, the permanent ones included.
  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return slab.liveCount
  }
}

// MARK: - Numbers

extension NodeTable {
  /// The slot that a number of the kernel's names.
  ///
  /// Throws ESTALE for a number that names no living node, which a sound kernel never sends.
  @inline(__always)
  func index(of id: UInt64) throws(Errno) -> NodeIndex {
    let index = NodeIndex(truncatingIfNeeded: id)
    guard slab.contains(index) else { throw .stale }
    let node = record(index)
    guard node.pointee.state.contains(.live),
      node.pointee.generation == UInt32(truncatingIfNeeded: id >> 32)
    else { throw .stale }
    return index
  }

  /// The number by which the kernel knows a node.
  @inline(__always)
  func id(of index: NodeIndex) -> UInt64 {
    UInt64(record(index).pointee.generation) << 32 | UInt64(index)
  }
}

// MARK: - The hash of identities

extension NodeTable {
  @inline(__always)
  private func bucket(_ identity: Identity) -> UnsafeMutablePointer<NodeIndex> {
    let hash = identity.hash
    let narrow = hash & (roundSize - 1)
    let wide = hash & (roundSize * 2 - 1)
    // Buckets before the split point of this round are already divided.
    return buckets + Int(narrow < bucketCount - roundSize ? wide : narrow)
  }

  /// The node of an inode; 0 if there is none.
  func find(_ identity: Identity) -> NodeIndex {
    var index = bucket(identity).pointee
    while index != 0 {
      let node = record(index)
      if node.pointee.inode == identity.inode && node.pointee.device == identity.device {
        if node.pointee.birthNanoseconds == identity.birthNanoseconds { return index }
      }
      index = node.pointee.nextInBucket
    }
    return 0
  }

  func insert(_ index: NodeIndex) {
    hashedCount += 1
    if hashedCount > bucketCount && bucketCount < NodeTable.bucketCapacity { split() }
    let bucket = bucket(record(index).pointee.identity)
    record(index).pointee.nextInBucket = bucket.pointee
    bucket.pointee = index
  }

  private func remove(_ index: NodeIndex) {
    var place = bucket(record(index).pointee.identity)
    while place.pointee != 0 {
      if place.pointee == index {
        place.pointee = record(index).pointee.nextInBucket
        hashedCount -= 1
        return
      }
      let next =
        UnsafeMutableRawPointer(record(place.pointee))
        + (MemoryLayout<NodeRecord>.offset(of: \.nextInBucket) ?? 0)
      place = next.assumingMemoryBound(to: NodeIndex.self)
    }
  }

  /// Forgets where every node is found.
  func clearBuckets() {
    Mapping.discard(UnsafeMutableRawPointer(buckets), byteCount: Int(NodeTable.bucketCapacity) * 4)
    bucketCount = 1
    roundSize = 1
    hashedCount = 0
  }

  /// Divides one bucket in two, so that growth never stops the table for long.
  private func split() {
    let source = buckets + Int(bucketCount - roundSize)
    let target = buckets + Int(bucketCount)
    var index = source.pointee
    source.pointee = 0
    while index != 0 {
      let node = record(index)
      let next = node.pointee.nextInBucket
      let moves = node.pointee.identity.hash & roundSize != 0
      let place = moves ? target : source
      node.pointee.nextInBucket = place.pointee
      place.pointee = index
      index = next
    }
    bucketCount += 1
    if bucketCount == roundSize * 2 { roundSize = bucketCount }
  }
}

// MARK: - Lookups and forgets

extension NodeTable {
  /// Counts a lookup of `name` in `parent`, whose inode has `status`, and returns its node.
  ///
  /// The count is raised before any answer is sent. Throws ENOMEM when the table is full.
  func enter(
    _ parent: NodeIndex, _ name: Name, _ status: borrowing InodeStatus, _ zone: ZoneID
  ) throws(Errno) -> NodeIndex {
    let identity = Identity(status)
    lock.lock()
    defer { lock.unlock() }
    let known = find(identity)
    if known != 0 {
      let node = record(known)
      if node.pointee.state.contains(.anchored) && !node.pointee.state.contains(.permanent) {
        try giveName(known, parent, name)
      }
      // Only the known name's zone is the node's: another name of the inode may be in another.
      if node.pointee.zone != zone.rawValue, node.pointee.parent == parent,
        names.equals(node.pointee.name, name.cString, count: name.count)
      {
        setZone(node, zone)
      }
      node.pointee.lookups += 1
      return known
    }
    return try add(parent, name, status, identity, zone)
  }

  private func add(
    _ parent: NodeIndex, _ name: Name, _ status: borrowing InodeStatus, _ identity: Identity,
    _ zone: ZoneID
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
    node.pointee.type = status.mode & 0o170000
    node.pointee.lookups = 1
    setZone(node, zone)
    record(parent).pointee.children += 1
    insert(index)
    node.pointee.state = record(parent).pointee.state.intersection(.bundle).union(.live)
    return index
  }

  @inline(__always)
  private func setZone(_ node: UnsafeMutablePointer<NodeRecord>, _ zone: ZoneID) {
    node.pointee.zone = zone.rawValue
    node.pointee.zoneEpoch = zoneEpoch
  }

  /// Counts a lookup of a node that is always there.
  func enterPermanent(_ index: NodeIndex) {
    lock.lock()
    record(index).pointee.lookups += 1
    lock.unlock()
  }

  /// Takes back lookups, and frees what nothing refers to any more.
  func forget(_ id: UInt64, _ count: UInt64) {
    var closing = ClosingDescriptors()
    lock.lock()
    if let index = try? index(of: id) {
      let node = record(index)
      node.pointee.lookups -= min(count, node.pointee.lookups)
      freeUnreferenced(index, &closing)
    }
    lock.unlock()
    closing.closeAll()
  }

  /// Frees a node that neither the kernel nor a child nor a request under way refers to, then its
  /// parent likewise.
  func freeUnreferenced(_ index: NodeIndex, _ closing: inout ClosingDescriptors) {
    var index = index
    while index != 0 {
      let node = record(index)
      guard node.pointee.lookups == 0, node.pointee.children == 0, node.pointee.opens == 0,
        node.pointee.pins == 0, !node.pointee.state.contains(.permanent)
      else { return }
      let parent = node.pointee.parent
      if !node.pointee.state.contains(.unhashed) { remove(index) }
      dropDescriptor(node, index, &closing)
      names.free(node.pointee.name)
      node.pointee.state = []
      slab.give(index)
      if parent != 0 { record(parent).pointee.children -= 1 }
      index = parent
    }
  }

  private func dropDescriptor(
    _ node: UnsafeMutablePointer<NodeRecord>, _ index: NodeIndex,
    _ closing: inout ClosingDescriptors
  ) {
    guard node.pointee.descriptor >= 0 else { return }
    if node.pointee.state.contains(.anchored) {
      anchoredCount -= 1
    } else {
      unlinkRecent(index)
    }
    descriptorCount -= 1
    closing.add(node.pointee.descriptor)
    node.pointee.descriptor = -1
  }
}

// MARK: - Moves and removals

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
    guard index != 0, record(index).pointee.parent == parent,
      names.equals(record(index).pointee.name, name.cString, count: name.count)
    else { return 0 }
    return index
  }

  /// A name was moved: the node that was known by it is known by the new one.
  ///
  /// `newZone` is the new name's zone; a directory whose zone changes makes those below it stale.
  func moved(
    _ name: Name, _ parent: NodeIndex, to newName: Name, _ newParent: NodeIndex,
    _ status: borrowing InodeStatus, newZone: ZoneID
  ) {
    var closing = ClosingDescriptors()
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
        node.pointee.name = cells
        names.free(old)
        node.pointee.parent = newParent
        record(newParent).pointee.children += 1
        record(parent).pointee.children -= 1
      }
      if node.pointee.isDirectory && node.pointee.zone != newZone.rawValue { raiseZoneEpoch() }
      setZone(node, newZone)
      freeUnreferenced(parent, &closing)
    }
    lock.unlock()
    closing.closeAll()
  }

  /// A name is gone: the node that was known by it is reached by `descriptor` from now on.
  ///
  /// Takes the descriptor. `status` is from before the removal.
  func removed(
    _ name: Name, _ parent: NodeIndex, _ status: borrowing InodeStatus,
    descriptor: consuming Descriptor
  ) {
    var closing = ClosingDescriptors()
    let raw = descriptor.release()
    lock.lock()
    let index = node(at: name, in: parent, status)
    if index == 0 {
      closing.add(raw)
    } else {
      anchor(index, raw, &closing)
      detach(index)
      let isLast = status.linkCount <= 1 || record(index).pointee.isDirectory
      if isLast { unhash(index) }
      freeUnreferenced(index, &closing)
      freeUnreferenced(parent, &closing)
    }
    lock.unlock()
    closing.closeAll()
  }

  /// Keeps a descriptor for good, unless too many are kept already and nobody has the file open.
  private func anchor(_ index: NodeIndex, _ raw: CInt, _ closing: inout ClosingDescriptors) {
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
      closing.add(node.pointee.descriptor)
      node.pointee.descriptor = -1
    }
  }

  /// Takes a node's name away.
  func detach(_ index: NodeIndex) {
    let node = record(index)
    if node.pointee.parent != 0 { record(node.pointee.parent).pointee.children -= 1 }
    node.pointee.parent = 0
    names.free(node.pointee.name)
    node.pointee.name = 0
  }

  /// No name leads to this inode any more: its number may be used again by another.
  func unhash(_ index: NodeIndex) {
    guard !record(index).pointee.state.contains(.unhashed) else { return }
    remove(index)
    record(index).pointee.state.insert(.unhashed)
  }

  /// A node without a name was found by another one.
  private func giveName(_ index: NodeIndex, _ parent: NodeIndex, _ name: Name) throws(Errno) {
    let cells = names.store(name.cString, count: name.count)
    guard cells != 0 else { throw .noMemory }
    let node = record(index)
    node.pointee.name = cells
    node.pointee.parent = parent
    record(parent).pointee.children += 1
    node.pointee.state.remove(.anchored)
    anchoredCount -= 1
    linkRecent(index)
  }

  private func raiseZoneEpoch() {
    zoneEpoch &+= 1
    for index in [NodeTable.root, NodeTable.bundle, NodeTable.orphans] {
      record(index).pointee.zoneEpoch = zoneEpoch
    }
  }
}

// MARK: - Zones

extension NodeTable {
  /// The zone of a node, computed anew from its parents if it is stale.
  ///
  /// A node without a name keeps the zone that it had.
  func zone(of index: NodeIndex, _ scratch: ThreadScratch) -> ZoneID {
    lock.lock()
    defer { lock.unlock() }
    let node = record(index)
    while node.pointee.zoneEpoch != zoneEpoch {
      // The highest stale ancestor first: one level a turn, without recursion.
      var stale = index
      while true {
        let parent = record(stale).pointee.parent
        if parent == 0 || record(parent).pointee.zoneEpoch == zoneEpoch { break }
        stale = parent
      }
      refreshZone(stale, scratch)
    }
    return ZoneID(rawValue: node.pointee.zone)
  }

  private func refreshZone(_ index: NodeIndex, _ scratch: ThreadScratch) {
    let node = record(index)
    guard node.pointee.parent != 0 else {
      node.pointee.zoneEpoch = zoneEpoch
      return
    }
    let buffer = scratch.name(ScratchName.zone)
    let count = names.copy(node.pointee.name, to: buffer)
    let bytes = UnsafeBufferPointer(
      start: UnsafeRawPointer(buffer).assumingMemoryBound(to: UInt8.self), count: count)
    let parent = ZoneID(rawValue: record(node.pointee.parent).pointee.zone)
    setZone(node, policy.zone(named: bytes.span, in: parent))
  }
}

// MARK: - Open files

extension NodeTable {
  /// A handle was made.
  func opened(_ index: NodeIndex, forWriting: Bool) {
    lock.lock()
    record(index).pointee.opens += 1
    if forWriting { record(index).pointee.writers += 1 }
    lock.unlock()
  }

  /// A handle is gone.
  ///
  /// Returns the inode number of an orphan that nobody has open any more.
  @discardableResult
  func closed(_ index: NodeIndex, forWriting: Bool) -> UInt64? {
    var closing = ClosingDescriptors()
    var orphan: UInt64?
    lock.lock()
    let node = record(index)
    node.pointee.opens -= 1
    if forWriting { node.pointee.writers -= 1 }
    if node.pointee.opens == 0 && node.pointee.state.contains(.orphaned) {
      orphan = node.pointee.inode
      node.pointee.state.remove(.orphaned)
      detach(index)
      unhash(index)
    }
    freeUnreferenced(index, &closing)
    lock.unlock()
    closing.closeAll()
    return orphan
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
