// How a node is reached: by a descriptor of its own, or by its name below its parent's.
//
// A descriptor is opened when it is needed and closed when others are needed more. While a request
// uses it, it is pinned. Every one that is opened is checked to be the inode that the node is: a
// name that led elsewhere meanwhile is looked up again.
import FuseKit
import LinuxKit

/// Which of a thread's scratch names is whose.
enum ScratchName {
  static let resolving = 0
  static let place = 1
  static let zone = 2
  static let orphan = 3
  static let command = 4
  static let sealed = 5
  static let attribute = 6
}

/// A pinned descriptor, and the name below it that means the node; empty for the descriptor itself.
struct Place {
  let directory: CInt
  let name: UnsafePointer<CChar>
  let pinned: NodeIndex
}

/// What is to be closed when the lock is no longer held.
struct Closing {
  private let backingFiles: BackingFiles?
  private var descriptors: [16 of CInt] = .init(repeating: -1)
  private var count = 0
  private var backings: [16 of Int32] = .init(repeating: 0)
  private var backingCount = 0

  init(_ backingFiles: BackingFiles?) { self.backingFiles = backingFiles }

  mutating func add(_ descriptor: CInt) {
    guard count < 16 else {
      // Deeper than any real cascade: closed at once.
      _ = Descriptor(owning: descriptor)
      return
    }
    descriptors[count] = descriptor
    count += 1
  }

  /// Takes what the kernel knows as the backing file of a node that nobody has open.
  mutating func takeBacking(of node: UnsafeMutablePointer<NodeRecord>) {
    let backing = node.pointee.backing
    guard backing != 0 else { return }
    node.pointee.backing = 0
    node.pointee.state.remove(.lasting)
    FaultPoint.insideTable.pass()
    guard backingCount < 16 else {
      backingFiles?.close(backing)
      return
    }
    backings[backingCount] = backing
    backingCount += 1
  }

  func closeAll() {
    for index in 0..<count { _ = Descriptor(owning: descriptors[index]) }
    for index in 0..<backingCount { backingFiles?.close(backings[index]) }
  }
}

extension NodeTable {
  private static let attemptLimit = 20_000

  /// An O_PATH descriptor of a node, pinned until `unpin`.
  ///
  /// Throws ESTALE if the node can no longer be reached.
  func pin(_ index: NodeIndex, _ scratch: ThreadScratch) throws(Errno) -> CInt {
    var attempts = 0
    var way = WayDown(scratch)
    while true {
      let moves = moves
      lock.lock()
      let node = record(index)
      if node.pointee.descriptor >= 0 {
        let descriptor = node.pointee.descriptor
        node.pointee.pins += 1
        touch(index)
        lock.unlock()
        return descriptor
      }
      // Down from the nearest ancestor that has one: one level a turn, without recursion.
      let next = nextLevel(to: index, &way)
      let parent = record(next).pointee.parent
      guard parent != 0 else {
        lock.unlock()
        throw .stale
      }
      record(parent).pointee.pins += 1
      // Renames may take it off the way meanwhile; until it is open it must not end.
      record(next).pointee.pins += 1
      let directory = record(parent).pointee.descriptor
      let name = scratch.name(ScratchName.resolving)
      names.copy(record(next).pointee.name, to: name)
      lock.unlock()
      do throws(Errno) {
        defer {
          unpin(next)
          unpin(parent)
        }
        if try open(next, name, directory) { continue }
      } catch  where error.isOfNames {
        // The name is gone, or on its way.
      }
      way.clear()
      try pauseUnlessLost(since: moves, &attempts)
    }
  }

  /// The highest node on the way to `index` without a descriptor, below one that has one.
  ///
  /// What the last turn has left of the way is taken if it still leads on.
  private func nextLevel(to index: NodeIndex, _ way: inout WayDown) -> NodeIndex {
    if let next = way.next(), record(next).pointee.state.contains(.live),
      record(next).pointee.descriptor < 0
    {
      let parent = record(next).pointee.parent
      if parent != 0 && record(parent).pointee.descriptor >= 0 { return next }
    }
    way.clear()
    var next = index
    while true {
      let parent = record(next).pointee.parent
      if parent == 0 || record(parent).pointee.descriptor >= 0 { return next }
      way.add(next)
      next = parent
    }
  }

  /// Opens one level; false if the name did not lead to the node.
  private func open(
    _ index: NodeIndex, _ name: UnsafePointer<CChar>, _ directory: CInt
  ) throws(Errno) -> Bool {
    let descriptor = try openPath(name, in: directory)
    let status = try InodeStatus.of(descriptor.rawValue)
    var closing = Closing(backingFiles)
    lock.lock()
    let node = record(index)
    let matches = node.pointee.matches(status)
    let raw = descriptor.release()
    if matches && node.pointee.descriptor < 0 {
      node.pointee.descriptor = raw
      descriptorCount += 1
      linkRecent(index)
      evict(&closing, sparing: index)
    } else {
      closing.add(raw)
    }
    lock.unlock()
    closing.closeAll()
    return matches
  }

  /// Opens a name as O_PATH without following it, making room if the process has no descriptors
  /// left.
  func openPath(
    _ name: UnsafePointer<CChar>, in directory: CInt
  ) throws(Errno) -> Descriptor {
    try withRoom { () throws(Errno) in
      try Descriptor.openPath(name, in: directory)
    }
  }

