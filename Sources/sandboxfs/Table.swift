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
      let former = widths.isEmpty ? headings[column].count : widths[column]
      return max(former, shown.map { $0[column].count }.max() ?? 0)
    }
    let heading = hasHeading ? [Style.bold(line(headings, widths))] : []
    hasHeading = false
    return (heading + shown.map { line($0, widths) }).map { $0 + "\n" }.joined()
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var text = ""
    for (cell, width) in zip(cells.dropLast(), widths) {
      text += cell + String(repeating: " ", count: width - cell.count + 2)
    }
    return text + (cells.last ?? "")
  }
}

/// Names and values below each other, aligned.
func listing(_ entries: [(name: String, value: String)]) -> String {
  let width = entries.map(\.name.count).max() ?? 0
  return entries.map { entry in
    let padding = String(repeating: " ", count: width - entry.name.count + 2)
    return "\(entry.name)\(padding)\(entry.value)\n"
  }.joined()
}

/// A number of things, in the plural but for one.
func counted(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}

/// Emphasis on a terminal, and nothing anywhere else.
enum Style {
  static let isOn = StandardStream.output.showsColour

  static func bold(_ text: String) -> String { isOn ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
}
