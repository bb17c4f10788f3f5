// A node's descriptor for one request, also where no name leads to it any more: the daemon of an
// ordinary user may not search a directory whose owner has taken that permission away, as who has
// something open below it need not.
import LinuxKit

/// A descriptor of a node, until `leave`.
struct Reached: ~Copyable {
  /// O_PATH, or of a file that is open.
  let number: CInt
  private let own: Descriptor?
  /// Whether it is the table's.
  let isPinned: Bool

  init(pinned descriptor: CInt) {
    (number, isPinned) = (descriptor, true)
    own = nil
  }

  init(owning descriptor: consuming Descriptor) {
    (number, isPinned) = (descriptor.rawValue, false)
    own = .some(consume descriptor)
  }
}

extension ViewFileSystem {
  /// A descriptor of a node: another one of what is open, where its names lead nowhere for want of
  /// permission.
  @inline(__always)
  func reach(_ index: NodeIndex, _ scratch: ThreadScratch) throws(Errno) -> Reached {
    do throws(Errno) {
      return Reached(pinned: try nodes.pin(index, scratch))
    } catch {
      guard error == .accessDenied, let open = handles.duplicate(of: index) else { throw error }
      return Reached(owning: open)
    }
  }

  /// The request has done with it.
  @inline(__always)
  func leave(_ index: NodeIndex, _ reached: borrowing Reached) {
    if reached.isPinned { nodes.unpin(index) }
  }
}
