// Inode numbers: a permutation in each class, the same for ever under one key.
import Testing

@testable import View

@Suite struct InodePermutationTests {
  private static let permutation = InodePermutation(
    key: (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210))

  struct Class: Sendable, CustomTestStringConvertible {
    let name: String
    let range: ClosedRange<UInt64>

    var testDescription: String { name }
  }

  static let classes = [
    Class(name: "32 bits", range: 1...0xFFFF_FFFF),
    Class(name: "53 bits", range: 1 << 32...(1 << 53) - 1),
    Class(name: "64 bits", range: 1 << 53...UInt64.max - 1),
  ]

  @Test(arguments: classes) func keepsNumbersInTheirClassAndApart(_ class: Class) {
    var random = SplitMix(state: 1)
    var seen: [UInt64: UInt64] = [:]
    let low = `class`.range.lowerBound
    let samples =
      (0..<2000).map { low + $0 }
      + (0..<20_000).map { _ in UInt64.random(in: `class`.range, using: &random) }
    for inode in Set(samples) {
      let shown = Self.permutation(inode)
      #expect(`class`.range.contains(shown), "\(inode) becomes \(shown)")
      #expect(seen.updateValue(inode, forKey: shown) == nil, "\(shown) is shown twice")
    }
  }

  @Test func showsNeighboursFarApart() {
    let gaps = (1000..<2000).map { inode in
      Self.permutation(inode + 1) &- Self.permutation(inode)
    }
    #expect(Set(gaps).count > 990)
  }

  @Test func isTheSameInEveryRelease() {
    #expect(Self.permutation(0) == 0)
    #expect(Self.permutation(2) == 0x8C0A7879)
    #expect(Self.permutation(1 << 40) == 0x165CAB77625307)
    #expect(Self.permutation(1 << 60) == 0x5E917AD6A5736B5E)
  }
}
