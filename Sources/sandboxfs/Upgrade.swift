// `sandboxfs upgrade (APP... | --all)`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths

private let all = Option("all", summary: "all views in the caller's mount namespace")
private let json = Option("json", summary: "print an array of objects, one for each view")

let upgradeSubcommand = Subcommand(
  command: Command(
    name: "upgrade", summary: "Has mounted views served by the program that is installed now.",
    examples: ["sandboxfs upgrade com.example.Notes", "sandboxfs upgrade --all"],
    discussion: [
      "Apps see a pause of some milliseconds, and everything that they have open stays open. The "
        + "program is the one that lies where the view's daemon lay when it was mounted; it may be "
        + "an older one too. One that keeps a view's state in another form, or that would agree on "
        + "other features with the kernel, is refused before anything is done: such a view has to "
        + "be unmounted and mounted again."
    ],
    positionals: [Positional("APP", .app, .any)], options: [all, json],
    exitStatuses: [
      ExitStatus("0", "every view is served by the program; with --all there may be none"),
      ExitStatus("1", "a view goes on as it was; a line says why"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let named = arguments.positionals
  guard named.isEmpty == arguments.has(all) else {
    throw UsageError(
      "sandboxfs upgrade",
      named.isEmpty
        ? "which view? write the identifier of an app, or --all"
        : "--all and '\(named[0].printable)' exclude each other")
  }
  let views = try superblocks(of: named, arguments)
  let outcomes = views.map { (view: $0, outcome: upgrade($0)) }
  if arguments.has(json) {
    try Output.write(JSON.array(outcomes.map { object($0.view, $0.outcome) }).document)
  } else if outcomes.isEmpty {
    try Output.write("no view is mounted\n")
  }
  var status: Int32 = 0
  for (view, outcome) in outcomes {
    switch outcome {
    case .success(let upgrade):
      if !arguments.has(json) { try Output.write(line(view, upgrade)) }
    case .failure(let error):
      if !arguments.has(json) {
        complain("sandboxfs upgrade: \(view.identifier.printable): \(error.message)")
      }
      status = 1
    }
  }
  return status
}

/// One view of each superblock, of these apps or of all.
private func superblocks(
  of named: [[UInt8]], _ arguments: ParsedArguments
) throws -> [ViewReport] {
  for name in named { _ = try identifier(name) }
  var known: Set<DeviceNumber> = []
  let views = try ViewMounts.list().filter { known.insert($0.device).inserted }
  try requireApps(named, seen: views.map(\.identifier), arguments)
  for name in named where !views.contains(where: { $0.identifier == name }) {
    throw Failure("no view of '\(name.printable)' is mounted; the next mount has the new program")
  }
  return named.isEmpty ? views : views.filter { named.contains($0.identifier) }
}

private func upgrade(_ view: ViewReport) -> Result<ViewUpgrade, MountError> {
  do throws(MountError) {
    return .success(try ViewMounts.upgrade(view.device))
  } catch {
    return .failure(error)
  }
}

private func line(_ view: ViewReport, _ upgrade: ViewUpgrade) -> String {
  let pause = (upgrade.pauseMicroseconds + 999) / 1000
  let releases =
    upgrade.before == upgrade.now
    ? upgrade.now.printable : "\(upgrade.before.printable) -> \(upgrade.now.printable)"
  return "\(view.identifier.printable): \(releases), after a pause of \(pause) ms\n"
}

private func object(_ view: ViewReport, _ outcome: Result<ViewUpgrade, MountError>) -> JSON {
  var fields: [(String, JSON)] = [
    ("identifier", .string(view.identifier.printable)), ("device", .string("\(view.device)")),
  ]
  switch outcome {
  case .success(let upgrade):
    fields += [
      ("state", .string("upgraded")), ("before", .string(upgrade.before.printable)),
      ("now", .string(upgrade.now.printable)),
      ("pauseMicroseconds", .integer(Int64(upgrade.pauseMicroseconds))),
    ]
  case .failure(let error):
    fields += [("state", .string("refused")), ("reason", .string(error.message))]
  }
  return .object(fields)
}
