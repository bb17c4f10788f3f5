// The arena after the death of the process that served: first whether it can be trusted, then what
// that process had left half done, then the derived fields.
import LinuxKit
import Policy

/// Why nobody can go on with what a process left: its memory is not what it can have been.
public struct DamagedState: Error {
  /// What is wrong with it, in a few words.
  public let description: String

  init(_ description: String) { self.description = description }
}

extension NodeTable {
  /// Goes on with what another process left; the backing files that nobody has open any more.
  ///
  /// Only while no request is served.
  func recover(_ handles: HandleTable) throws(DamagedState) -> [Int32] {
    lock.reset()
    lock.lock()
    defer { lock.unlock() }
    guard header.pointee.layoutVersion == Arena.layoutVersion else {
      throw DamagedState("it is of another version")
    }
    slab.populate()
    names.populate()
    try check(handles)
    try claimNames()
    slab.forEach { index in
      complete(index)
      forgetZone(index)
    }
    zoneEpoch = 0
    raiseZoneEpoch()
    derive(handles)
    let unused = settle()
    freeUnreferenced()
    return unused
  }

  // MARK: What must hold at any moment

  private func check(_ handles: HandleTable) throws(DamagedState) {
    var fault: DamagedState?
    slab.forEach { index in
      record(index).pointee.pins = 0
      let node = record(index).pointee
      if node.parent != 0 && !isDirectory(node.parent) {
        fault = DamagedState("node \(index) is in no directory")
      }
      if !node.state.contains(.live) { fault = DamagedState("node \(index) is half there") }
    }
    for index in [NodeTable.root, NodeTable.bundle, NodeTable.orphans]
    where !slab.isLive(index) || !record(index).pointee.state.contains(.permanent) {
      fault = DamagedState("a permanent node is gone")
    }
    handles.forEach { handle in
      if !slab.isLive(handle.node) { fault = DamagedState("a file is open that is not there") }
    }
    if let fault { throw fault }
    try checkWays()
  }

  private func isDirectory(_ index: NodeIndex) -> Bool {
    slab.isLive(index) && record(index).pointee.isDirectory
  }

  /// Every way up ends: no directory is below itself.
  ///
  /// `pins`, which is derived and 0 here, says on which walk a node was passed.
  private func checkWays() throws(DamagedState) {
    var hasCircle = false
    slab.forEach { start in
      var index = start
      while index != 0 && record(index).pointee.pins == 0 {
        record(index).pointee.pins = start
        index = record(index).pointee.parent
      }
      if index != 0 && record(index).pointee.pins == start { hasCircle = true }
    }
    if hasCircle { throw DamagedState("a directory is below itself") }
  }

  private func claimNames() throws(DamagedState) {
    names.doubtAll()
    var isSound = true
    slab.forEach { index in isSound = names.claim(record(index).pointee.name) && isSound }
    guard isSound else { throw DamagedState("a name is cut off") }
    names.freeUnclaimed()
  }

  // MARK: What may be half done

  private func complete(_ index: NodeIndex) {
    let node = record(index)
    guard node.pointee.state.isDisjoint(with: .permanent) else { return }
    // Its descriptor is closed when it ends, not later: until somebody serves, what no node has any
    // more is taken for what belongs to nobody, is closed, and may be another file by then.
    node.pointee.state.remove(.light)
    // Without a name the descriptor is the only way to it.
    if node.pointee.parent == 0 && node.pointee.descriptor >= 0 {
      node.pointee.state.insert(.anchored)
    } else {
      node.pointee.state.remove(.anchored)
    }
    if node.pointee.parent == NodeTable.orphans { node.pointee.state.insert(.orphaned) }
  }

  /// Zones are numbers of a policy that died with the process.
  private func forgetZone(_ index: NodeIndex) {
    let node = record(index)
    node.pointee.zoneEpoch = 0
    if node.pointee.parent == 0 && !node.pointee.state.contains(.permanent) {
      node.pointee.zone = Ruling.withoutPath.rawValue
    }
  }

  /// What the last release would have done where the process died before it was through.
  private func settle() -> [Int32] {
    var unused: [Int32] = []
    slab.forEach { index in
      let node = record(index)
      guard node.pointee.opens == 0 else { return }
      node.pointee.state.subtract([.passing, .lasting])
      if node.pointee.backing != 0 {
        unused.append(node.pointee.backing)
        node.pointee.backing = 0
      }
      if node.pointee.state.contains(.orphaned) {
        node.pointee.state.remove(.orphaned)
        detach(index)
        unhash(index)
      }
    }
    return unused
  }

  // MARK: What belongs to whom

  /// Adds the descriptors of all nodes.
  func addDescriptors(to set: inout DescriptorSet) {
    slab.forEach { index in set.insert(record(index).pointee.descriptor) }
  }

  /// The numbers of nodes that nothing but the kernel's references keeps: no name leads to them,
  /// and nobody has them open.
  func unnamedNodes() -> [UInt64] {
    lock.lock()
    defer { lock.unlock() }
    var found: [UInt64] = []
    slab.forEach { index in
      let node = record(index).pointee
      if node.state.contains(.unhashed), node.state.isDisjoint(with: .permanent), node.opens == 0,
        node.pins == 0, node.lookups > 0
      {
        found.append(id(of: index))
      }
    }
    return found
  }

  /// The backing files of all nodes.
  func ownedBackings() -> Set<Int32> {
    var owned: Set<Int32> = []
    slab.forEach { index in owned.insert(record(index).pointee.backing) }
    return owned
  }

  /// The inodes of all orphans.
  func ownedOrphans() -> Set<UInt64> {
    var owned: Set<UInt64> = []
    slab.forEach { index in
      let node = record(index).pointee
      if node.state.contains(.orphaned) { owned.insert(node.inode) }
    }
    return owned
  }

  /// Judges by the policy that was set last.
  func restorePolicy(_ generation: PolicyGeneration) {
    lock.lock()
    self.generation = generation
    lock.unlock()
  }
}
