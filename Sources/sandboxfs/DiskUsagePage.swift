// The page of `sandboxfs du --html`: a picture of what takes the space, and the same as a table.
//
// It stands alone: no script, nothing from the network, and names, which any app may have chosen,
// are escaped bytes.

internal import Paths

/// A page about one app.
struct DiskUsagePage {
  private let title: String
  private let root: UsageNode
  private var picture = ""
  private var rows = ""

  private static let whole = Rectangle(x: 0, y: 0, width: 1200, height: 720)
  private static let headingHeight = 22.0
  /// What is smaller than so many pixels is not drawn.
  private static let leastSide = 3.0
  /// A directory of less than so many thousandths of the whole has no row.
  private static let leastShare = 2.0

  init(_ title: String, _ root: UsageNode) {
    self.title = title
    self.root = root
    draw(root.children, of: root.sum, in: Self.whole, below: [])
    list(root, [], depth: 0)
  }

  /// The document.
  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" \
    content="default-src 'none'; style-src 'unsafe-inline'">
    <title>What takes the space of \(markup(title))</title>
    <style>
    \(Self.style)
    </style>
    </head>
    <body>
    <main>
    <h1>\(markup(title))</h1>
    <p>\(size(root.sum.byteCount)) on the disk, in \(counted(root.sum.fileCount, "file")).</p>
    <ul class="legend">
    \(legend)</ul>
    <svg viewBox="0 0 1200 720" role="img" aria-labelledby="picture">
    <title id="picture">Each area is a file or a directory; its size is what it takes on the disk. \
    The table below says the same.</title>
    \(picture)</svg>
    <table>
    <caption>Directories, the greatest first</caption>
    <thead><tr><th scope="col">Path<th scope="col">Size<th scope="col">Share\
    <th scope="col">Files<th scope="col">Mostly</tr></thead>
    <tbody>
    \(rows)</tbody>
    </table>
    </main>
    </body>
    </html>

