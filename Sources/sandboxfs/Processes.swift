// `sandboxfs ps [APP...]`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Paths

private let json = Option("json", summary: "print an array of objects")

let psSubcommand = Subcommand(
  command: Command(
    name: "ps", summary: "Shows the processes that run in containers.",
    examples: ["sandboxfs ps", "sandboxfs ps com.example.Notes"],
    discussion: [
      "Shows those that the caller may look at, whatever store their container is in; for each "
        + "APP only those of that app. The numbers are those that kill(1) takes."
    ],
    positionals: [Positional("APP", .app, .any)], options: [json], exitStatuses: plainStatuses)
) { arguments in
  let wanted = Set(arguments.positionals)
  let all = RunningApp.all()
  try requireApps(arguments.positionals, seen: all.map(\.identifier), arguments)
  let runs = all.filter { wanted.isEmpty || wanted.contains($0.identifier) }
  let processes = runs.flatMap { run in run.processes.map { (run: run, process: $0) } }
  if arguments.has(json) {
    try Output.write(JSON.array(processes.map(object)).document)
  } else if processes.isEmpty {
    try Output.write("no app\(wanted.isEmpty ? "" : " of what was named") runs\n")
  } else {
    var table = Table("APP", "PID", "UID", "COMMAND")
    for (run, process) in processes {
      table.add(
        run.identifier.printable, "\(process.pid)", process.uid.map { "\($0)" } ?? "",
        words(of: process))
    }
    try Output.write(table.text)
  }
  return 0
}

/// The command line on one line; the name in brackets if it has hidden it.
private func words(of process: RunningProcess) -> String {
  let words = process.arguments.map(\.printable)
  return words.isEmpty ? "[\(process.name.printable)]" : words.joined(separator: " ")
}

private func object(_ run: RunningApp, _ process: RunningProcess) -> JSON {
  .object([
    ("identifier", .string(run.identifier.printable)), ("pid", .integer(Int64(process.pid))),
    ("pidInside", process.numberInside.map { .integer(Int64($0)) } ?? .null),
    ("uid", process.uid.map { .integer(Int64($0)) } ?? .null),
    ("run", .integer(Int64(run.first))),
    ("command", .array(process.arguments.map { .string($0.printable) })),
  ])
}
