// `sandboxfs run APP [-- COMMAND [ARG...]]`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Paths
internal import Store

/// `--allow WHAT`, of all that runs a program.
let allowOption = Option(
  "allow", value: "WHAT", .oneOf(Allowance.allCases.map(\.rawValue).sorted()),
  summary: "let it reach something outside, by name; may be repeated")

let withOption = Option(
  "with", "w", value: "PATH[:ro|:rw]", .file,
  summary: "lend it a file or directory for this once, to read and write if no ':ro' is behind it; "
    + "may be repeated")
private let showEnvironmentOption = Option(
  "show-environment",
  summary: "run nothing; print the variables that it gets, without APP the table of them")

private let ephemeral = Option(
  "ephemeral", summary: "run it in a copy of its container, which is thrown away afterwards")

/// The options that say nothing without an app.
private let forAnApp = [
  allowOption, withOption, ephemeral, environmentOption, directoryOption, statusOption,
]

let runSubcommand = Subcommand(
  command: Command(
    name: "run", summary: "Runs an app, or a command, inside of the app's container.",
    examples: [
      "sandboxfs run com.example.Notes", "sandboxfs run com.example.Notes -- ls -la",
      "sandboxfs run --allow x11 --with ~/letters org.gnustep.TextEdit",
    ],
    discussion: [
      "The view is the home directory, /home/app, and the working directory. Besides it the "
        + "command sees the system's programs and libraries, read-only, and nothing else. Without "
        + "a command the bundle's executable is run. Without APP the apps are listed.",
      "A path with a slash, such as ./Notes.app, is a bundle that is not installed: its seal is "
        + "judged as by 'install', and it gets a container of its own that is thrown away.",
      "A program whose standard streams are terminals gets one of its own in their place.",
    ],
    positionals: [Positional("APP|BUNDLE", .app, .optional)], rest: "COMMAND [ARG...]",
    options: forAnApp + [showEnvironmentOption],
    exitStatuses: programStatuses),
  usageStatus: 125, failureStatus: 125
) { arguments in
  if let rest = arguments.rest, rest.isEmpty {
    throw UsageError("sandboxfs run", "COMMAND is missing behind '--'")
  }
  if arguments.has(showEnvironmentOption) { return try showEnvironment(arguments) }
  guard !arguments.positionals.isEmpty else {
    if arguments.rest != nil { throw UsageError("sandboxfs run", "APP is missing before '--'") }
    if let option = forAnApp.first(where: arguments.has) {
      throw UsageError(
        "sandboxfs run", "--\(option.name) is for a run: APP is missing; see 'sandboxfs list'")
    }
    return try listSubcommand.run(arguments)
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
  let word = arguments.positionals[0]
  let isBundle = word.contains(UInt8(ascii: "/"))
  guard isBundle || arguments.has(ephemeral) else {
    return try run(in: installed(word, arguments), arguments, options)
  }
  // What is left of others is removed with their views only.
  Launch.sweep(environment: options.environment)
  let throwAway: ThrowAway
  if isBundle {
    throwAway = try Store.openOrCreate(try location(arguments)).throwAwayInstall(from: word)
  } else {
    let container = try installed(word, arguments)
    try container.requireLaunchable()
    throwAway = try container.store.throwAwayCopy(of: container)
  }
  var options = options
  options.privatePlaces = throwAway.privatePlaces
  let result = Result { try run(in: throwAway.container, arguments, options) }
  do throws(StoreError) {
    try throwAway.remove()
  } catch {
    complain("sandboxfs run: \(error.message)")
  }
  return try result.get()
}

/// The container of an app that is installed.
///
/// Who writes the name of a bundle that lies here is told how to run that.
private func installed(_ word: [UInt8], _ arguments: ParsedArguments) throws -> Container {
  do {
    return try preparedContainer(word, arguments)
  } catch {
    let isNone = error is Failure || (error as? StoreError)?.kind == .notFound
    let isHere = (try? Descriptor.following(word).status().kind) == .directory
    guard isNone, isHere else { throw error }
    throw Failure(
      "no app is called '\(word.printable)'; './\(word.printable)' runs the bundle that lies here")
  }
}

private func run(
  in container: Container, _ arguments: ParsedArguments, _ options: RunOptions
) throws -> RunOutcome {
  try container.requireLaunchable()
  var options = try options.fitting(container)
  options.lent = try arguments.values(withOption).map { word in
    let (path, access) = lent(word)
    return try Launch.grant(
      path, access, keepingFrom: options.privatePlaces, environment: options.environment)
  }
  return try Launch.run(
    container.directory.descriptor, container.record, try configuration(of: container),
    command: arguments.rest ?? [], options, isCurrent: container.isCurrent)
}

/// A path, and what the app may do there: `:ro` or `:rw` may stand behind it.
private func lent(_ word: [UInt8]) -> (path: [UInt8], Grant.Access) {
  for (suffix, access) in [(":ro", Grant.Access.read), (":rw", .write)]
  where word.count > suffix.utf8.count && word.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
  {
    return (Array(word.dropLast(suffix.utf8.count)), access)
  }
  return (word, .write)
}

/// Prints the variables that an app gets, or the table that says so.
private func showEnvironment(_ arguments: ParsedArguments) throws -> Int32 {
  guard let word = arguments.positionals.first else {
    try Output.write(EnvironmentTables(arguments).text)
    return 0
  }
  // For a bundle that is not installed they are the same.
  if word.contains(UInt8(ascii: "/")) {
    guard (try? Descriptor.following(word).status().kind) == .directory else {
      throw Failure("\(word.printable): there is no bundle")
    }
  } else {
    _ = try container(word, arguments)
  }
  let variables = Launch.environment(try runOptions(arguments))
  try Output.write(variables.map { $0.printable + "\n" }.joined())
  return 0
}
