// `sandboxfs exec APP -- COMMAND [ARG...]`, and the options that it shares with `run`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Paths
internal import Store

let environmentOption = Option(
  "env", "e", value: "NAME[=VALUE]",
  summary: "give it a variable, without VALUE that of the caller; may be repeated")
let directoryOption = Option(
  "cwd", value: "DIR", summary: "start in this directory, inside; else in the home")
let statusOption = Option(
  "json-status", value: "FD",
  summary: "write {\"child-pid\":N} and {\"exit-code\":N} to this descriptor, a line each")

/// What a program that is not ours ends with, and what we end with in its place.
let programStatuses = [
  ExitStatus("125", "sandboxfs itself failed, and one line says why"),
  ExitStatus("126", "the command is there and can't be executed"),
  ExitStatus("127", "the command is not there"),
  ExitStatus("128+N", "signal N ended it"),
  ExitStatus("else", "the command ended with it"),
]

let execSubcommand = Subcommand(
  command: Command(
    name: "exec", summary: "Runs a command beside an app that runs, in its container.",
    examples: [
      "sandboxfs exec com.example.Notes -- sh", "sandboxfs exec com.example.Notes -- ps ax",
    ],
    discussion: [
      "The command sees what the app sees, is refused what the app is refused, and ends with the "
        + "app's run at the latest. It gets no user namespaces, whatever the run was allowed."
    ],
    positionals: [Positional("APP", .app)], rest: "COMMAND [ARG...]",
    options: [environmentOption, directoryOption, statusOption], exitStatuses: programStatuses),
  usageStatus: 125, failureStatus: 125
) { arguments in
  let options = try runOptions(arguments)
  guard let command = arguments.rest, !command.isEmpty else {
    throw UsageError("sandboxfs exec", "COMMAND is missing: give it behind '--'")
  }
  let container = try container(arguments.positionals[0], arguments)
  try container.requireLaunchable()
  return try Launch.join(
    container.directory.descriptor, container.record, command: command, options)
}

/// What `run`, `exec` and `policy learn` may be told alike.
func runOptions(_ arguments: ParsedArguments) throws -> RunOptions {
  var options = RunOptions(
    environment: callersEnvironment(), defaultStore: try StoreLocation.usualStore())
  options.moreEnvironment = try arguments.values(environmentOption).compactMap {
    try variable($0, options.environment)
  }
  options.directory = arguments.value(directoryOption) ?? []
  options.allowed = allowances(arguments)
  options.table = try EnvironmentTables(arguments).table
  options.statusFile = try arguments.value(statusOption).map(statusFile)
  return options
}

extension RunOptions {
  /// These options for a run in a container, as far as the settings allow them and its record.
  func fitting(_ container: Container) throws(StoreError) -> RunOptions {
    try container.store.checkAllowances(allowed.union(container.record.allowances))
    var options = self
    options.privatePlaces += container.store.privatePlaces
    return options
  }
}

/// `NAME=VALUE`; nil for a NAME that the caller does not have.
private func variable(_ word: [UInt8], _ environment: [[UInt8]]) throws -> [UInt8]? {
  let name = word.prefix { $0 != UInt8(ascii: "=") }
  guard !name.isEmpty else {
    throw UsageError("sandboxfs", "--env takes NAME or NAME=VALUE, not '\(word.printable)'")
  }
  if name.count < word.count { return word }
  return environment.first { $0.starts(with: name + [UInt8(ascii: "=")]) }
}

private func statusFile(_ word: [UInt8]) throws -> CInt {
  guard let number = CInt(String(decoding: word, as: UTF8.self)), number >= 0,
    StandardStream.isOpen(number)
  else {
    throw UsageError(
      "sandboxfs", "--json-status takes the number of an open descriptor, not '\(word.printable)'")
  }
  return number
}
