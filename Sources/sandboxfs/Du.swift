// `sandboxfs du APP`.

internal import Arguments
internal import LinuxKit
internal import MobileBackup
internal import Paths
internal import Store

private let html = Option(
  "html", value: "FILE", .file,
  summary: "write a page with a picture of it, which needs neither a network nor scripts; '-' is "
    + "standard output")
private let json = Option("json", summary: "print an object")

let duSubcommand = Subcommand(
  command: Command(
    name: "du", summary: "Shows what takes the space of an app, and what becomes of it.",
    examples: [
      "sandboxfs du com.example.Notes", "sandboxfs du --html space.html com.example.Notes",
    ],
    discussion: [
      "Counted is what files take on the disk, those with several names once. The rules of the app "
        + "say what becomes of each: see 'sandboxfs backup' and 'sandboxfs purge'."
    ],
    positionals: [Positional("APP", .app)], options: [html, json], exitStatuses: plainStatuses)
) { arguments in
  let isStream = arguments.value(html) == Array("-".utf8)
  if isStream, arguments.has(json) {
    throw UsageError("sandboxfs du", "--html - and --json contradict each other")
  }
  let subject = try subject(container(arguments.positionals[0], arguments))
  let usage = try subject.usage()
  let name = "\(subject.container.identifier)"
  if let path = arguments.value(html) {
    let page = Array(DiskUsagePage(name, usage).html.utf8)
    if isStream {
      try StandardStream.output.write(page)
      return 0
    }
    try replace(path, mode: 0o644) { file in try file.writeAll(page) }
    if !arguments.has(json) { return 0 }
  }
  try Output.write(arguments.has(json) ? object(name, usage).document : text(name, usage))
  return 0
}

private func text(_ name: String, _ usage: UsageNode) -> String {
  let all = usage.sum
  var kinds = Table("KIND", "SIZE", "SHARE", "FILES", "WHAT BECOMES OF IT")
  for kind in UsageKind.allCases {
    let bytes = all.byteCounts[kind.rawValue]
    kinds.add(
      kind.name, size(bytes), percentage(bytes, of: all.byteCount),
      "\(all.fileCounts[kind.rawValue])", kind.meaning)
  }
  var places = Table("SIZE", "SHARE", "MOSTLY", "PATH")
  for place in greatest(usage) {
    let bytes = place.node.sum.byteCount
    places.add(
      size(bytes), percentage(bytes, of: all.byteCount), place.node.sum.mainKind.name,
      Presentation.path(place.path))
  }
  return "\(name): \(size(all.byteCount)), \(counted(all.fileCount, "file"))\n\n\(kinds.text)\n"
    + places.text
}

/// The places that say most: the greatest of the first three levels.
private func greatest(_ root: UsageNode) -> [(path: [[UInt8]], node: UsageNode)] {
  var found: [(path: [[UInt8]], node: UsageNode)] = []
  func look(_ node: UsageNode, _ path: [[UInt8]]) {
    for child in node.children where child.sum.byteCount > 0 {
      let below = path + [child.name]
      found.append((below, child))
      if below.count < 3 { look(child, below) }
    }
  }
  look(root, [])
  let lineLimit = 15
  return Array(found.sorted { $0.node.sum.byteCount > $1.node.sum.byteCount }.prefix(lineLimit))
}

private func object(_ name: String, _ usage: UsageNode) -> JSON {
  .object([
    ("app", .string(name)), ("bytes", .integer(usage.sum.byteCount)),
    ("files", .integer(Int64(usage.sum.fileCount))),
    (
      "kinds",
      .array(
        UsageKind.allCases.map { kind in
          .object([
            ("kind", .string(kind.name)),
            ("bytes", .integer(usage.sum.byteCounts[kind.rawValue])),
            ("files", .integer(Int64(usage.sum.fileCounts[kind.rawValue]))),
          ])
        })
    ),
    (
      "places",
      .array(
        greatest(usage).map { place in
          .object([
            ("path", .string(Presentation.path(place.path))),
            ("bytes", .integer(place.node.sum.byteCount)),
            ("mostly", .string(place.node.sum.mainKind.name)),
          ])
        })
    ),
  ])
}
