// All that the kernel can name, in one run of memory: nodes, their names, open files; and what has
// yet to be logged.
//
// Where a supervisor watches over the view, the memory outlives the process that serves: another
// goes on with what that one left. So there is nothing but plain structs, and a link is an index.
import FuseKit
import LinuxKit

/// The memory of one view.
struct Arena {
  /// The head of the mapping.
  struct Header {
    var layoutVersion: UInt32
    var nodeChunks: UInt32
    var nameChunks: UInt32
    var handleChunks: UInt32
    var accountChunks: UInt32
    /// The generation of the last node or handle made: no two in a view's life share one.
    var generation: UInt32
    /// The policy that was set since the mount, as a file in memory; -1 for the one of the mount.
    var policyFile: CInt
    /// The one that was set before it; -1 if there is none.
    var formerPolicyFile: CInt
    /// The number of that policy.
    var policyNumber: UInt32
    /// The last backing file that is known to have been registered.
    var lastBacking: Int32
    /// How often the view was taken over, and how long that took last.
    var restarts: UInt32
    var pauseMicroseconds: UInt32
    /// Who watches over the process that serves; 0 where nobody does.
    var supervisor: Int32
    /// When the process died that another one takes over from, by the monotonic clock.
    var deathMicroseconds: Int64
    /// Not 0 where the view is gone and nobody is to take over.
    var hasEnded: Int32
    /// The program that is to go on with the view, open; -1 for none.
    var program: CInt
    /// How often another program has gone on with the view.
    var upgrades: UInt32
    /// Why the last program that was to could not: an errno.
    var upgradeError: Int32
    /// How often the process that served hung, and how many of these are in the log.
    var hangs: UInt32
    var loggedHangs: UInt32
    /// Not 0 where whoever mounts has been told that the view is served.
    var isAnnounced: UInt32
  }

  static let layoutVersion: UInt32 = 7
  private static let headerByteCount = 4096
  private static let journalByteCount = (RequestJournal.byteCount + 4095) & ~4095
  private static let nodeCapacity: UInt32 = 1 << 24
  private static let cellCapacity: UInt32 = 1 << 26
  private static let handleCapacity: UInt32 = 1 << 21

  /// What of an arena another program has to have alike to go on with it.
  static var layout: [Int] {
    [
      Int(layoutVersion), RequestJournal.byteCount, AuditRing.byteCount,
      MemoryLayout<Header>.stride, MemoryLayout<NodeRecord>.stride,
      MemoryLayout<HandleRecord>.stride, MemoryLayout<NameCells.Cell>.stride,
      MemoryLayout<AuditBatch.Slot>.stride, MemoryLayout<AccountRecord>.stride,
      MemoryLayout<Book>.stride, Books.byteCount, Int(Books.accountCapacity), Int(nodeCapacity),
      Int(cellCapacity),
      Int(handleCapacity),
    ]
  }

  /// How an arena comes to be.
  enum Origin {
    /// Empty, for this process alone.
    case own
    /// Empty, and outlives this process.
    case shared
    /// As another program has left it, in an open file that is taken.
    case inherited(CInt)

    var isInherited: Bool { if case .inherited = self { true } else { false } }
  }

  /// The file in memory; -1 if there is none.
  let file: CInt
  let header: UnsafeMutablePointer<Header>
  let lock: PlainLock
  let journal: RequestJournal
  let audit: AuditRing
  let nodes: Slab
  let names: NameCells
  let handles: Slab
  let accounts: Slab
  /// The books, which are of `Books.byteCount`.
  let books: UnsafeMutableRawPointer

  /// An arena.
  ///
  /// Throws ENOMEM where so much address space can't be had, and EPROTO for what another layout has
  /// left.
  init(_ origin: Origin = .own) throws(Errno) {
    let nodeStride = MemoryLayout<NodeRecord>.stride
    let handleStride = MemoryLayout<HandleRecord>.stride
    let cellStride = MemoryLayout<NameCells.Cell>.stride
    let nodeBytes = Slab.byteCount(stride: nodeStride, capacity: Arena.nodeCapacity)
    let cellBytes = Slab.byteCount(stride: cellStride, capacity: Arena.cellCapacity)
    let handleBytes = Slab.byteCount(stride: handleStride, capacity: Arena.handleCapacity)
    let accountStride = MemoryLayout<AccountRecord>.stride
    let accountBytes = Slab.byteCount(stride: accountStride, capacity: Books.accountCapacity)
    let byteCount =
      Arena.headerByteCount + Arena.journalByteCount + AuditRing.byteCount + Books.byteCount
      + nodeBytes + cellBytes + handleBytes + accountBytes
    let (mapping, file) = try Arena.map(origin, byteCount)
    self.file = file
    header = mapping.start.bindMemory(to: Header.self, capacity: 1)
    if !origin.isInherited {
      header.pointee.layoutVersion = Arena.layoutVersion
      header.pointee.policyFile = -1
      header.pointee.formerPolicyFile = -1
      header.pointee.program = -1
    }
    lock = PlainLock(at: mapping.start + Arena.headerByteCount / 2)
    let records = UnsafeMutableRawPointer(header)
      .advanced(by: MemoryLayout<UInt32>.stride)
      .assumingMemoryBound(to: UInt32.self)
    var start = mapping.start + Arena.headerByteCount
    journal = RequestJournal(at: start)
    start += Arena.journalByteCount
    audit = AuditRing(at: start, isInherited: origin.isInherited)
    start += AuditRing.byteCount
    books = start
    start += Books.byteCount
    nodes = Slab(
      at: start, stride: nodeStride, capacity: Arena.nodeCapacity, chunkCount: records,
      isShared: file >= 0)
    start += nodeBytes
    names = NameCells(
      Slab(
        at: start, stride: cellStride, capacity: Arena.cellCapacity, chunkCount: records + 1,
        isShared: file >= 0))
    start += cellBytes
    handles = Slab(
      at: start, stride: handleStride, capacity: Arena.handleCapacity, chunkCount: records + 2,
      isShared: file >= 0)
    start += handleBytes
    accounts = Slab(
      at: start, stride: accountStride, capacity: Books.accountCapacity, chunkCount: records + 3,
      isShared: file >= 0)
  }

  private static func map(
    _ origin: Origin, _ byteCount: Int
  ) throws(Errno) -> (mapping: Mapping, file: CInt) {
    switch origin {
    case .own: return (try Mapping(reserving: byteCount), -1)
    case .shared:
      let file = try Descriptor.memory(capacity: byteCount)
      return (try Mapping(sharing: file, byteCount: byteCount), file.release())
    case .inherited(let number):
      let file = Descriptor(owning: number)
      guard try InodeStatus.of(number).size == byteCount else { throw .protocolMismatch }
      return (try Mapping(sharing: file, byteCount: byteCount), file.release())
    }
  }
}
