// Rows in aligned columns, for people; programs are given JSON.

internal import LinuxKit

/// Rows below headings.
struct Table {
  let headings: [String]
  var rows: [[String]] = []
  /// How wide the columns have become in what was taken.
  private var widths: [Int] = []
  private var hasHeading = true

  init(_ headings: String...) { self.headings = headings }

  mutating func add(_ cells: String...) {
    precondition(cells.count == headings.count, "a row has a cell for each heading")
    rows.append(cells)
  }

  /// The table; headings are bold on a terminal.
  ///
  /// Empty cells show as a dash, so that columns can be counted.
  var text: String {
    var copy = self
    return copy.rendered()
  }

  /// The rows since the last call, below the headings at the first; nothing without rows.
  ///
  /// Columns become wider and never narrower.
  mutating func takeText() -> String {
    if rows.isEmpty { return "" }
    defer { rows = [] }
    return rendered()
  }

  private mutating func rendered() -> String {
    let shown = rows.map { $0.map { $0.isEmpty ? "-" : $0 } }
    widths = headings.indices.map { column in
      let former = widths.isEmpty ? headings[column].columnCount : widths[column]
      return max(former, shown.map { $0[column].columnCount }.max() ?? 0)
    }
    let heading = hasHeading ? [Style.bold(line(headings, widths))] : []
    hasHeading = false
    return (heading + shown.map { line($0, widths) }).map { $0 + "\n" }.joined()
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var text = ""
    for (cell, width) in zip(cells.dropLast(), widths) {
      text += cell + String(repeating: " ", count: width - cell.columnCount + 2)
    }
    return text + (cells.last ?? "")
  }
}

/// Names and values below each other, aligned.
func listing(_ entries: [(name: String, value: String)]) -> String {
  let width = entries.map(\.name.columnCount).max() ?? 0
  return entries.map { entry in
    let padding = String(repeating: " ", count: width - entry.name.columnCount + 2)
    return "\(entry.name)\(padding)\(entry.value)\n"
  }.joined()
}

extension String {
  /// How many columns it takes on a terminal.
  var columnCount: Int { reduce(0) { $0 + $1.columnCount } }
}

extension Character {
  /// How many columns it takes: two for those that are as wide as high.
  fileprivate var columnCount: Int {
    if unicodeScalars.contains(where: { scalar in
      wideScalars.contains { $0.contains(scalar.value) }
    }) {
      return 2
    }
    switch unicodeScalars.first?.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return 1
    }
  }
}

/// Unicode's East Asian wide and full-width characters, and pictures.
private let wideScalars: [ClosedRange<UInt32>] = [
  0x1100...0x115F, 0x231A...0x231B, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C,
  0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
  0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
]

/// A number of things, in the plural but for one.
func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}

/// Emphasis on a terminal, and nothing anywhere else.
enum Style {
  static let isOn = StandardStream.output.showsColour

  static func bold(_ text: String) -> String { isOn ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
}
