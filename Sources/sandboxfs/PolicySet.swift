// `sandboxfs policy set APP FILE`, `policy unset APP` and `policy reload [APP...]`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Policy
internal import Store

private let json = Option("json", summary: "print an object: what was open, and what waits")
private let jsonOfAll = Option("json", summary: "print an array of such objects, one for each app")

private let statuses = [
  ExitStatus("0", "the rules hold, in the view too if it is mounted"),
  ExitStatus("1", "nothing was changed; a line for each mistake, or one that says why"),
  ExitStatus("2", "the command line was not understood"),
]

let policySetSubcommand = Subcommand(
  command: Command(
    name: "policy set", summary: "Gives an app rules of its own, while it runs if it does.",
    examples: [
      "sandboxfs policy set com.example.Notes notes.profile",
      "echo '/Documents/old -write' | sandboxfs policy set com.example.Notes -",
    ],
    discussion: [
      "FILE, or standard input for '-', takes the place of the rules that the app had of its own. "
        + "They are checked together with all others before anything is changed. A view that is "
        + "mounted follows them from the moment the command ends. What is open keeps what it was "
        + "opened for, and is listed."
    ],
    positionals: [Positional("APP", .app), Positional("FILE", .file)], options: [json],
    exitStatuses: statuses)
) { arguments in
  let (text, name) = try rules(arguments.positionals[1])
  return try change(arguments, to: text, called: name) { "set the rules of \($0)" }
}

let policyUnsetSubcommand = Subcommand(
  command: Command(
    name: "policy unset", summary: "Takes from an app the rules of its own.",
    examples: ["sandboxfs policy unset com.example.Notes"],
    discussion: ["What remains is what the shipped profile and the administrator say."],
    positionals: [Positional("APP", .app)], options: [json], exitStatuses: statuses)
) { arguments in
  try change(arguments, to: nil, called: []) { "removed the rules of \($0)" }
}

let policyReloadSubcommand = Subcommand(
  command: Command(
    name: "policy reload",
    summary: "Makes views that are mounted follow the rules as they are now.",
    examples: ["sandboxfs policy reload", "sandboxfs policy reload com.example.Notes"],
    discussion: [
      "To be used after a change in the administrator's profiles. Without APP it is done for every "
        + "app of the store. One with mistakes in its rules keeps those that it has."
    ],
    positionals: [Positional("APP", .app, .any)], options: [jsonOfAll], exitStatuses: statuses)
) { arguments in
  let store = try Store.open(try location(arguments))
  let named = try arguments.positionals.map { try identifier($0) }
  var changes: [RuleChange] = []
  var status: Int32 = 0
  for identifier in named.isEmpty ? try store.list().map(\.identifier) : named {
    let outcome = try tellingMistakes {
      let change = try store.withRules(of: identifier) { try RuleChange(announcingTo: $0) }
      if change.isMounted || !named.isEmpty { changes.append(change) }
      return 0
    }
    status = max(status, outcome)
  }
  if arguments.has(jsonOfAll) {
    try Output.write(JSON.array(changes.map(\.json)).document)
  } else {
    for change in changes {
      let state = change.isMounted ? "its view follows the rules" : "it is not mounted"
      try Output.write("\(change.identifier): \(state)\n" + change.details)
    }
  }
  return status
}

/// Changes an app's own rules, if all rules are right then, and says what came of it.
private func change(
  _ arguments: ParsedArguments, to text: [UInt8]?, called name: [UInt8],
  _ sentence: (BundleIdentifier) -> String
) throws -> Int32 {
  let identifier = try identifier(arguments.positionals[0])
  let store = try Store.open(try location(arguments))
  return try tellingMistakes {
    let container = try store.container(identifier)
    _ = try PolicyEngine(
      layers: container.layers(withOwnProfile: text, called: name),
      bundleName: container.record.bundleName)
    let change = try store.replaceProfile(of: identifier, with: text) {
      try RuleChange(announcingTo: $0)
    }
    if arguments.has(json) {
      try Output.write(change.json.document)
    } else {
      let view = change.isMounted ? "; its view follows them" : ""
      try Output.write(sentence(identifier) + view + "\n" + change.details)
    }
    return 0
  }
}

/// The rules in a file, and what mistakes in them are told by.
private func rules(_ word: [UInt8]) throws -> (text: [UInt8], name: [UInt8]) {
  let isInput = word == [UInt8(ascii: "-")]
  let name = isInput ? Array("standard input".utf8) : word
  do throws(Errno) {
    let limit = Store.maximumProfileByteCount
    if isInput { return (try StandardStream.readInput(atMost: limit), name) }
    let file = try word.withCPath { path throws(Errno) in
      try Descriptor.open(path, 0).release()
    }
    return (try Descriptor(owning: file).readToEnd(atMost: limit), name)
  } catch {
    throw Failure("\(name.printable): \(error.message)")
  }
}

/// What came of a change of an app's rules in its view.
private struct RuleChange {
  let identifier: BundleIdentifier
  /// What the daemon said; nil if none serves the app.
  private let report: PolicyChangeReport?

  /// Tells the daemon, if there is one, all rules as they are now.
  init(announcingTo container: Container) throws {
    identifier = container.identifier
    let configuration = try configuration(of: container)
    // The daemon would refuse them too; so mistakes are told in one way.
    _ = try PolicyEngine(
      layers: configuration.layers, bundleName: configuration.bundleName)
    report = try PolicyChangeReport.set(configuration, of: container.directory.descriptor)
  }

  var isMounted: Bool { report != nil }

  /// What is open since before, and what waits; nothing if there is nothing.
  var details: String {
    var table = Table("OPEN FILE", "STILL ALLOWED", "PROCESS")
    for kept in report?.kept ?? [] {
      table.add(
        Presentation.quoted(kept.path), kept.operation,
        "\(RunningProcess(pid: kept.process).name.printable)[\(kept.process)]")
    }
    return table.takeText() + (report?.notes ?? []).map { "note: \($0)\n" }.joined()
  }

  var json: JSON {
    let kept = (report?.kept ?? []).map { kept in
      JSON.object([
        ("path", .string(Presentation.escaped(kept.path))), ("operation", .string(kept.operation)),
        ("pid", .integer(Int64(kept.process))),
      ])
    }
    return .object([
      ("identifier", .string("\(identifier)")), ("mounted", .boolean(isMounted)),
      ("kept", .array(kept)), ("notes", .array((report?.notes ?? []).map(JSON.string))),
    ])
  }
}
