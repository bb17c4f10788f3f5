// `sandboxfs purge [APP...|--all]`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Paths
internal import Policy
internal import Store

private let all = Option("all", summary: "of every app; those that were used last come last")
private let toFree = Option(
  "to-free", value: "SIZE", .free,
  summary: "stop when so much is freed, such as 500M or 2G, K, M and G being powers of 1024")
private let untilFree = Option(
  "until-free", value: "SIZE|N%", .free,
  summary: "stop when so much of the store's file system is free; nothing goes if it is already")
private let dryRun = Option("dry-run", summary: "remove nothing, and list what would go and why")
private let json = Option("json", summary: "print an object")

let purgeSubcommand = Subcommand(
  command: Command(
    name: "purge", summary: "Removes what the rules let go when space is short, such as caches.",
    examples: [
      "sandboxfs purge com.example.Notes", "sandboxfs purge --all --to-free 2G",
      "sandboxfs purge --all --dry-run",
    ],
    discussion: [
      "What goes is what the rules call 'purge=pressure': by default Library/Caches and tmp. The "
        + "file that was not used for the longest time goes first. What a program has open or "
        + "mapped stays, and so do directories of an app whose view is mounted.",
      "The same happens by itself when a file is being written and less is free than 'purge.low' "
        + "in sandboxfs.conf says, until 'purge.high' is free again: 5%, but at most 2G, and 10%, "
        + "but at most 4G, where it says nothing. 'purge.low = 0' switches it off.",
    ],
    positionals: [Positional("APP", .app, .any)],
    options: [all, toFree, untilFree, dryRun, json],
    exitStatuses: [
      ExitStatus("0", "it is done"),
      ExitStatus("1", "something could not be removed, or less was freed than was asked for"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  guard arguments.has(all) != !arguments.positionals.isEmpty else {
    throw UsageError("sandboxfs purge", "name an APP, or say --all")
  }
  guard !(arguments.has(toFree) && arguments.has(untilFree)) else {
    throw UsageError("sandboxfs purge", "--to-free and --until-free contradict each other")
  }
  let goal = try goal(arguments)
  guard let store = try storeIfPresent(arguments) else {
    return try tell(PurgeReport(), isJSON: arguments.has(json), isDry: arguments.has(dryRun))
  }
  let identifiers =
    arguments.has(all)
    ? try store.list().map(\.identifier) : try arguments.positionals.map { try identifier($0) }
  let purge = try StorePurge(
    store, identifiers, goal, changesNothing: arguments.has(dryRun))
  let report =
    if arguments.has(dryRun) { try purge.preview() } else {
      try store.purging { try purge.perform() }
    }
  return try tell(report, isJSON: arguments.has(json), isDry: arguments.has(dryRun))
}

private func goal(_ arguments: ParsedArguments) throws -> PurgeGoal {
  if let text = arguments.value(toFree) {
    guard let size = Quota.byteCount(text) else {
      throw UsageError(
        "sandboxfs purge", "--to-free '\(text.printable)': expected a size such as 500M or 2G")
    }
    return .freed(size)
  }
  if let text = arguments.value(untilFree) {
    guard let mark = SpaceMark(text) else {
      throw UsageError(
        "sandboxfs purge",
        "--until-free '\(text.printable)': expected \(SpaceMark.expectation)")
    }
    return .free(mark)
  }
  return .everything
}

// MARK: Telling

private func tell(_ report: PurgeReport, isJSON: Bool, isDry: Bool) throws -> Int32 {
  if isJSON {
    try Output.write(object(report).document)
  } else if isDry {
    try Output.write(table(report))
  } else {
    try Output.write(lines(report))
  }
  for failure in report.failures { complain("sandboxfs purge: \(failure)") }
  if let missing = report.missingByteCount, missing > 0 {
    complain(
      "sandboxfs purge: \(size(Int64(clamping: missing))) less than asked for: nothing else may go")
  }
  return report.failures.isEmpty && report.missingByteCount ?? 0 == 0 ? 0 : 1
}

private func table(_ report: PurgeReport) -> String {
  var table = Table("APP", "SIZE", "LAST USED", "RULE", "PATH")
  for file in report.files {
    table.add(
      file.app, size(file.byteCount), file.used, file.rule, Presentation.path(file.path))
  }
  let sum =
    "\(counted(report.files.count, "file")), \(size(report.byteCount)), would go"
    + (report.inUseCount > 0 ? "; \(report.inUseCount) more in use" : "") + "\n"
  return (report.files.isEmpty ? "" : table.text) + sum
}

private func lines(_ report: PurgeReport) -> String {
  if report.apps.isEmpty { return "nothing may go\n" }
  return report.apps.map { app in
    "\(app.identifier): removed \(counted(app.removedCount, "file")) (\(size(app.byteCount)))"
      + (app.inUseCount > 0 ? ", left \(app.inUseCount) in use" : "") + "\n"
  }.joined()
}

private func object(_ report: PurgeReport) -> JSON {
  .object([
    ("files", .integer(Int64(report.files.count))), ("bytes", .integer(report.byteCount)),
    ("inUse", .integer(Int64(report.inUseCount))),
    (
      "apps",
      .array(
        report.apps.map { app in
          .object([
            ("app", .string("\(app.identifier)")), ("files", .integer(Int64(app.removedCount))),
            ("bytes", .integer(app.byteCount)), ("inUse", .integer(Int64(app.inUseCount))),
          ])
        })
    ),
    (
      "paths",
      .array(
        report.files.map { file in
          .object([
            ("app", .string(file.app)), ("path", .string(Presentation.path(file.path))),
            ("bytes", .integer(file.byteCount)), ("lastUsed", .string(file.used)),
            ("rule", .string(file.rule)),
          ])
        })
    ),
    ("failures", .array(report.failures.map { .string($0) })),
  ])
}
