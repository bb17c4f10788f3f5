// Names of nodes, in the arena: chains of cells of 32 bytes, so that a typical name takes one.

/// Where names live.
///
/// A name is the index of its first cell; 0 is no name.
struct NameCells {
  /// A part of a name: its bytes end in NUL or fill the cell.
  struct Cell {
    /// In use, and how many bytes this cell holds.
    var state: UInt32
    /// The next cell; 0 at the end.
    var next: UInt32
    var bytes: (UInt64, UInt64, UInt64)

    static let byteCount = 24
  }

  private var slab: Slab

  init(_ slab: Slab) { self.slab = slab }

  var liveCount: Int { slab.liveCount }

  @inline(__always)
  private func cell(_ index: UInt32) -> UnsafeMutablePointer<Cell> {
    slab.slot(index).assumingMemoryBound(to: Cell.self)
  }

  @inline(__always)
  private func bytes(_ index: UInt32) -> UnsafeMutableRawPointer { slab.slot(index) + 8 }

  /// Stores a name; 0 if there is no room.
  mutating func store(_ name: UnsafePointer<CChar>, count: Int) -> UInt32 {
    var next: UInt32 = 0
    // From the end, so that each cell is whole before anything points to it.
    var rest = count
    while rest > 0 {
      let size = rest % Cell.byteCount == 0 ? Cell.byteCount : rest % Cell.byteCount
      rest -= size
      let index = slab.take()
      if index == 0 {
        free(next)
        return 0
      }
      bytes(index).copyMemory(from: UnsafeRawPointer(name + rest), byteCount: size)
      cell(index).pointee.next = next
      publish(state: UInt32(size), at: slab.slot(index))
      next = index
    }
    return next
  }

  /// Gives a name back.
  mutating func free(_ first: UInt32) {
    var index = first
    while index != 0 {
      let next = cell(index).pointee.next
      slab.give(index)
      index = next
    }
  }

  /// Copies a name and a NUL to `target`, which holds 256 bytes; its length.
  @discardableResult
  func copy(_ first: UInt32, to target: UnsafeMutablePointer<CChar>) -> Int {
    var index = first
    var count = 0
    while index != 0 {
      let size = Int(cell(index).pointee.state)
      UnsafeMutableRawPointer(target + count).copyMemory(from: bytes(index), byteCount: size)
      count += size
      index = cell(index).pointee.next
    }
    target[count] = 0
    return count
  }

  /// Whether the bytes of a name are these.
  func equals(_ first: UInt32, _ name: UnsafePointer<CChar>, count: Int) -> Bool {
    var index = first
    var offset = 0
    while index != 0 {
      let size = Int(cell(index).pointee.state)
      guard offset + size <= count else { return false }
      let stored = bytes(index).assumingMemoryBound(to: CChar.self)
      for position in 0..<size where stored[position] != name[offset + position] { return false }
      offset += size
      index = cell(index).pointee.next
    }
    return offset == count
  }

  mutating func rebuild() { slab.rebuild() }

  func populate() { slab.populate() }
}

// MARK: - After the death of a process

extension NameCells {
  private static let unclaimed: UInt32 = 1 << 31

  /// Doubts every cell: it may belong to a name that no record got.
  func doubtAll() {
    slab.forEach { index in cell(index).pointee.state |= NameCells.unclaimed }
  }

  /// The cells of this name have an owner.
  ///
  /// False if it is no name: then nothing in the arena can be trusted.
  func claim(_ first: UInt32) -> Bool {
    var index = first
    var length: UInt32 = 0
    while index != 0 {
      guard slab.isLive(index) else { return false }
      let size = cell(index).pointee.state & ~NameCells.unclaimed
      // A cell that has an owner already has two.
      guard cell(index).pointee.state != size, size <= UInt32(Cell.byteCount) else { return false }
      cell(index).pointee.state = size
      length += size
      guard length <= 255 else { return false }
      index = cell(index).pointee.next
    }
    return true
  }

  /// Gives back what nobody has claimed.
  func freeUnclaimed() {
    slab.forEach { index in
      if cell(index).pointee.state & NameCells.unclaimed != 0 { cell(index).pointee.state = 0 }
    }
  }
}
