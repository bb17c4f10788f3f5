// The slab: no slot is given twice, and what is derived can be computed from the records.
import LinuxKit
import Testing

@testable import View

@Suite struct SlabTests {
  private static let capacity: UInt32 = 16 * 1024

  private static func makeSlab() throws -> Slab {
    let mapping = try Mapping(
      reserving: 4096 + Slab.byteCount(stride: 32, capacity: capacity))
    return Slab(
      at: mapping.start + 4096, stride: 32, capacity: capacity,
      chunkCount: mapping.start.bindMemory(to: UInt32.self, capacity: 1))
  }

  private static func use(_ index: UInt32, in slab: Slab) {
    slab.slot(index).assumingMemoryBound(to: SlotHeader.self).pointee.state = 1
  }

  @Test func givesEachSlotOnceAndAllButTheFirst() throws {
    var slab = try Self.makeSlab()
    var seen: Set<UInt32> = []
    while true {
      let index = slab.take()
      if index == 0 { break }
      Self.use(index, in: slab)
      #expect(seen.insert(index).inserted)
    }
    #expect(seen.count == Int(Self.capacity) - 1)
    #expect(slab.liveCount == seen.count)
  }

  @Test func staysRightInAStormAndAfterARebuild() throws {
    var slab = try Self.makeSlab()
    var random = SplitMix(state: 7)
    var live: Set<UInt32> = []
    for step in 0..<40_000 {
      if live.isEmpty || random.next() % 5 < 3 {
        let index = slab.take()
        if index == 0 { continue }
        Self.use(index, in: slab)
        #expect(live.insert(index).inserted, "slot \(index) was given twice in step \(step)")
      } else if let index = live.randomElement(using: &random) {
        live.remove(index)
        slab.give(index)
      }
      if step % 9_973 == 0 { slab.rebuild() }
    }
    var found: Set<UInt32> = []
    slab.forEach { found.insert($0) }
    #expect(found == live)
    #expect(slab.liveCount == live.count)
  }

  @Test func givesMemoryBackButForOneChunk() throws {
    var slab = try Self.makeSlab()
    let all = (0..<8 * 1024).map { _ in slab.take() }
    for index in all {
      Self.use(index, in: slab)
      slab.slot(index).storeBytes(of: 0x5A, toByteOffset: 16, as: UInt8.self)
    }
    for index in all { slab.give(index) }
    // What was given back reads as zero.
    let kept = all.filter { slab.slot($0).load(fromByteOffset: 16, as: UInt8.self) == 0x5A }
    #expect(!kept.isEmpty && kept.count <= 1024)
    // One record that comes and goes stays where it is.
    for _ in 0..<3 {
      let index = slab.take()
      Self.use(index, in: slab)
      slab.slot(index).storeBytes(of: 0x77, toByteOffset: 16, as: UInt8.self)
      slab.give(index)
      #expect(slab.slot(index).load(fromByteOffset: 16, as: UInt8.self) == 0x77)
    }
  }

  @Test func refusesNumbersThatWereNeverGiven() throws {
    var slab = try Self.makeSlab()
    #expect(!slab.contains(0))
    #expect(!slab.contains(1))
    let index = slab.take()
    #expect(slab.contains(index))
    #expect(!slab.contains(UInt32.max))
  }
}

/// A random number generator with a seed, after splitmix64.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
