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
      cell(index).pointee.state = UInt32(size)
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
}
