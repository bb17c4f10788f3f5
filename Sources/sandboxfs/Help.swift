// `sandboxfs help [COMMAND...]`.

internal import Arguments

private let commandArgument = Positional("COMMAND", .free, .any)

let helpSubcommand = Subcommand(
  command: Command(
    name: "help", summary: "Says what the commands are, or more about one of them.",
    examples: ["sandboxfs help install"], positionals: [commandArgument],
    exitStatuses: plainStatuses)
) { arguments in
  let words = arguments.positionals
  if words.isEmpty {
    try Output.write(sandboxfs.help())
  } else if words.count == 1, let group = sandboxfs.group(words[0]) {
    try Output.write(sandboxfs.help(about: group))
  } else {
    try Output.write(help(about: try sandboxfs.command(words)))
  }
  return 0
}
