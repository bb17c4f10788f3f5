// The command line: finds the subcommand, runs it, and turns what it throws into one line.

internal import Arguments
internal import Glibc
internal import Launch
internal import LinuxKit
internal import Mounting
internal import Store

/// Runs what the arguments ask for; the exit status.
func perform(_ arguments: [[UInt8]]) -> Int32 {
  do throws(UsageError) {
    switch try sandboxfs.parse(arguments) {
    case .help(let command):
      return printed(command.map { help(about: $0) } ?? sandboxfs.help())
    case .groupHelp(let group):
      return printed(sandboxfs.help(about: group))
    case .version:
      return printed(versionLine)
    case .run(let command, let parsed):
      return perform(command, parsed)
    }
  } catch {
    complain(error.line)
    return usageStatus(arguments)
  }
}

private func perform(_ command: Command, _ parsed: ParsedArguments) -> Int32 {
  guard let subcommand = subcommands.first(where: { $0.command.name == command.name }) else {
    preconditionFailure("every command of the table has a subcommand")
  }
  do {
    return try subcommand.run(parsed)
  } catch let error as UsageError {
    complain(error.line)
    return subcommand.usageStatus
  } catch {
    complain("sandboxfs \(command.name): \(describe(error))")
    return status(of: error, in: subcommand)
  }
}

/// The exit status that says an error.
private func status(of error: any Error, in subcommand: Subcommand) -> Int32 {
  switch error {
  // Only what runs a program has statuses that tell a shell how far it came.
  case let error as LaunchError where subcommand.failureStatus == 125: error.exitStatus
  case let error as StoreError where error.kind == .usage: subcommand.usageStatus
  case let error as Failure where error.isUsage: subcommand.usageStatus
  default: subcommand.failureStatus
  }
}

/// What an error says to a person.
func describe(_ error: any Error) -> String {
  switch error {
  case let error as StoreError: error.message
  case let error as MountError: error.message
  case let error as LaunchError: error.message
  case let error as Errno: error.message
  default: "\(error)"
  }
}

private func printed(_ text: String) -> Int32 {
  do throws(OutputFailure) {
    try Output.write(text)
    return 0
  } catch {
    complain("sandboxfs: \(error)")
    return 1
  }
}

/// What runs a program keeps the statuses below 125 for that, so a mistake in its own arguments
/// must not look like one of those.
private func usageStatus(_ arguments: [[UInt8]]) -> Int32 {
  let named = subcommands.first { subcommand in
    let words = subcommand.command.name.split(separator: " ").map { Array($0.utf8) }
    return arguments.starts(with: words)
  }
  return named?.usageStatus ?? 2
}

// Whatever is opened first would else take the place of a stream that the caller has closed.
try? StandardStream.fillGaps()
exit(perform(CommandLine.argumentBytes))
