// `sandboxfs completion SHELL`.

internal import Arguments
internal import Paths

private let shellNames = Program.Shell.allCases.map(\.rawValue)

let completionSubcommand = Subcommand(
  command: Command(
    name: "completion", summary: "Writes a script that completes command lines in a shell.",
    examples: ["sandboxfs completion bash > /etc/bash_completion.d/sandboxfs"],
    positionals: [Positional("SHELL", .oneOf(shellNames))], exitStatuses: plainStatuses)
) { arguments in
  let word = String(decoding: arguments.positionals[0], as: UTF8.self)
  guard let shell = Program.Shell(rawValue: word) else {
    throw UsageError(
      "sandboxfs completion",
      "'\(arguments.positionals[0].printable)' is no shell that can be completed in; "
        + "expected one of " + shellNames.joined(separator: ", "))
  }
  try Output.write(sandboxfs.completion(for: shell))
  return 0
}
