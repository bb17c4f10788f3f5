// All that the kernel can name, in one run of memory: nodes, their names, open files.
//
// Today it is private memory of one process. It is laid out so that a later worker can map what an
// earlier one left: plain structs, indices instead of pointers, a layout version at the head.
import LinuxKit

/// The memory of one view.
struct Arena {
  /// The head of the mapping.
  struct Header {
    var layoutVersion: UInt32
    var nodeChunks: UInt32
    var nameChunks: UInt32
    var handleChunks: UInt32
    /// The generation of the last node or handle made: no two in a view's life share one.
    var generation: UInt32
  }

  static let layoutVersion: UInt32 = 1
  private static let headerByteCount = 4096
  private static let nodeCapacity: UInt32 = 1 << 24
  private static let cellCapacity: UInt32 = 1 << 26
  private static let handleCapacity: UInt32 = 1 << 21

  let header: UnsafeMutablePointer<Header>
  let lock: PlainLock
  let nodes: Slab
  let names: NameCells
  let handles: Slab

  /// An empty arena.
  ///
  /// Throws ENOMEM where so much address space can't be had.
  init() throws(Errno) {
    let nodeStride = MemoryLayout<NodeRecord>.stride
    let handleStride = MemoryLayout<HandleRecord>.stride
    let cellStride = MemoryLayout<NameCells.Cell>.stride
    let nodeBytes = Slab.byteCount(stride: nodeStride, capacity: Arena.nodeCapacity)
    let cellBytes = Slab.byteCount(stride: cellStride, capacity: Arena.cellCapacity)
    let handleBytes = Slab.byteCount(stride: handleStride, capacity: Arena.handleCapacity)
    let mapping = try Mapping(
      reserving: Arena.headerByteCount + nodeBytes + cellBytes + handleBytes)
    header = mapping.start.bindMemory(to: Header.self, capacity: 1)
    header.pointee.layoutVersion = Arena.layoutVersion
    lock = PlainLock(at: mapping.start + Arena.headerByteCount / 2)
    let records = UnsafeMutableRawPointer(header)
      .advanced(by: MemoryLayout<UInt32>.stride)
      .assumingMemoryBound(to: UInt32.self)
    var start = mapping.start + Arena.headerByteCount
    nodes = Slab(
      at: start, stride: nodeStride, capacity: Arena.nodeCapacity, chunkCount: records)
    start += nodeBytes
    names = NameCells(
      Slab(at: start, stride: cellStride, capacity: Arena.cellCapacity, chunkCount: records + 1))
    start += cellBytes
    handles = Slab(
      at: start, stride: handleStride, capacity: Arena.handleCapacity, chunkCount: records + 2)
  }
}
