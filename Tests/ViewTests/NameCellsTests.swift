// Names in cells: every byte and every length comes back.
import LinuxKit
import Testing

@testable import View

@Suite struct NameCellsTests {
  private static func makeCells() throws -> NameCells {
    let mapping = try Mapping(reserving: 4096 + Slab.byteCount(stride: 32, capacity: 8192))
    return NameCells(
      Slab(
        at: mapping.start + 4096, stride: 32, capacity: 8192,
        chunkCount: mapping.start.bindMemory(to: UInt32.self, capacity: 1)))
  }

  @Test func keepsNamesOfEveryLength() throws {
    var cells = try Self.makeCells()
    var copy = [CChar](repeating: 1, count: 256)
    for count in 1...Name.maximumByteCount {
      let name = (0..<count).map { CChar(truncatingIfNeeded: $0 % 255 + 1) } + [0]
      let stored = cells.store(name, count: count)
      #expect(stored != 0)
      #expect(cells.copy(stored, to: &copy) == count)
      #expect(Array(copy[...count]) == name)
      #expect(cells.equals(stored, name, count: count))
      #expect(!cells.equals(stored, name, count: count - 1))
      cells.free(stored)
    }
    #expect(cells.liveCount == 0)
  }

  @Test func tellsNamesApartByTheirLastByte() throws {
    var cells = try Self.makeCells()
    let name = [CChar](repeating: 97, count: 48) + [0]
    var other = name
    other[47] = 98
    let stored = cells.store(name, count: 48)
    #expect(!cells.equals(stored, other, count: 48))
  }

  @Test func leavesNothingBehindWhenThereIsNoRoom() throws {
    var cells = try Self.makeCells()
    let name = [CChar](repeating: 97, count: 255) + [0]
    while cells.store(name, count: 255) != 0 {}
    #expect(cells.liveCount % 11 == 0, "a name of 255 bytes takes 11 cells")
  }
}
