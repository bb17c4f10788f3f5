// `sandboxfs import FILE`, and the data of programs that had no container before.

internal import Arguments
internal import LinuxKit
internal import MobileBackup
internal import Paths
internal import Policy
internal import Store

private let owner = Option(
  "owner", value: "USER", .free, summary: "the user that the container belongs to")
private let rules = Option(
  "rules", summary: "take the rules of its own too, which may loosen what others say")
private let flatpak = Option(
  "from-flatpak", value: "ID", .free,
  summary: "take what the flatpak of this name has in ~/.var/app, and give it to APP")
private let from = Option(
  "from", value: "DIRECTORY=PLACE", .free,
  summary: "copy what is in a directory to a place of APP's data, such as "
    + "'~/.notes=Library/Application Support'; may be given more than once")
private let other = Option(
  "as", value: "IDENTIFIER", .free,
  summary: "give the data of FILE to this identifier, without the bundle, which is another app's")
private let app = Option("app", value: "APP", .app, summary: "the app that gets it")
private let json = Option("json", summary: "print an object")

let importSubcommand = Subcommand(
  command: Command(
    name: "import", summary: "Makes a container of a file, or takes over data from elsewhere.",
    examples: [
      "sandboxfs import notes.tar.zst",
      "sandboxfs import --as com.example.Other notes.tar.zst",
      "sandboxfs import --app org.gnome.gedit --from-flatpak org.gnome.gedit",
      "sandboxfs import --app com.example.Notes --from ~/.notes=Documents",
    ],
    discussion: [
      "FILE is what 'sandboxfs export' has written; '-' is standard input. Its bundle is judged as "
        + "by 'sandboxfs install'. What is not safe is left out, each with a line, or the file is "
        + "refused; the app must not be there yet.",
      "Without FILE data is copied into an app that is there and not mounted: all of it, or "
        + "nothing if the app has one of the files already. What is copied stays where it was.",
    ],
    positionals: [Positional("FILE", .file, .optional)],
    options: [owner, rules, other, flatpak, from, app, json],
    exitStatuses: [
      ExitStatus("0", "it is done, and nothing was left out"),
      ExitStatus("1", "it could not be done, or something was left out; lines say what and why"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let hasTrees = arguments.has(flatpak) || arguments.has(from)
  guard let path = arguments.positionals.first else {
    guard hasTrees else {
      throw UsageError("sandboxfs import", "FILE is missing; try 'sandboxfs import --help'")
    }
    for option in [rules, other, owner] where arguments.has(option) {
      throw UsageError(
        "sandboxfs import", "\(option.spelling) is for a FILE: name one, or leave it out")
    }
    return try importTrees(arguments)
  }
  for option in [flatpak, from] where arguments.has(option) {
    throw UsageError("sandboxfs import", "\(option.spelling) and FILE contradict each other")
  }
  if arguments.has(app) {
    throw UsageError("sandboxfs import", "--app and FILE contradict each other: try --as")
  }
  return try importFile(path, arguments)
}

private func importFile(_ path: [UInt8], _ arguments: ParsedArguments) throws -> Int32 {
  let isStream = path == Array("-".utf8)
  let shown = isStream ? "standard input" : path.printable
  // What the line itself says is judged before what it leads to.
  var options = ImportOptions()
  options.owner = arguments.value(owner)
  options.takesRules = arguments.has(rules)
  options.identifier = try arguments.value(other).map { try identifier($0) }
  let file: Descriptor
  do throws(Errno) {
    file = isStream ? try Descriptor.standardInput() : try Descriptor.readable(path)
  } catch {
    throw Failure("can't read \(shown): \(error.message)")
  }
  let bar = ProgressBar("importing")
  // How much there is inside nobody knows before: the part of the file that was read says it.
  let all = isStream ? 0 : try file.status().byteCount
  let report = try Store.openOrCreate(try location(arguments)).importContainer(
    from: file, shownAs: shown, options
  ) { _ in bar.show((try? file.position()) ?? 0, of: all) }
  bar.finish()
  if arguments.has(json) {
    try Output.write(
      JSON.object([
        ("app", .string("\(report.identifier)")), ("entries", .integer(Int64(report.entryCount))),
        ("bytes", .integer(report.byteCount)),
        ("remarks", .array(report.remarks.map { .string($0) })),
      ]).document)
  } else {
    complain(report.remarks, "import")
    try Output.write(
      "imported \(report.identifier): \(counted(report.entryCount, "entry", "entries")), "
        + "\(size(report.byteCount))\n")
  }
  return report.remarks.isEmpty ? 0 : 1
}

// MARK: From elsewhere

private func importTrees(_ arguments: ParsedArguments) throws -> Int32 {
  guard let word = arguments.value(app) else {
    throw UsageError("sandboxfs import", "say with --app which app gets it")
  }
  let identifier = try identifier(word)
  var trees = try arguments.values(from).map(tree)
  if let name = arguments.value(flatpak) { trees += try flatpakTrees(name) }
  let store = try Store.open(try location(arguments))
  let policy = try subject(store.container(identifier)).policy
  for tree in trees { try check(tree.place, policy) }
  let reports = try store.importTrees(trees, into: identifier)
  if arguments.has(json) {
    let objects = zip(trees, reports).map { tree, report in
      JSON.object([
        ("from", .string(tree.source.printable)), ("to", .string(Presentation.path(tree.place))),
        ("entries", .integer(Int64(report.entryCount))), ("bytes", .integer(report.byteCount)),
      ])
    }
    try Output.write(
      JSON.object([("app", .string("\(identifier)")), ("trees", .array(objects))]).document)
    return 0
  }
  var table = Table("FROM", "TO", "ENTRIES", "SIZE")
  for (tree, report) in zip(trees, reports) {
    table.add(
      Presentation.quoted(tree.source), Presentation.path(tree.place), "\(report.entryCount)",
      size(report.byteCount))
  }
  try Output.write(table.text)
  return 0
}

/// What `DIRECTORY=PLACE` says.
private func tree(_ word: [UInt8]) throws -> ImportedTree {
  guard let equals = word.lastIndex(of: UInt8(ascii: "=")), equals > 0 else {
    throw UsageError(
      "sandboxfs import", "--from '\(word.printable)': expected DIRECTORY=PLACE")
  }
  let place = try namesBelowData(Array(word[(equals + 1)...]), "import: --from")
  return ImportedTree(from: Array(word[..<equals]), to: place)
}

/// Refuses a place where the app has no files, so that it would never see or never use them.
private func check(_ place: [[UInt8]], _ policy: PolicyEngine) throws {
  var zone = ZoneID.root
  for name in place {
    zone = policy.zone(named: name.span, in: zone)
    let attributes = policy.attributes(of: zone)
    let shown = Presentation.path(place)
    if attributes.isBundle {
      throw UsageError("sandboxfs import", "\(shown) is in the bundle: name another place")
    }
    if attributes.hidden {
      let rule = policy.rules(for: .hidden, in: zone).last.map { " (\(policy.describe($0)))" } ?? ""
      throw UsageError(
        "sandboxfs import", "\(shown) is hidden from the app\(rule): name another place")
    }
  }
  guard !policy.attributes(of: zone).write else { return }
  let rule = policy.rules(for: .write, in: zone).last.map { " (\(policy.describe($0)))" } ?? ""
  throw UsageError(
    "sandboxfs import",
    "the app may not write to \(Presentation.path(place))\(rule): name another place, such as "
      + "Documents")
}

/// Where a flatpak has what goes where.
private func flatpakTrees(_ name: [UInt8]) throws -> [ImportedTree] {
  guard !name.isEmpty, !name.contains(UInt8(ascii: "/")), name.first != UInt8(ascii: ".") else {
    throw Failure("'\(name.printable)' is no flatpak's name, such as org.gnome.gedit")
  }
  guard let home = environmentValue("HOME"), home.first == UInt8(ascii: "/") else {
    throw Failure("HOME is not set: where is ~/.var/app?")
  }
  let top = home + Array("/.var/app/".utf8) + name
  let places: [(from: String, to: [String], leaving: [String])] = [
    ("data", ["Library", "Application Support"], []),
    ("config", ["Library", "Preferences"], []),
    // There it has its temporary files.
    ("cache", ["Library", "Caches"], ["tmp"]),
    (".local/share", ["Library", "Application Support"], []),
    (".local/state", ["Library", "Application Support", "State"], []),
  ]
  let found = places.filter { (try? Walker.open(path: top + Array("/\($0.from)".utf8))) != nil }
  guard !found.isEmpty else {
    throw Failure("\(top.printable) has nothing of a flatpak's")
  }
  return found.map { place in
    ImportedTree(
      from: top + Array("/\(place.from)".utf8), to: place.to.map { Array($0.utf8) },
      leaving: place.leaving.map { Array($0.utf8) })
  }
}
