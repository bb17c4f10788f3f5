// Derived from primary: what a worker does with the arena that another one left, and what tests
// compare with the fields as they were kept.
import LinuxKit

extension NodeTable {
  /// Computes every derived field from the primary ones, and drops nodes that nothing refers to.
  ///
  /// Only while no request is served.
  func rebuild(_ handles: HandleTable) {
    lock.lock()
    defer { lock.unlock() }
    derive(handles)
    freeUnreferenced()
  }

  /// Computes the derived fields.
  func derive(_ handles: HandleTable) {
    slab.rebuild()
    names.rebuild()
    handles.rebuild()
    books.recover()
    clearDerived()
    slab.forEach { index in clearDerived(index) }
    slab.forEach { index in derive(index) }
    books.forEachAccount { number, account in
      if account.node != 0 && slab.isLive(account.node) {
        record(account.node).pointee.account = number
      }
    }
    handles.forEach { handle in
      openCount += 1
      record(handle.node).pointee.opens += 1
      count(handle.state, 1, in: record(handle.node))
    }
  }

  /// Drops the nodes that nothing refers to.
  func freeUnreferenced() {
    var closing = Closing(backingFiles)
    slab.forEach { index in freeUnreferenced(index, &closing) }
    closing.closeAll()
  }

  private func clearDerived() {
    clearBuckets()
    mostRecent = 0
    leastRecent = 0
    descriptorCount = 0
    anchoredCount = 0
    openCount = 0
  }

  private func clearDerived(_ index: NodeIndex) {
    let node = record(index)
    node.pointee.account = 0
    node.pointee.nextInBucket = 0
    node.pointee.children = 0
    node.pointee.opens = 0
    node.pointee.writers = 0
    node.pointee.mappers = 0
    node.pointee.pins = 0
    node.pointee.moreRecent = 0
    node.pointee.lessRecent = 0
  }

  private func derive(_ index: NodeIndex) {
    let node = record(index)
    if node.pointee.parent != 0 { record(node.pointee.parent).pointee.children += 1 }
    if !node.pointee.state.contains(.unhashed) { insert(index) }
    guard node.pointee.descriptor >= 0, !node.pointee.state.contains(.permanent) else { return }
    descriptorCount += 1
    if node.pointee.state.contains(.anchored) {
      anchoredCount += 1
    } else {
      linkRecent(index)
    }
  }

  /// The derived fields of a node, for comparison.
  struct Derived: Equatable {
    var index: NodeIndex
    var children: UInt32
    var opens: UInt32
    var writers: UInt32
    var pins: UInt32
    var isFound: Bool
    var isRecent: Bool
  }

  /// All derived fields, in the order of the nodes.
  func derived() -> [Derived] {
    lock.lock()
    defer { lock.unlock() }
    var recent: Set<NodeIndex> = []
    var index = mostRecent
    while index != 0 {
      recent.insert(index)
      index = record(index).pointee.lessRecent
    }
    var all: [Derived] = []
    slab.forEach { index in
      let node = record(index).pointee
      all.append(
        Derived(
          index: index, children: node.children, opens: node.opens, writers: node.writers,
          pins: node.pins, isFound: find(node.identity) == index, isRecent: recent.contains(index)))
    }
    return all
  }
}
