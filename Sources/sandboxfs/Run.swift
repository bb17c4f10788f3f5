// `sandboxfs run APP [-- COMMAND [ARG...]]`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Paths
internal import Store

/// `--allow WHAT`, of all that runs a program.
let allowOption = Option(
  "allow", value: "WHAT", .oneOf(Allowance.allCases.map(\.rawValue).sorted()),
  summary: "let it reach something outside, by name; may be repeated")

let runSubcommand = Subcommand(
  command: Command(
    name: "run", summary: "Runs an app, or a command, inside of the app's container.",
    examples: [
      "sandboxfs run com.example.Notes", "sandboxfs run com.example.Notes -- ls -la",
      "sandboxfs run --allow x11 org.gnustep.TextEdit",
    ],
    discussion: [
      "The view is the home directory, /home/app, and the working directory. Besides it the "
        + "command sees the system's programs and libraries, read-only, and nothing else. Without "
        + "a command the bundle's executable is run."
    ],
    positionals: [Positional("APP", .app)], rest: "COMMAND [ARG...]", options: [allowOption],
    exitStatuses: [
      ExitStatus("125", "sandboxfs itself failed, and one line says why"),
      ExitStatus("126", "the command is there and can't be executed"),
      ExitStatus("127", "the command is not there"),
      ExitStatus("128+N", "signal N ended it"),
      ExitStatus("else", "the command ended with it"),
    ]),
  usageStatus: 125, failureStatus: 125
) { arguments in
  if let rest = arguments.rest, rest.isEmpty {
    throw UsageError("sandboxfs run", "COMMAND is missing behind '--'")
  }
  try Launch.checkMachine()
  let options = try runOptions(arguments)
  let outcome: RunOutcome
  do {
    outcome = try run(arguments, options)
  } catch let error as LaunchError where error == .outdated {
    outcome = try run(arguments, options)
  }
  for remark in outcome.remarks { complain("sandboxfs run: \(remark)") }
  return outcome.status
}

/// Runs it in the container as it is now.
private func run(_ arguments: ParsedArguments, _ options: RunOptions) throws -> RunOutcome {
  let container = try preparedContainer(arguments.positionals[0], arguments)
  try container.requireLaunchable()
  return try Launch.run(
    container.directory.descriptor, container.record, try configuration(of: container),
    command: arguments.rest ?? [], options, isCurrent: container.isCurrent)
}

/// What the command line and the environment say about a run.
func runOptions(_ arguments: ParsedArguments) throws -> RunOptions {
  var options = RunOptions(
    environment: callersEnvironment(), defaultStore: try StoreLocation.usualStore())
  options.allowed = Set(
    arguments.values(allowOption).compactMap {
      Allowance(rawValue: String(decoding: $0, as: UTF8.self))
    })
  return options
}
