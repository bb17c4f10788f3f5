// `sandboxfs status [APP...]`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Mounting
internal import Paths

private let json = Option("json", summary: "print an array of objects")

let statusSubcommand = Subcommand(
  command: Command(
    name: "status", summary: "Shows which views are mounted, and whether they answer.",
    examples: ["sandboxfs status", "sandboxfs status --json com.example.Notes"],
    discussion: [
      "Shows the views in the caller's mount namespace, whoever mounted them; for each APP only "
        + "those of that app."
    ],
    positionals: [Positional("APP", .app, .any)], options: [json],
    exitStatuses: [
      ExitStatus("0", "every view that was shown answers; there may be none"),
      ExitStatus("1", "a view does not answer, an APP is not there, or no view can be seen"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  Launch.sweep(environment: callersEnvironment())
  let wanted = Set(arguments.positionals)
  let all = try ViewMounts.list()
  try requireApps(arguments.positionals, seen: all.map(\.identifier), arguments)
  let views = all.filter { wanted.isEmpty || wanted.contains($0.identifier) }
  if arguments.has(json) {
    try Output.write(JSON.array(views.map(object)).document)
  } else if views.isEmpty {
    try Output.write("no view\(wanted.isEmpty ? "" : " of what was named") is mounted\n")
  } else {
    try Output.write(table(views).text + remarks(views))
  }
  return views.allSatisfy { $0.health == .answering } ? 0 : 1
}

private func table(_ views: [ViewReport]) -> Table {
  var table = Table("APP", "MOUNTED AT", "ACCESS", "DAEMON", "I/O", "SEAL", "STATE")
  for view in views {
    table.add(
      view.identifier.printable, view.target.printable, access(view),
      view.daemon.map { String($0) } ?? "", view.status?.transfer.printable ?? "",
      view.seal?.printable ?? "", view.health.rawValue)
  }
  return table
}

private func access(_ view: ViewReport) -> String {
  let access = view.isReadOnly ? "ro" : "rw"
  return view.status?.hasExtendedAttributes == false ? access + ",xattr=off" : access
}

/// What the system's log has missed, a line for each app of which it has.
private func remarks(_ views: [ViewReport]) -> String {
  var told: Set<[UInt8]> = []
  return views.map { view in
    guard let count = view.unsentCount, count > 0, told.insert(view.identifier).inserted else {
      return ""
    }
    return "note: the system's log did not take \(count) messages about refusals of "
      + "\(view.identifier.printable); its own log has them\n"
  }.joined()
}

private func object(_ view: ViewReport) -> JSON {
  .object([
    ("identifier", .string(view.identifier.printable)),
    ("target", .string(view.target.printable)),
    ("readOnly", .boolean(view.isReadOnly)),
    ("io", .text(view.status?.transfer.printable)),
    ("extendedAttributes", view.status.map { .boolean($0.hasExtendedAttributes) } ?? .null),
    ("device", .string("\(view.device)")),
    ("daemon", view.daemon.map { .integer(Int64($0)) } ?? .null),
    ("worker", number(view.status?.worker)),
    (
      "supervisor",
      number(view.status.flatMap { $0.isSupervised ? $0.pid : nil })
    ),
    ("version", .text(view.status?.release.printable)),
    ("restarts", number(view.status?.restarts)),
    ("upgrades", number(view.status?.upgrades)),
    ("lastPauseMicroseconds", number(view.status?.pauseMicroseconds)),
    ("purgedFiles", number(view.status?.purgedFileCount)),
    ("purgedBytes", number(view.status?.purgedByteCount)),
    ("bundle", .text(view.bundleTarget?.printable)),
    ("seal", .text(view.seal?.printable)),
    ("state", .string(view.health.rawValue)),
    ("unsentMessages", view.unsentCount.map { .integer(Int64($0)) } ?? .null),
  ])
}

private func number(_ value: (some BinaryInteger)?) -> JSON {
  value.map { .integer(Int64($0)) } ?? .null
}
