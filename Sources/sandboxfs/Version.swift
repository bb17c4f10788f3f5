// `sandboxfs version`.

internal import Arguments
internal import Containers

/// What `sandboxfs version` and `--version` print.
let versionLine = "\(programVersion)\n"

/// The program with its version.
let programVersion = "sandboxfs \(Release.number)"

let versionSubcommand = Subcommand(
  command: Command(
    name: "version", summary: "Says the version.", examples: ["sandboxfs version"],
    exitStatuses: plainStatuses)
) { _ in
  try Output.write(versionLine)
  return 0
}
