// `sandboxfs list`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Store

private let json = Option("json", summary: "print an array of objects")
private let quiet = Option("quiet", "q", summary: "print the identifiers and nothing else")

let listSubcommand = Subcommand(
  command: Command(
    name: "list", summary: "Lists the apps that are installed.",
    examples: ["sandboxfs list", "sandboxfs list --json"],
    options: [json, quiet], exitStatuses: plainStatuses)
) { arguments in
  Launch.sweep(environment: callersEnvironment())
  let store = try storeIfPresent(arguments)
  let containers = try store?.list() ?? []
  if arguments.has(json) {
    let least = try store?.requirement() ?? .any
    try Output.write(JSON.array(containers.map { object($0, least) }).document)
  } else if arguments.has(quiet) {
    try Output.write(containers.map { "\($0.identifier)\n" }.joined())
  } else if containers.isEmpty {
    try Output.write("no app is installed\n")
  } else {
    try Output.write(table(containers).text)
  }
  for container in containers {
    if let problem = container.problem { complain("sandboxfs list: \(problem)") }
  }
  return containers.allSatisfy { $0.problem == nil } ? 0 : 1
}

private func table(_ containers: [ListedContainer]) -> Table {
  var table = Table("APP", "NAME", "VERSION", "STATE", "MOUNTED")
  for container in containers {
    table.add(
      "\(container.identifier)", container.name.shown, container.version.shown, container.state,
      container.isMounted ? "yes" : "no")
  }
  return table
}

private func object(_ container: ListedContainer, _ least: SealRequirement) -> JSON {
  let required = container.requirement.map { max($0, least).rawValue }
  return .object([
    ("identifier", .string("\(container.identifier)")), ("name", .string(container.name)),
    ("version", .string(container.version)), ("state", .string(container.state)),
    ("require", JSON.text(required)),
    ("mounted", .boolean(container.isMounted)),
  ])
}
