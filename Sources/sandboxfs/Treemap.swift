// Rectangles whose areas say how much there is: a squarified treemap (Bruls, Huizing, van Wijk).

/// A rectangle, in whatever unit its whole has.
struct Rectangle: Equatable {
  var x: Double
  var y: Double
  var width: Double
  var height: Double

  var area: Double { width * height }

  /// What is left when so much is taken from each side.
  func inset(_ margin: Double, top: Double) -> Rectangle {
    Rectangle(
      x: x + margin, y: y + top, width: max(0, width - 2 * margin),
      height: max(0, height - margin - top))
  }
}

/// Divides a rectangle among weights, which are positive and in falling order, so that the parts
/// are as nearly square as they can be.
func squarified(_ weights: [Double], in whole: Rectangle) -> [Rectangle] {
  let sum = weights.reduce(0, +)
  guard sum > 0, whole.area > 0 else { return weights.map { _ in Rectangle.none(in: whole) } }
  let areas = weights.map { $0 / sum * whole.area }
  var rest = whole
  var parts: [Rectangle] = []
  var index = 0
  while index < areas.count {
    let side = min(rest.width, rest.height)
    var end = index + 1
    // A row grows for as long as its worst part becomes no worse.
    while end < areas.count,
      worst(areas[index...end], along: side) <= worst(areas[index..<end], along: side)
    {
      end += 1
    }
    parts += rest.takeRow(areas[index..<end])
    index = end
  }
  return parts
}

/// The greatest ratio of the sides of the parts of a row that lies along a side.
private func worst(_ row: ArraySlice<Double>, along side: Double) -> Double {
  let sum = row.reduce(0, +)
  guard let least = row.min(), let greatest = row.max(), least > 0, sum > 0, side > 0 else {
    return .infinity
  }
  let square = side * side
  return max(square * greatest / (sum * sum), sum * sum / (square * least))
}

extension Rectangle {
  fileprivate static func none(in whole: Rectangle) -> Rectangle {
    Rectangle(x: whole.x, y: whole.y, width: 0, height: 0)
  }

  /// Takes a row off along the shorter side.
  fileprivate mutating func takeRow(_ areas: ArraySlice<Double>) -> [Rectangle] {
    let isTall = height >= width
    let side = isTall ? width : height
    let sum = areas.reduce(0, +)
    let depth = side > 0 ? min(sum / side, isTall ? height : width) : 0
    var offset = 0.0
    let parts = areas.map { area in
      let length = sum > 0 ? area / sum * side : 0
      defer { offset += length }
      return isTall
        ? Rectangle(x: x + offset, y: y, width: length, height: depth)
        : Rectangle(x: x, y: y + offset, width: depth, height: length)
    }
    if isTall {
      y += depth
      height -= depth
    } else {
      x += depth
      width -= depth
    }
    return parts
  }
}
