// Which descriptors are meant, where there may be many.

/// A set of descriptors, as a bit for each number.
public struct DescriptorSet {
  private var words: [UInt64] = []

  /// A set of these; what is no descriptor is passed over.
  public init(_ descriptors: some Sequence<CInt>) {
    for descriptor in descriptors { insert(descriptor) }
  }

  /// Adds one, if it is a descriptor.
  public mutating func insert(_ descriptor: CInt) {
    guard descriptor >= 0 else { return }
    let word = Int(descriptor) / 64
    if word >= words.count { words += repeatElement(0, count: word + 1 - words.count) }
    words[word] |= 1 << UInt64(descriptor % 64)
  }

  /// Whether it is one of them.
  public func contains(_ descriptor: CInt) -> Bool {
    guard descriptor >= 0, Int(descriptor) / 64 < words.count else { return false }
    return words[Int(descriptor) / 64] & 1 << UInt64(descriptor % 64) != 0
  }

  /// The runs of numbers that are not in it; the last one has no end.
  func gaps(_ body: (_ first: CInt, _ last: CInt) -> Void) {
    var next: CInt = 0
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        let number = CInt(index * 64 + rest.trailingZeroBitCount)
        if number > next { body(next, number - 1) }
        next = number + 1
        rest &= rest - 1
      }
    }
    body(next, .max)
  }
}
