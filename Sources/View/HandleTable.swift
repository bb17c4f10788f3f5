// Open files and directories: what the kernel's handles mean.
import FuseKit
import LinuxKit

/// The open files and directories of a view, in the arena.
final class HandleTable: @unchecked Sendable {
  private let lock: PlainLock
  private let header: UnsafeMutablePointer<Arena.Header>
  @exclusivity(unchecked) private var slab: Slab

  init(_ arena: Arena) {
    lock = arena.lock
    header = arena.header
    slab = arena.handles
  }

  @inline(__always)
  private func record(_ index: UInt32) -> UnsafeMutablePointer<HandleRecord> {
    slab.slot(index).assumingMemoryBound(to: HandleRecord.self)
  }

  /// How many handles are open.
  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return slab.liveCount
  }

  /// Keeps an open descriptor under a new handle, and takes it; there may be none yet.
  ///
  /// Throws ENFILE when the table is full.
  func open(
    _ node: NodeIndex, _ descriptor: consuming Descriptor?, _ state: HandleRecord.State,
    process: Int32
  ) throws(Errno) -> UInt64 {
    lock.lock()
    let index = slab.take()
    guard index != 0 else {
      lock.unlock()
      throw .fileTableOverflow
    }
    header.pointee.generation &+= 1
    let generation = header.pointee.generation
    record(index).initialize(
      to: HandleRecord(
        state: [], generation: generation, node: node, process: process,
        descriptor: descriptor?.release() ?? -1, request: RequestRecord.current.number))
    FaultPoint.insideTable.pass()
    publish(state: state.union(.live).rawValue, at: slab.slot(index))
    lock.unlock()
    return UInt64(generation) << 32 | UInt64(index)
  }

  /// The record of a handle, which the kernel keeps open during the request.
  ///
  /// Throws EBADF for a number that names no open handle.
  @inline(__always)
  func find(_ handle: UInt64) throws(Errno) -> HandleRecord {
    let index = UInt32(truncatingIfNeeded: handle)
    guard slab.contains(index),
      HandleRecord.State(rawValue: published(stateAt: slab.slot(index))).contains(.live)
    else { throw .badDescriptor }
    let record = record(index).pointee
    guard record.state.contains(.live),
      record.generation == UInt32(truncatingIfNeeded: handle >> 32)
    else { throw .badDescriptor }
    return record
  }

  /// Gives a handle a descriptor that it had none of, and takes it, unless another request was
  /// sooner; the descriptor that the handle has.
  func give(_ descriptor: consuming Descriptor, to handle: UInt64) throws(Errno) -> CInt {
    _ = try find(handle)
    lock.lock()
    defer { lock.unlock() }
    let record = record(UInt32(truncatingIfNeeded: handle))
    if record.pointee.descriptor < 0 { record.pointee.descriptor = descriptor.release() }
    return record.pointee.descriptor
  }

  /// Ends a handle and closes its descriptor; what it was.
  func close(_ handle: UInt64) throws(Errno) -> HandleRecord {
    let closed = try find(handle)
    let index = UInt32(truncatingIfNeeded: handle)
    lock.lock()
    slab.give(index)
    FaultPoint.insideTable.pass()
    lock.unlock()
    if closed.descriptor >= 0 { _ = Descriptor(owning: closed.descriptor) }
    return closed
  }

  /// The handle that a request has made; nil if it has made none.
  func find(madeBy request: UInt64) -> (number: UInt64, record: HandleRecord)? {
    lock.lock()
    defer { lock.unlock() }
    var found: (UInt64, HandleRecord)?
    slab.forEach { index in
      let open = record(index).pointee
      if open.request == request { found = (UInt64(open.generation) << 32 | UInt64(index), open) }
    }
    return found
  }

  /// All that is open now.
  func all() -> [HandleRecord] {
    lock.lock()
    defer { lock.unlock() }
    var open: [HandleRecord] = []
    forEach { open.append($0) }
    return open
  }

  /// Another descriptor of a file that is open; nil if it is not.
  func duplicate(of node: NodeIndex) -> Descriptor? {
    lock.lock()
    defer { lock.unlock() }
    var found: CInt = -1
    forEach { if $0.node == node && $0.descriptor >= 0 { found = $0.descriptor } }
    return found < 0 ? nil : try? Descriptor.duplicate(found)
  }

  /// Whether a file is open for writing by a handle that was opened without a rule that keeps what
  /// is there.
  func hasWatchlessWriter(of node: NodeIndex) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    var found = false
    forEach {
      let state = $0.state
      found = found || $0.node == node && state.contains(.writable) && !state.contains(.appendOnly)
    }
    return found
  }

  /// Computes which slots are free.
  ///
  /// Under the arena's lock.
  func rebuild() { slab.rebuild() }

  /// Calls `body` with each open handle.
  ///
  /// Under the arena's lock.
  func forEach(_ body: (HandleRecord) -> Void) {
    slab.forEach { body(record($0).pointee) }
  }
}