    """
  }

  private var legend: String {
    UsageKind.allCases.map { kind in
      let bytes = root.sum.byteCounts[kind.rawValue]
      return "<li><span class=\"key k\(kind.rawValue)\"></span><b>\(kind.name)</b> "
        + "\(size(bytes)), \(share(bytes)): \(markup(kind.meaning))</li>\n"
    }.joined()
  }

  // MARK: The picture

  private mutating func draw(
    _ children: [UsageNode], of sum: UsageSum, in place: Rectangle, below path: [[UInt8]]
  ) {
    let shown = children.filter { $0.sum.byteCount > 0 }
    // What is not kept apart stays empty.
    let rest = sum.byteCount - shown.reduce(0) { $0 + $1.sum.byteCount }
    let weights = shown.map { Double($0.sum.byteCount) } + (rest > 0 ? [Double(rest)] : [])
    for (node, part) in zip(shown, squarified(weights, in: place)) {
      guard part.width >= Self.leastSide, part.height >= Self.leastSide else { continue }
      draw(node, in: part, path + [node.name])
    }
  }

  private mutating func draw(_ node: UsageNode, in place: Rectangle, _ path: [[UInt8]]) {
    let kind = node.sum.mainKind
    let depth = min(path.count, 6)
    picture += "<g><title>\(markup(Presentation.path(path))), \(size(node.sum.byteCount)), "
    picture += "\(kind.name)</title><rect class=\"k\(kind.rawValue) d\(depth)\" "
    picture += "x=\"\(place.x.shown)\" y=\"\(place.y.shown)\" "
    picture += "width=\"\(place.width.shown)\" height=\"\(place.height.shown)\" rx=\"3\"/>"
    let letters = Int((place.width - 12) / 7.5)
    let hasHeading = letters >= 4 && place.height >= Self.headingHeight
    if hasHeading {
      let name = Presentation.escaped(node.name)
      let text = name.count <= letters ? name : name.prefix(letters - 1) + "…"
      picture += "<text x=\"\((place.x + 6).shown)\" y=\"\((place.y + 15).shown)\">"
      picture += "\(markup(String(text)))</text>"
    }
    picture += "</g>\n"
    guard node.isDirectory else { return }
    draw(
      node.children, of: node.sum,
      in: place.inset(3, top: hasHeading ? Self.headingHeight : 3), below: path)
  }

  // MARK: The table

  private mutating func list(_ node: UsageNode, _ path: [[UInt8]], depth: Int) {
    let least = Double(root.sum.byteCount) * Self.leastShare / 1000
    guard node.isDirectory, Double(node.sum.byteCount) >= least else { return }
    rows += "<tr><th scope=\"row\" style=\"padding-left:\(depth * 16 + 8)px\">"
    rows += "\(markup(Presentation.path(path)))<td>\(size(node.sum.byteCount))"
    rows += "<td>\(share(node.sum.byteCount))<td>\(node.sum.fileCount)"
    rows += "<td>\(node.sum.mainKind.name)</tr>\n"
    for child in node.children { list(child, path + [child.name], depth: depth + 1) }
  }

  private func share(_ bytes: Int64) -> String { percentage(bytes, of: root.sum.byteCount) }

  private static let style = """
    :root { color-scheme: light dark; --paper: #fbfaf8; --ink: #23211e; --line: #fff;
      --faint: #6b655c }
    @media (prefers-color-scheme: dark) {
      :root { --paper: #1b1a18; --ink: #ece8e1; --line: #1b1a18; --faint: #a49d92 }
    }
    body { margin: 0; background: var(--paper); color: var(--ink); \
    font: 16px/1.5 system-ui, sans-serif }
    main { max-width: 1200px; margin: 0 auto; padding: 24px }
    h1 { font-size: 1.6em; margin: 0; overflow-wrap: anywhere }
    p { margin: 4px 0 12px; color: var(--faint) }
    svg { display: block; width: 100%; height: auto; margin: 12px 0 24px }
    rect { stroke: var(--line); stroke-width: 1.5 }
    g:hover > rect { stroke: var(--ink); stroke-width: 2.5 }
    text { font-size: 13px; fill: #1d1b18; pointer-events: none }
    .d1 { fill-opacity: .5 } .d2 { fill-opacity: .6 }
    .d3 { fill-opacity: .7 } .d4 { fill-opacity: .8 }
    .k0 { fill: #7fb069; background: #7fb069 } .k1 { fill: #9fb4c7; background: #9fb4c7 }
    .k2 { fill: #f2c14e; background: #f2c14e } .k3 { fill: #ef8f6b; background: #ef8f6b }
    .k4 { fill: #b79fd6; background: #b79fd6 }
    @media (prefers-color-scheme: dark) {
      text { fill: #fff }
      .d1, .d2 { fill-opacity: .35 }
      .d3, .d4, .d5, .d6 { fill-opacity: .55 }
    }
    .legend { list-style: none; padding: 0; margin: 0; display: grid; gap: 4px 24px; \
    grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)) }
    .key { display: inline-block; width: 14px; height: 14px; border-radius: 3px;
      margin-right: 8px; vertical-align: -2px }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
    caption { text-align: left; font-weight: 600; padding: 4px 8px }
    th, td { padding: 3px 8px; text-align: right; white-space: nowrap;
      border-top: 1px solid color-mix(in srgb, var(--ink) 15%, transparent) }
    thead th { border: 0; color: var(--faint) }
    th:first-child { text-align: left; font-weight: 400; white-space: normal;
      overflow-wrap: anywhere }
    td:last-child, thead th:last-child { text-align: left }
    """
}

/// A share in hundredths, such as `12 %`.
func percentage(_ part: Int64, of whole: Int64) -> String {
  guard whole > 0 else { return "0 %" }
  let share = Double(part) / Double(whole) * 100
  return part > 0 && share < 1 ? "< 1 %" : "\(Int(share.rounded())) %"
}

/// A text in which nothing is markup.
private func markup(_ text: String) -> String {
  var shown = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "&": shown += "&amp;"
    case "<": shown += "&lt;"
    case ">": shown += "&gt;"
    case "\"": shown += "&quot;"
    case "'": shown += "&#39;"
    default: shown.unicodeScalars.append(scalar)
    }
  }
  return shown
}

extension Double {
  /// With one digit behind the point.
  fileprivate var shown: String {
    let tenths = Int((self * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
