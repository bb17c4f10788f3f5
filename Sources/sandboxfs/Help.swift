// `sandboxfs help [COMMAND]`.

internal import Arguments

private let commandArgument = Positional("COMMAND", .free, .optional)

let helpSubcommand = Subcommand(
  command: Command(
    name: "help", summary: "Says what the commands are, or more about one of them.",
    examples: ["sandboxfs help install"], positionals: [commandArgument],
    exitStatuses: plainStatuses)
) { arguments in
  guard let word = arguments.positionals.first else {
    try Output.write(sandboxfs.help())
    return 0
  }
  try Output.write(help(about: try sandboxfs.command(word)))
  return 0
}
