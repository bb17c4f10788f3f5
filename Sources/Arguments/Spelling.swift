// The nearest known word to one that was mistyped.

/// `did you mean 'NAME'?` if one of the names is near, else `otherwise`.
func advice(_ word: [UInt8], among names: [String], otherwise: String) -> String {
  guard let name = nearest(to: word, among: names) else { return otherwise }
  return "did you mean '\(name)'?"
}

/// The name that fewest slips of a finger turn `word` into; nil if none is near.
///
/// A slip is a letter too many, too few or wrong, or two neighbours exchanged. Near is one slip
/// for each three letters, and at least one.
public func nearest(to word: [UInt8], among names: [String]) -> String? {
  var best: (name: String, slips: Int)?
  for name in names {
    let known = Array(name.utf8)
    let slips = slips(from: word, to: known)
    guard slips <= max(1, known.drop { $0 == UInt8(ascii: "-") }.count / 3) else { continue }
    if best.map({ slips < $0.slips }) ?? true { best = (name, slips) }
  }
  return best?.name
}

/// The restricted Damerau–Levenshtein distance.
private func slips(from left: [UInt8], to right: [UInt8]) -> Int {
  // What nobody mistyped need not be compared, however long it is.
  guard abs(left.count - right.count) <= right.count else { return .max }
  var beforeLast: [Int] = []
  var last = Array(0...right.count)
  for (row, letter) in left.enumerated() {
    var current = [row + 1]
    for (column, other) in right.enumerated() {
      var slips = min(last[column + 1] + 1, current[column] + 1)
      slips = min(slips, last[column] + (letter == other ? 0 : 1))
      if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
        slips = min(slips, beforeLast[column - 1] + 1)
      }
      current.append(slips)
    }
    beforeLast = last
    last = current
  }
  return last[right.count]
}
