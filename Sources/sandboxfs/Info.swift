// `sandboxfs info APP`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Paths
internal import Store

private let json = Option("json", summary: "print an object")

let infoSubcommand = Subcommand(
  command: Command(
    name: "info", summary: "Says what is known about an app that is installed.",
    examples: ["sandboxfs info com.example.Notes"],
    positionals: [Positional("APP", .app)], options: [json], exitStatuses: plainStatuses)
) { arguments in
  let container = try container(arguments.positionals[0], arguments)
  let facts = try facts(about: container)
  if arguments.has(json) {
    try Output.write(JSON.object(facts.map { ($0.key, $0.value) }).document)
  } else {
    try Output.write(listing(facts.map { ($0.label, $0.shown) }))
  }
  return 0
}

/// One thing that is known: as people and as programs read it.
private struct Fact {
  let label: String
  let shown: String
  let key: String
  let value: JSON

  init(_ label: String, _ key: String, _ text: String) {
    self.label = label
    self.key = key
    shown = text.isEmpty ? "-" : text.shown
    value = .string(text)
  }

  init(_ label: String, _ key: String, shown: String, _ value: JSON) {
    self.label = label
    self.key = key
    self.shown = shown
    self.value = value
  }
}

private func facts(about container: Container) throws(StoreError) -> [Fact] {
  let record = container.record
  let isMounted = container.isMounted
  let seal = container.sealStatus()
  let requirement = try container.requirement()
  let next = try container.nextVersion().map { Fact("At the next mount", "next", $0) }
  return [
    Fact("Identifier", "identifier", "\(record.identifier)"),
    Fact("Name", "name", record.displayName),
    Fact("Version", "version", record.version),
  ] + [next].compactMap(\.self) + [
    Fact("Bundle", "bundle", record.bundleName.printable),
    Fact("Executable", "executable", record.executable.printable),
    Fact(
      "Seal", "state", shown: seal.state.rawValue + (seal.reason.map { ": \($0)" } ?? ""),
      .string(seal.state.rawValue)),
    Fact(
      "Required", "require", shown: shown(requirement, for: seal.state),
      .string(requirement.rawValue)),
    Fact("Profile", "profile", record.profileName),
    Fact(
      "Owner", "uid", shown: "uid \(record.ownerUID), gid \(record.ownerGID)",
      .integer(Int64(record.ownerUID))),
    time("Installed", "installed", record.installedSeconds),
    time("Updated", "updated", record.updatedSeconds),
    Fact("Mounted", "mounted", shown: isMounted ? "yes" : "no", .boolean(isMounted)),
    Fact("Container", "path", container.path.printable),
  ]
}

/// What is required of a seal, and whether this one is good enough.
private func shown(
  _ requirement: SealRequirement, for state: ContainerRecord.SealState
) -> String {
  if state == .dataOnly || requirement.accepts(state) { return requirement.rawValue }
  return "\(requirement.rawValue), so it is not launched"
}

private func time(_ label: String, _ key: String, _ seconds: Int64) -> Fact {
  Fact(label, key, timestamp(seconds))
}
