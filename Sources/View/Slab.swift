// Records of one size in a run of address space: taken and given back by index, in chunks whose
// memory returns to the system when their last record goes and another chunk is empty too.
//
// The records are the arena's (primary). What this file keeps beside them, which slots are free, is
// derived: `rebuild` computes it anew from the records' first words.
import LinuxKit

/// The first words of every record in a slab.
///
/// `state` is 0 in a free slot and nothing else ever is; a record's last store on its way in, and
/// the first on its way out. `link` is the next free slot there, and the record's own otherwise.
struct SlotHeader {
  var state: UInt32
  var link: UInt32
}

/// Slots `1..<capacity` of `stride` bytes.
///
/// Index 0 means none.
struct Slab {
  /// What is known about a run of `slotsPerChunk` slots.
  private struct Chunk {
    /// The first free slot that was in use before; 0 if none.
    var free: UInt32
    /// How many slots are in use.
    var live: UInt32
    /// How many slots from the chunk's start have ever been used since its memory was given back.
    var touched: UInt32
    /// The next chunk with room; `none` at the end, `full` if it is in no list.
    var nextWithRoom: UInt32
  }

  private static let slotsPerChunk: UInt32 = 1024
  private static let none = UInt32.max
  private static let full = UInt32.max - 1

  let start: UnsafeMutableRawPointer
  let stride: Int
  private let capacity: UInt32
  private let isShared: Bool
  private let chunks: UnsafeMutablePointer<Chunk>
  /// How many chunks have ever been used: primary, since a rebuild must know how far to look.
  private let chunkCount: UnsafeMutablePointer<UInt32>
  private var firstWithRoom = Slab.none
  /// The last chunk whose last record went.
  ///
  /// It keeps its memory: a table with one record that comes and goes would ask the system each
  /// time.
  private var spare = Slab.none

  /// How many slots are in use.
  private(set) var liveCount = 0

  static func byteCount(stride: Int, capacity: UInt32) -> Int { stride * Int(capacity) }

  /// An empty slab.
  ///
  /// `capacity` is a multiple of the slots in a chunk; `chunkCount` lies in the arena.
  init(
    at start: UnsafeMutableRawPointer, stride: Int, capacity: UInt32,
    chunkCount: UnsafeMutablePointer<UInt32>, isShared: Bool = false
  ) {
    precondition(capacity % Slab.slotsPerChunk == 0 && stride * 1024 % 4096 == 0)
    self.start = start
    self.stride = stride
    self.capacity = capacity
    self.isShared = isShared
    self.chunkCount = chunkCount
    chunks = .allocate(capacity: Int(capacity / Slab.slotsPerChunk))
  }

  @inline(__always)
  func slot(_ index: UInt32) -> UnsafeMutableRawPointer { start + Int(index) * stride }

  @inline(__always)
  private func header(_ index: UInt32) -> UnsafeMutablePointer<SlotHeader> {
    slot(index).assumingMemoryBound(to: SlotHeader.self)
  }

  /// Whether a slot is in use.
  @inline(__always)
  func isLive(_ index: UInt32) -> Bool { contains(index) && header(index).pointee.state != 0 }

  /// Whether a number from outside names a slot that was ever used.
  @inline(__always)
  func contains(_ index: UInt32) -> Bool {
    index != 0 && index / Slab.slotsPerChunk < chunkCount.pointee
  }

  /// A free slot, whose header is the caller's to fill; 0 if there is none left.
  mutating func take() -> UInt32 {
    if firstWithRoom == Slab.none && !openChunk() { return 0 }
    let number = firstWithRoom
    let chunk = chunks + Int(number)
    let index: UInt32
    if chunk.pointee.free != 0 {
      index = chunk.pointee.free
      chunk.pointee.free = header(index).pointee.link
    } else {
      index = number * Slab.slotsPerChunk + chunk.pointee.touched
      chunk.pointee.touched += 1
    }
    chunk.pointee.live += 1
    liveCount += 1
    if chunk.pointee.free == 0 && chunk.pointee.touched == Slab.slotsPerChunk {
      firstWithRoom = chunk.pointee.nextWithRoom
      chunk.pointee.nextWithRoom = Slab.full
    }
    return index
  }

  /// Gives a slot back.
  ///
  /// The caller has cleared `state`.
  mutating func give(_ index: UInt32) {
    let number = index / Slab.slotsPerChunk
    let chunk = chunks + Int(number)
    clear(stateAt: slot(index))
    header(index).pointee.link = chunk.pointee.free
    chunk.pointee.free = index
    chunk.pointee.live -= 1
    liveCount -= 1
    if chunk.pointee.nextWithRoom == Slab.full {
      chunk.pointee.nextWithRoom = firstWithRoom
      firstWithRoom = number
    }
    if chunk.pointee.live == 0 { spare(number) }
  }

  /// Keeps the memory of an empty chunk, and returns that of the one that was kept before.
  private mutating func spare(_ number: UInt32) {
    let last = spare
    spare = number
    if last != Slab.none && last != number && chunks[Int(last)].live == 0 { discard(last) }
  }

  /// Returns the memory of a chunk without records.
  ///
  /// Slot 0 keeps its place.
  private mutating func discard(_ number: UInt32) {
    let first = slot(number * Slab.slotsPerChunk)
    let byteCount = stride * Int(Slab.slotsPerChunk)
    if isShared {
      Mapping.discardShared(first, byteCount: byteCount)
    } else {
      Mapping.discard(first, byteCount: byteCount)
    }
    chunks[Int(number)].free = 0
    chunks[Int(number)].touched = number == 0 ? 1 : 0
  }

  private mutating func openChunk() -> Bool {
    let number = chunkCount.pointee
    guard number < capacity / Slab.slotsPerChunk else { return false }
    (chunks + Int(number)).initialize(
      to: Chunk(free: 0, live: 0, touched: number == 0 ? 1 : 0, nextWithRoom: Slab.none))
    chunkCount.pointee = number + 1
    firstWithRoom = number
    return true
  }

  /// Maps all of it at once, where a process is about to look at each record.
  func populate() {
    let byteCount = Int(chunkCount.pointee) * Int(Slab.slotsPerChunk) * stride
    if byteCount > 0 { Mapping.populate(start, byteCount: byteCount) }
  }

  /// Computes which slots are free from the records alone.
  mutating func rebuild() {
    firstWithRoom = Slab.none
    spare = Slab.none
    liveCount = 0
    for number in (0..<chunkCount.pointee).reversed() {
      rebuild(number)
    }
  }

  private mutating func rebuild(_ number: UInt32) {
    let first = number * Slab.slotsPerChunk
    var chunk = Chunk(
      free: 0, live: 0, touched: Slab.slotsPerChunk, nextWithRoom: Slab.full)
    for index in (max(first, 1)..<first + Slab.slotsPerChunk).reversed() {
      if header(index).pointee.state != 0 {
        chunk.live += 1
      } else {
        header(index).pointee.link = chunk.free
        chunk.free = index
      }
    }
    if chunk.free != 0 {
      chunk.nextWithRoom = firstWithRoom
      firstWithRoom = number
    }
    liveCount += Int(chunk.live)
    (chunks + Int(number)).initialize(to: chunk)
    // Looking at it has taken memory that it had given back.
    if chunk.live == 0 { discard(number) }
  }

  /// Calls `body` with each slot in use.
  func forEach(_ body: (UInt32) -> Void) {
    for index in 1..<max(1, chunkCount.pointee * Slab.slotsPerChunk)
    where header(index).pointee.state != 0 {
      body(index)
    }
  }
}
