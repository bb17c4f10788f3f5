// `sandboxfs grants [APP...]`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Paths
internal import Store

private let json = Option("json", summary: "print an array of objects")

let grantsSubcommand = Subcommand(
  command: Command(
    name: "grants", summary: "Shows what was lent to apps, and what they may reach.",
    examples: ["sandboxfs grants", "sandboxfs grants com.example.Notes --json"],
    discussion: [
      "The state is 'ok', or why the app would not run: what was lent is gone, or another one is "
        + "in its place."
    ],
    positionals: [Positional("APP", .app, .any)], options: [json], exitStatuses: plainStatuses)
) { arguments in
  let rows = try containers(arguments).flatMap(rows)
  if arguments.has(json) {
    try Output.write(JSON.array(rows.map(\.object)).document)
  } else if rows.isEmpty {
    try Output.write("nothing is granted\n")
  } else {
    var table = Table("APP", "WHAT", "ACCESS", "STATE")
    for row in rows {
      table.add("\(row.app)", row.what.printable, row.access, row.problem ?? "ok")
    }
    try Output.write(table.text)
  }
  return 0
}

/// Those that were named, or all.
private func containers(_ arguments: ParsedArguments) throws -> [Container] {
  if !arguments.positionals.isEmpty {
    return try arguments.positionals.map { try container($0, arguments) }
  }
  guard let store = try storeIfPresent(arguments) else { return [] }
  // One whose record is broken is told by 'list'.
  return try store.list().filter { $0.problem == nil }.map { try store.container($0.identifier) }
}

/// One thing that an app has.
private struct Row {
  let app: BundleIdentifier
  let what: [UInt8]
  /// `read`, `write`, or `allow` for what it may reach by name.
  let access: String
  let problem: String?

  var object: JSON {
    .object([
      ("identifier", .string("\(app)")), ("what", .string(what.printable)),
      ("access", .string(access)), ("problem", .text(problem)),
    ])
  }
}

private func rows(of container: Container) -> [Row] {
  container.record.grants.map { grant in
    let problem = Launch.problem(
      of: grant, keepingFrom: container.store.privatePlaces, environment: callersEnvironment())
    let path = grant.path.printable + ": "
    return Row(
      app: container.identifier, what: grant.path, access: grant.access.rawValue,
      problem: problem.map { $0.hasPrefix(path) ? String($0.dropFirst(path.count)) : $0 })
  }
    + container.record.allowances.sorted().map {
      Row(
        app: container.identifier, what: Array($0.rawValue.utf8), access: "allow", problem: nil)
    }
}
