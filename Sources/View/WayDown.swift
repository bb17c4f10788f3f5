// The way from an ancestor down to a node, noted on the way up: so that going down a deep tree does
// not begin at its bottom for each level.
import LinuxKit

/// The nodes passed last on the way up, to be taken again from the top.
///
/// Of a way that is longer than there is room only the upper end is kept: who has used that up goes
/// up once more. So the cost of a way is that of its length, for every tree that can be made in
/// practice, and the room is that of a thread.
struct WayDown {
  private static let capacity = ThreadScratch.numberCount
  private let nodes: UnsafeMutablePointer<NodeIndex>
  private var end = 0
  private var count = 0

  /// An empty way, in the thread's scratch memory; there is one at a time.
  @inline(__always)
  init(_ scratch: ThreadScratch) { nodes = scratch.numbers }

  /// Passes a node on the way up.
  mutating func add(_ node: NodeIndex) {
    nodes[end] = node
    end = (end + 1) % WayDown.capacity
    count = min(count + 1, WayDown.capacity)
  }

  /// Takes the uppermost node that is left.
  mutating func next() -> NodeIndex? {
    guard count > 0 else { return nil }
    count -= 1
    end = (end + WayDown.capacity - 1) % WayDown.capacity
    return nodes[end]
  }

  /// Forgets the rest.
  mutating func clear() { count = 0 }
}
