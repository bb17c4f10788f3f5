// A hash table of indices: the keys stay where they are, in arrays of whoever asks.

/// Finds an index by the hash of what it stands for.
///
/// Open addressing; a slot is the hash above the index plus one, so that growing looks at no key.
struct IndexTable: Sendable {
  private var slots: [UInt64] = []
  private(set) var count = 0

  /// The first index with this hash for which `matches` holds.
  @inline(__always)
  func find(_ hash: UInt32, where matches: (UInt32) -> Bool) -> UInt32? {
    guard !slots.isEmpty else { return nil }
    let mask = slots.count - 1
    var position = Int(hash) & mask
    while true {
      let slot = slots[position]
      guard slot != 0 else { return nil }
      if UInt32(truncatingIfNeeded: slot >> 32) == hash {
        let index = UInt32(truncatingIfNeeded: slot) - 1
        if matches(index) { return index }
      }
      position = (position + 1) & mask
    }
  }

  /// Adds an index that is not there yet; never `UInt32.max`.
  mutating func insert(_ index: UInt32, hash: UInt32) {
    if (count + 1) * 4 > slots.count * 3 { grow() }
    place(UInt64(hash) << 32 | UInt64(index + 1))
    count += 1
  }

  private mutating func grow() {
    let old = slots
    slots = Array(repeating: 0, count: max(16, old.count * 2))
    for slot in old where slot != 0 { place(slot) }
  }

  private mutating func place(_ slot: UInt64) {
    let mask = slots.count - 1
    var position = Int(slot >> 32) & mask
    while slots[position] != 0 { position = (position + 1) & mask }
    slots[position] = slot
  }
}

/// A running hash over numbers and bytes, seeded so that nobody outside can aim at one slot.
struct Hash {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  @inline(__always)
  mutating func add(_ value: UInt64) {
    let product = (state ^ value).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    state = product.high ^ product.low ^ value
  }

  @inline(__always)
  mutating func add(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    var word: UInt64 = 0
    var count: UInt64 = 0
    for index in range {
      word = word << 8 | UInt64(bytes[index])
      count += 1
      if count & 7 == 0 { add(word) }
    }
    add(word)
    add(count)
  }

  var value: UInt32 {
    UInt32(truncatingIfNeeded: (state ^ state >> 32) &* 0xD6E8_FEB8_6659_FD93 >> 32)
  }
}
