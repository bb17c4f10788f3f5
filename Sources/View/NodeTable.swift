// The nodes of a view: which file is which number, where its name is, and how long it lives.
//
// A node is found by the identity of its inode, so that two names of one file are one node. It
// holds the one name by which it was found last, and a descriptor only while one is needed.
//
// Everything is guarded by the arena's lock. No system call on the backing store is made under it.
import FuseKit
import LinuxKit
import Policy

/// The index of a slot in the node table; 0 is none.
typealias NodeIndex = UInt32

final class NodeTable: @unchecked Sendable {
  static let root: NodeIndex = 1
  static let bundle: NodeIndex = 2
  static let orphans: NodeIndex = 3

  let lock: PlainLock
  /// The policy by which requests are judged from now on.
  @exclusivity(unchecked) var generation: PolicyGeneration
  let header: UnsafeMutablePointer<Arena.Header>
  let books: Books
  /// Where the kernel may do I/O itself; set before the first request.
  @exclusivity(unchecked) var backingFiles: BackingFiles?
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
  /// How many files and directories may be open at once.
  let openLimit: Int
  @exclusivity(unchecked) var openCount = 0
  /// What is left to requests under way, the kernel's device, the control socket and the log.
  let reservedDescriptors = 32
  /// What is to be closed soon.
  @exclusivity(unchecked) var late = LateClosing()
  let lateBell = Doorbell()

  // Renames and removals under way: while there are any, a name that is not where it was may only
  // be on its way.
  @exclusivity(unchecked) var movesUnderWay: UInt32 = 0
  @exclusivity(unchecked) var moveCount: UInt32 = 0
  /// How often an xattr of any node was set.
  @exclusivity(unchecked) var attributeChanges: UInt32 = 0
  /// Raised when the zones of a whole subtree may have changed.
  @exclusivity(unchecked) var zoneEpoch: UInt32 = 1

  /// The path of a descriptor itself, for the *at calls.
  let emptyPath: UnsafePointer<CChar>

  private static let bucketCapacity: UInt64 = 1 << 24

  /// A table with its permanent nodes, over directories whose descriptors it takes; or the one that
  /// another process has left, which is yet to be recovered.
  ///
  /// `descriptorLimit` is how many descriptors nodes may hold in all, half of the process's.
  init(
    _ arena: Arena, _ policy: PolicyEngine, root: CInt, bundle: CInt?, bundleName: [UInt8],
    orphans: CInt, descriptorLimit: Int, isInherited: Bool = false
  ) throws(Errno) {
    lock = arena.lock
    header = arena.header
    books = try Books(arena)
    slab = arena.nodes
    names = arena.names
    generation = PolicyGeneration(policy, number: 1)
    precondition(NodeRecord.placeOffset % 8 == 0, "a node's place is one word")
    self.descriptorLimit = descriptorLimit
    anchoredLimit = descriptorLimit / 2
    openLimit = max(16, 2 * descriptorLimit - anchoredLimit - reservedDescriptors)
    let mapping = try Mapping(reserving: Int(NodeTable.bucketCapacity) * 4)
    buckets = mapping.start.bindMemory(
      to: NodeIndex.self, capacity: Int(NodeTable.bucketCapacity))
    let empty = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    empty.pointee = 0
    emptyPath = UnsafePointer(empty)
    if isInherited { return }
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
    node.pointee.zone = (index == NodeTable.orphans ? Ruling.withoutPath : ZoneID.root).rawValue
    if parent != 0 && !name.isEmpty {
      node.pointee.parent = parent
      let text = name.map { CChar(bitPattern: $0) } + [0]
      node.pointee.name = names.store(text, count: name.count)
      let zone = generation.engine.zone(named: name.span, in: ZoneID.root)
      node.pointee.zone = zone.rawValue
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

  /// Gives a node another place, in one store; 0 and 0 for none.
  @inline(__always)
  func setPlace(_ index: NodeIndex, parent: NodeIndex, name: UInt32) {
    publish(pair: (parent, name), at: slab.slot(index) + NodeRecord.placeOffset)
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
    lock.lock()
    defer { lock.unlock() }
    return try indexLocked(of: id)
  }

  /// The same under the lock.
  @inline(__always)
  func indexLocked(of id: UInt64) throws(Errno) -> NodeIndex {
    let index = NodeIndex(truncatingIfNeeded: id)
    guard slab.contains(index) else { throw .stale }
    let node = record(index)
    guard node.pointee.state.contains(.live),
      node.pointee.generation == UInt32(truncatingIfNeeded: id >> 32)
    else { throw .stale }
    return index
  }

  /// The entry of a node in the table of chunks, which it has for its life.
  @inline(__always)
  func entry(of index: NodeIndex) -> UInt32 { record(index).pointee.entry }

  /// The bundle is sealed: its own entry is the table's first.
  ///
  /// Before the first request.
  func sealBundle() {
    let node = record(NodeTable.bundle)
    node.pointee.entry = 0
    node.pointee.inode = SealedBundle.inode(0)
  }

  /// What is the matter with a node right now.
  @inline(__always)
  func state(of index: NodeIndex) -> NodeRecord.State {
    lock.lock()
    defer { lock.unlock() }
    return record(index).pointee.state
  }

  /// What is known of a node's `security.capability`: that it has none, or else how often an
  /// xattr was set until now.
  func capability(of index: NodeIndex) -> (isAbsent: Bool, changes: UInt32) {
    lock.lock()
    defer { lock.unlock() }
    return (record(index).pointee.state.contains(.incapable), attributeChanges)
  }

  /// A node was found without `security.capability`, which is kept in mind unless an xattr was set
  /// since there had been so many changes; or it was just made.
  func noteIncapable(_ index: NodeIndex, since changes: UInt32? = nil) {
    lock.lock()
    if changes == nil || changes == attributeChanges {
      record(index).pointee.state.insert(.incapable)
    }
    lock.unlock()
  }

  /// An xattr of a node is about to be set, or was.
  func noteAttributeChange(_ index: NodeIndex) {
    lock.lock()
    attributeChanges &+= 1
    record(index).pointee.state.remove(.incapable)
    lock.unlock()
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

  /// The number by which the kernel knows an inode; nil if it does not.
  func known(_ identity: Identity) -> NodeID? {
    lock.lock()
    defer { lock.unlock() }
    let index = find(identity)
    return index == 0 ? nil : NodeID(id(of: index))
  }

  func insert(_ index: NodeIndex) {
    hashedCount += 1
    if hashedCount > bucketCount && bucketCount < NodeTable.bucketCapacity { split() }
    let bucket = bucket(record(index).pointee.identity)
    record(index).pointee.nextInBucket = bucket.pointee
    bucket.pointee = index
  }

  func remove(_ index: NodeIndex) {
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

  /// Forgets where every node is found, and makes room for as many as there are.
  func clearBuckets() {
    Mapping.discard(UnsafeMutableRawPointer(buckets), byteCount: Int(NodeTable.bucketCapacity) * 4)
    bucketCount = min(UInt64(max(1, slab.liveCount)), NodeTable.bucketCapacity)
    roundSize = 1 << UInt64(bucketCount.bitWidth - 1 - bucketCount.leadingZeroBitCount)
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