  /// Runs `open`, and once more after closing what can be closed if there were no descriptors left.
  @inline(__always)
  func withRoom(_ open: () throws(Errno) -> Descriptor) throws(Errno) -> Descriptor {
    do throws(Errno) {
      return try open()
    } catch {
      guard error == .tooManyOpenFiles, shed() else { throw error }
      return try open()
    }
  }

  /// A node's place for one *at call: cheaper than a descriptor of its own.
  ///
  /// Unpinned by the caller.
  func locate(_ index: NodeIndex, _ scratch: ThreadScratch) throws(Errno) -> Place {
    while true {
      lock.lock()
      let node = record(index)
      if node.pointee.descriptor >= 0 {
        node.pointee.pins += 1
        touch(index)
        let descriptor = node.pointee.descriptor
        lock.unlock()
        return Place(directory: descriptor, name: emptyPath, pinned: index)
      }
      let parent = node.pointee.parent
      guard parent != 0 else {
        lock.unlock()
        throw .stale
      }
      if record(parent).pointee.descriptor >= 0 {
        record(parent).pointee.pins += 1
        touch(parent)
        let directory = record(parent).pointee.descriptor
        let name = scratch.name(ScratchName.place)
        names.copy(node.pointee.name, to: name)
        lock.unlock()
        return Place(directory: directory, name: UnsafePointer(name), pinned: parent)
      }
      lock.unlock()
      _ = try pin(parent, scratch)
      unpin(parent)
    }
  }

  /// The status of a node: the inode that the node is, never another that took its name.
  func status(of index: NodeIndex, _ scratch: ThreadScratch) throws(Errno) -> InodeStatus {
    var attempts = 0
    while true {
      let moves = moves
      let place = try locate(index, scratch)
      do throws(Errno) {
        defer { unpin(place.pinned) }
        let status = try InodeStatus.of(place.name, in: place.directory)
        if record(index).pointee.matches(status) { return status }
      } catch  where error.isOfNames {
        // The name is gone, or on its way.
      }
      try pauseUnlessLost(since: moves, &attempts)
    }
  }

  /// Waits for a moment if a name may have been on its way; throws ESTALE if it was not.
  private func pauseUnlessLost(since moves: UInt32, _ attempts: inout Int) throws(Errno) {
    attempts += 1
    guard attempts < NodeTable.attemptLimit, mayHaveMoved(since: moves) else { throw .stale }
    Pause.yield(attempts)
  }

  /// Lets a pinned descriptor be closed again.
  ///
  /// The request may be answered already, and the node forgotten since: then it ends here.
  func unpin(_ index: NodeIndex) {
    var closing = Closing(backingFiles)
    lock.lock()
    record(index).pointee.pins -= 1
    freeUnreferenced(index, &closing)
    lock.unlock()
    closing.closeAll()
  }
}

extension Errno {
  /// Whether it says that a name does not lead where it did; anything else is the store's trouble.
  fileprivate var isOfNames: Bool {
    self == .noEntry || self == .notDirectory || self == .stale
  }
}

// MARK: - The order of use

extension NodeTable {
  /// Makes a node the most recently used one.
  ///
  /// Anchored and permanent nodes are in no order.
  @inline(__always)
  func touch(_ index: NodeIndex) {
    guard mostRecent != index,
      record(index).pointee.state.isDisjoint(with: [.anchored, .permanent])
    else { return }
    unlinkRecent(index)
    linkRecent(index)
  }

  func linkRecent(_ index: NodeIndex) {
    let node = record(index)
    node.pointee.moreRecent = 0
    node.pointee.lessRecent = mostRecent
    if mostRecent != 0 { record(mostRecent).pointee.moreRecent = index }
    mostRecent = index
    if leastRecent == 0 { leastRecent = index }
  }

  func unlinkRecent(_ index: NodeIndex) {
    let node = record(index)
    let more = node.pointee.moreRecent
    let less = node.pointee.lessRecent
    if more != 0 { record(more).pointee.lessRecent = less } else { mostRecent = less }
    if less != 0 { record(less).pointee.moreRecent = more } else { leastRecent = more }
    node.pointee.moreRecent = 0
    node.pointee.lessRecent = 0
  }

  /// How many descriptors nodes may hold now: what open files need is theirs.
  private var allowance: Int {
    let rest = 2 * descriptorLimit - reservedDescriptors - openCount
    return max(descriptorLimit / 8, min(descriptorLimit, rest))
  }

  /// Takes descriptors away from those used longest ago, until the limit is kept.
  func evict(_ closing: inout Closing, sparing spared: NodeIndex) {
    while descriptorCount > allowance {
      guard takeLeastRecent(&closing, sparing: spared) else { return }
    }
  }

  private func takeLeastRecent(
    _ closing: inout Closing, sparing spared: NodeIndex
  ) -> Bool {
    var index = leastRecent
    while index != 0 && (record(index).pointee.pins > 0 || index == spared) {
      index = record(index).pointee.moreRecent
    }
    guard index != 0 else { return false }
    unlinkRecent(index)
    if record(index).pointee.opens == 0 { closing.takeBacking(of: record(index)) }
    closing.add(record(index).pointee.descriptor)
    record(index).pointee.descriptor = -1
    descriptorCount -= 1
    return true
  }

  /// Closes some descriptors of nodes, for an open that found none left.
  ///
  /// False if there are none.
  func shed() -> Bool {
    if closeLate() { return true }
    var closing = Closing(backingFiles)
    var count = 0
    lock.lock()
    while count < 8 && takeLeastRecent(&closing, sparing: 0) { count += 1 }
    lock.unlock()
    closing.closeAll()
    return count > 0
  }
}
