// Which zone a node is in, by which policy: computed from its parents when it is needed, so that a
// rename or another policy walks nothing.
import LinuxKit
import Policy

extension NodeTable {
  /// The ruling about a node, by the policy of now; computed anew from its parents if it is stale.
  func ruling(of index: NodeIndex, _ scratch: ThreadScratch) -> Ruling {
    lock.lock()
    defer { lock.unlock() }
    let generation = Unmanaged.passUnretained(generation)
    return ruling(generation, freshZone(index, scratch))
  }

  /// The ruling about another node, by the policy of an earlier ruling of the same request.
  func ruling(of index: NodeIndex, like other: Ruling, _ scratch: ThreadScratch) -> Ruling {
    lock.lock()
    defer { lock.unlock() }
    guard other.number == generation.number else {
      return ruling(other.generation, zone(of: index, other, scratch))
    }
    return ruling(other.generation, freshZone(index, scratch))
  }

  /// The ruling about what no path leads to.
  var rulingWithoutPath: Ruling {
    lock.lock()
    defer { lock.unlock() }
    return ruling(Unmanaged.passUnretained(generation), Ruling.withoutPath)
  }

  func ruling(
    _ generation: Unmanaged<PolicyGeneration>, _ zone: ZoneID
  ) -> Ruling {
    Ruling(
      generation: generation,
      // By an old policy: what it says is kept nowhere.
      epoch: generation.toOpaque() == Unmanaged.passUnretained(self.generation).toOpaque()
        ? zoneEpoch : 0,
      zone: zone)
  }

  /// The zone of a node in the policy of now.
  ///
  /// A node without a name keeps the zone that it had.
  func freshZone(_ index: NodeIndex, _ scratch: ThreadScratch) -> ZoneID {
    let node = record(index)
    while node.pointee.zoneEpoch != zoneEpoch {
      // From the highest stale ancestor down, without recursion.
      var way = WayDown(scratch)
      var stale = index
      while true {
        way.add(stale)
        let parent = record(stale).pointee.parent
        if parent == 0 || record(parent).pointee.zoneEpoch == zoneEpoch { break }
        stale = parent
      }
      while let next = way.next() { refreshZone(next, scratch) }
    }
    return ZoneID(rawValue: node.pointee.zone)
  }

  func refreshZone(_ index: NodeIndex, _ scratch: ThreadScratch) {
    let node = record(index)
    node.pointee.zoneEpoch = zoneEpoch
    guard node.pointee.parent != 0 else { return }
    let parent = ZoneID(rawValue: record(node.pointee.parent).pointee.zone)
    node.pointee.zone = step(index, from: parent, generation.engine, scratch).rawValue
  }

  /// The zone of a node from its directory's.
  func step(
    _ index: NodeIndex, from parent: ZoneID, _ engine: PolicyEngine, _ scratch: ThreadScratch
  ) -> ZoneID {
    if parent == Ruling.withoutPath { return parent }
    let buffer = scratch.name(ScratchName.zone)
    let count = names.copy(record(index).pointee.name, to: buffer)
    let bytes = UnsafeBufferPointer(
      start: UnsafeRawPointer(buffer).assumingMemoryBound(to: UInt8.self), count: count)
    return engine.zone(named: bytes.span, in: parent)
  }

  /// The zone of a node in a policy that was replaced while a request was under way: from the root
  /// down, and kept nowhere.
  func zone(
    of index: NodeIndex, _ ruling: Ruling, _ scratch: ThreadScratch
  ) -> ZoneID {
    var path: [NodeIndex] = []
    var next = index
    while next != NodeTable.root && next != 0 {
      path.append(next)
      next = record(next).pointee.parent
    }
    if next == 0 { return Ruling.withoutPath }
    return ruling.generation._withUnsafeGuaranteedRef { generation in
      path.reversed().reduce(ZoneID.root) { step($1, from: $0, generation.engine, scratch) }
    }
  }

  /// Judges by another policy from now on.
  ///
  /// Returns the one that requests under way may still use.
  ///
  /// What no path leads to any more is in no zone of the new one.
  func replacePolicy(_ engine: PolicyEngine, _ lesson: Lesson?) -> PolicyGeneration {
    lock.lock()
    defer { lock.unlock() }
    let old = generation
    generation = PolicyGeneration(engine, number: old.number &+ 1, lesson)
    raiseZoneEpoch()
    slab.forEach { index in
      let node = record(index)
      if node.pointee.parent == 0 && !node.pointee.state.contains(.permanent) {
        node.pointee.zone = Ruling.withoutPath.rawValue
      }
    }
    return old
  }
}
