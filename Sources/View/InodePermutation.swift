// The inode numbers that a view shows: the backing's through a keyed permutation, so that no number
// counts what others create on the same file system.

/// A permutation of inode numbers under a key of 128 bits.
///
/// A number that fits in 32 bits stays there, for programs that know no others; one that fits in 53
/// stays where JavaScript and Lua count exactly; 0 is only ever 0.
struct InodePermutation: Sendable {
  private let first: UInt64
  private let second: UInt64

  init(key: (UInt64, UInt64)) {
    first = key.0
    second = key.1
  }

  /// The number that the view shows for a number of the backing's.
  @inline(__always)
  func callAsFunction(_ inode: UInt64) -> UInt64 {
    if inode == 0 { return 0 }
    // Walking the cycle until it comes back into the class keeps the classes apart: each is a
    // permutation of its own. The classes are at least half of their width, so it ends at once.
    if inode < 1 << 32 { return walk(inode, halfBits: 16, from: 1) }
    if inode < 1 << 53 { return walk(inode, halfBits: 27, from: 1 << 32, below: 1 << 53) }
    return walk(inode, halfBits: 32, from: 1 << 53)
  }

  @inline(__always)
  private func walk(
    _ inode: UInt64, halfBits: UInt64, from lowest: UInt64, below limit: UInt64 = .max
  ) -> UInt64 {
    var value = inode
    repeat {
      value = feistel(value, halfBits)
    } while value < lowest || value >= limit
    return value
  }

  /// Four rounds of a balanced Feistel network on `2 * halfBits` bits.
  @inline(__always)
  private func feistel(_ value: UInt64, _ halfBits: UInt64) -> UInt64 {
    let mask: UInt64 = halfBits == 32 ? 0xFFFF_FFFF : (1 << halfBits) - 1
    var left = (value >> halfBits) & mask
    var right = value & mask
    for round in 0..<4 as Range<UInt64> {
      let mixed = mix(right ^ (round & 1 == 0 ? first : second) &+ round &* 0x9E37_79B9_7F4A_7C15)
      (left, right) = (right, left ^ (mixed & mask))
    }
    return left << halfBits | right
  }

  /// The finaliser of splitmix64 (Steele, Lea, Flood, 2014).
  @inline(__always)
  private func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
