// `sandboxfs grant APP [PATH...]` and `sandboxfs revoke APP [PATH...]`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let readOnly = Option("read-only", "r", summary: "let it read there and change nothing")
private let all = Option("all", summary: "take back everything")
private let takenAllowance = Option(
  "allow", value: "WHAT", .oneOf(Allowance.allCases.map(\.rawValue).sorted()),
  summary: "take back that it may reach something, by name; may be repeated")
private let appAndPlaces = [Positional("APP", .app), Positional("PATH", .file, .any)]

let grantSubcommand = Subcommand(
  command: Command(
    name: "grant", summary: "Lends files and directories to an app, or lets it reach more.",
    examples: [
      "sandboxfs grant com.example.Notes ~/Pictures --read-only",
      "sandboxfs grant com.example.Notes --allow network",
    ],
    discussion: [
      "A file or directory is at the same path inside, from the next run on: with all that lies "
        + "below, for whom the app runs as, and never to be executed. If another one is at its "
        + "path then, the app does not run. 'run --with' lends for once.",
      "Lend directories rather than files: programs save by putting a new file in the place of the "
        + "old one, and in the place of a single file that is lent they can't.",
    ],
    positionals: appAndPlaces, options: [readOnly, allowOption], exitStatuses: plainStatuses)
) { arguments in
  let paths = arguments.positionals.dropFirst()
  let reached = allowances(arguments)
  if paths.isEmpty, reached.isEmpty {
    throw UsageError("sandboxfs grant", "PATH is missing; try 'sandboxfs grant --help'")
  }
  let container = try container(arguments.positionals[0], arguments)
  try container.store.checkAllowances(reached)
  let access: Grant.Access = arguments.has(readOnly) ? .read : .write
  let grants = try paths.map { path in
    try Launch.grant(
      path, access, keepingFrom: container.store.privatePlaces, environment: callersEnvironment())
  }
  try container.store.changeGrants(of: container.identifier) { lent, allowed in
    lent.removeAll { old in grants.contains { $0.path == old.path } }
    // The same path may have been given twice.
    for grant in grants where !lent.contains(where: { $0.path == grant.path }) {
      lent.append(grant)
    }
    allowed.formUnion(reached)
  }
  for grant in grants where !mayUse(grant, container.record) {
    complain(
      "sandboxfs grant: \(grant.path.printable) is lent, but the app runs as uid "
        + "\(container.record.ownerUID), which may not use it: "
        + "setfacl -R -m u:\(container.record.ownerUID):"
        + (grant.access == .read ? "rX" : "rwX") + " \(grant.path.printable)")
  }
  tellIfItRuns(container, "it is lent from the next run on")
  return 0
}

let revokeSubcommand = Subcommand(
  command: Command(
    name: "revoke", summary: "Takes back what 'sandboxfs grant' has given to an app.",
    examples: [
      "sandboxfs revoke com.example.Notes ~/Pictures", "sandboxfs revoke com.example.Notes --all",
    ],
    discussion: [
      "An app that runs keeps what it has until it ends; 'sandboxfs kill' ends it."
    ],
    positionals: appAndPlaces, options: [takenAllowance, all], exitStatuses: plainStatuses)
) { arguments in
  let paths = arguments.positionals.dropFirst()
  let reached = allowances(arguments, takenAllowance)
  let takesAll = arguments.has(all)
  if takesAll, !paths.isEmpty || !reached.isEmpty {
    throw UsageError(
      "sandboxfs revoke", "--all takes back everything: leave it out, or PATH and --allow")
  }
  if paths.isEmpty, reached.isEmpty, !takesAll {
    throw UsageError("sandboxfs revoke", "PATH is missing; try 'sandboxfs revoke --help'")
  }
  let container = try container(arguments.positionals[0], arguments)
  try container.store.changeGrants(of: container.identifier) { lent, allowed throws(StoreError) in
    if takesAll { (lent, allowed) = ([], []) }
    for path in paths {
      let names = [try? canonicalPath(path), path.withoutSlashAtEnd]
      guard let index = lent.firstIndex(where: { names.contains($0.path) }) else {
        throw StoreError(
          .notFound,
          "\(path.printable) was not lent to \(container.identifier): see 'sandboxfs grants'")
      }
      lent.remove(at: index)
    }
    if let name = reached.subtracting(allowed).min() {
      throw StoreError(
        .notFound, "\(container.identifier) was not allowed \(name): see 'sandboxfs grants'")
    }
    allowed.subtract(reached)
  }
  tellIfItRuns(container, "it keeps what it has until it ends")
  return 0
}

/// What `--allow` names.
func allowances(
  _ arguments: ParsedArguments, _ option: Option = allowOption
) -> Set<Allowance> {
  Set(
    arguments.values(option).compactMap {
      Allowance(rawValue: String(decoding: $0, as: UTF8.self))
    })
}

/// Whether the modes of what was lent let the app's own user do there what it may.
///
/// A list of access control may say more than modes do, and is believed.
private func mayUse(_ grant: Grant, _ record: ContainerRecord) -> Bool {
  guard effectiveUID() == 0, record.ownerUID != 0 else { return true }
  do throws(Errno) {
    let found = try Descriptor.exactly(grant.path)
    let status = try found.status()
    let names = (try? found.reopened(Opening.reading).extendedAttributeNames()) ?? []
    if names.contains(ExtendedAttributes.accessACL) { return true }
    let wanted: UInt32 =
      (grant.access == .write ? 6 : 4) | (grant.kind == .directory ? 1 : 0)
    let shift: UInt32 =
      status.ownerUID == record.ownerUID ? 6 : status.ownerGID == record.ownerGID ? 3 : 0
    return status.permissions >> shift & wanted == wanted
  } catch {
    return true
  }
}

private func tellIfItRuns(_ container: Container, _ what: String) {
  // Another store may have an app of this name. A daemon that does not answer has none that runs.
  guard let status = try? DaemonStatus.ask(container.directory.descriptor) else { return }
  let runs = RunningApp.all(device: status.device)
  if !runs.isEmpty { complain("sandboxfs: \(container.identifier) runs; \(what)") }
}

extension [UInt8] {
  fileprivate var withoutSlashAtEnd: [UInt8] {
    count > 1 && last == UInt8(ascii: "/") ? Array(dropLast()) : self
  }
}
