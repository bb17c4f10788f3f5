// `sandboxfs uninstall APP`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Paths
internal import Store

private let yes = Option("yes", "y", summary: "do not ask")
private let keepData = Option(
  "keep-data", summary: "remove the bundle only; a later install takes the data up again")

let uninstallSubcommand = Subcommand(
  command: Command(
    name: "uninstall", summary: "Removes an app with all of its data.",
    examples: [
      "sandboxfs uninstall com.example.Notes",
      "sandboxfs uninstall --yes --keep-data com.example.Notes",
    ],
    discussion: [
      "Asks on a terminal, and needs --yes where nobody can answer. An app whose view is mounted "
        + "is not removed."
    ],
    positionals: [Positional("APP", .app)], options: [yes, keepData], exitStatuses: plainStatuses)
) { arguments in
  Launch.sweep(environment: callersEnvironment())
  let identifier = try identifier(arguments.positionals[0])
  let store = try Store.open(try location(arguments))
  let isKept = arguments.has(keepData)
  if !arguments.has(yes) {
    // A container that is not there needs no question.
    guard try store.list().contains(where: { $0.identifier == identifier }) else {
      throw Failure(
        "\(identifier) is not installed in \(store.path.printable); see 'sandboxfs list'")
    }
    let what = isKept ? "Remove the bundle of \(identifier)" : "Remove \(identifier) and its data"
    guard try confirmed(what) else {
      try Output.write("nothing was removed\n")
      return 1
    }
  }
  try store.uninstall(identifier, keepData: isKept)
  try Output.write("removed \(identifier)\(isKept ? "; its data is kept" : "")\n")
  return 0
}

/// Whether a person says yes; throws where there is none.
private func confirmed(_ question: String) throws -> Bool {
  guard StandardStream.inputIsTerminal, StandardStream.output.isTerminal else {
    throw Failure("nobody can be asked here; use --yes to remove it without a question")
  }
  try Output.write("\(question)? [y/N] ")
  return ["y", "yes"].contains(readLine()?.lowercased())
}
