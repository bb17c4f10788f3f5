// Interned lists of numbers: equal lists have one number, and the empty one is 0.

/// Many short lists in one array.
struct ListTable: Sendable {
  private var elements: [UInt32] = []
  private var ranges: [Range<Int>] = [0..<0]
  private var table = IndexTable()

  /// How many elements all lists have together.
  var elementCount: Int { elements.count }

  /// Where the elements of a list are.
  @inline(__always)
  func range(_ list: UInt32) -> Range<Int> { ranges[Int(list)] }

  @inline(__always)
  subscript(element: Int) -> UInt32 { elements[element] }

  /// The elements of a list.
  func elements(of list: UInt32) -> ArraySlice<UInt32> { elements[range(list)] }

  /// The number of a list.
  mutating func intern(_ list: [UInt32]) -> UInt32 {
    guard !list.isEmpty else { return 0 }
    let hash = Self.hash(list)
    let known = table.find(hash) { elements[ranges[Int($0)]].elementsEqual(list) }
    if let known { return known }
    let number = UInt32(ranges.count)
    let start = elements.count
    elements.append(contentsOf: list)
    ranges.append(start..<elements.count)
    table.insert(number, hash: hash)
    return number
  }

  private static func hash(_ list: [UInt32]) -> UInt32 {
    var hash = Hash(seed: UInt64(list.count))
    for element in list { hash.add(UInt64(element)) }
    return hash.value
  }
}
