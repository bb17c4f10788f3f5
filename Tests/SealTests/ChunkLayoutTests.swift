// Chunks at the edges of a file.

import Seal
import Testing

@Suite struct ChunkLayoutTests {
  @Test(arguments: [
    (Int64(0), 0), (1, 1), (65_535, 1), (65_536, 1), (65_537, 2), (131_072, 2), (131_073, 3),
  ])
  func countsChunks(size: Int64, count: Int) {
    let layout = ChunkLayout(fileSize: size)
    #expect(layout.count == count)
    let covered = (0..<count).map { layout.bytes(of: $0).count }.reduce(0, +)
    #expect(covered == Int(size), "the chunks are the file, and nothing else")
  }

  @Test func findsTheChunksOfARange() {
    let layout = ChunkLayout(fileSize: 131_073)
    #expect(layout.chunks(over: 0..<1) == 0..<1)
    #expect(layout.chunks(over: 65_535..<65_537) == 0..<2)
    #expect(layout.chunks(over: 131_072..<Int64.max) == 2..<3)
    #expect(layout.chunks(over: 131_073..<131_074).isEmpty)
    #expect(layout.chunks(over: 70_000..<70_000).isEmpty)
  }
}
