// The order in which a record's fields reach memory: another process may go on with what is there
// after any instruction.
import Synchronization

/// Stores a record's first word after everything that was stored before: its other fields.
@inline(__always)
func publish(state: UInt32, at place: UnsafeMutableRawPointer) {
  place.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(state, ordering: .releasing)
}

/// A record's first word, read before all that is read after: its other fields are those that were
/// stored with it.
@inline(__always)
func published(stateAt place: UnsafeMutableRawPointer) -> UInt32 {
  place.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .acquiring)
}

/// Stores 0 as a record's first word before anything that is stored after: it is a record no more.
@inline(__always)
func clear(stateAt place: UnsafeMutableRawPointer) {
  place.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.store(0, ordering: .relaxed)
  atomicMemoryFence(ordering: .releasing)
}

/// Stores two neighbouring fields at once, after everything that was stored before.
@inline(__always)
func publish(pair: (UInt32, UInt32), at place: UnsafeMutableRawPointer) {
  let word = UInt64(littleEndian: UInt64(pair.1) << 32 | UInt64(pair.0))
  place.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.store(word, ordering: .releasing)
}
