// `sandboxfs verify [--deep] BUNDLE|APP`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Paths
internal import Store

private let deep = Option(
  "deep", summary: "check bundles in the bundle by their own seals too; of an app, read all of it")
private let require = Option(
  "require", value: "LEVEL", .oneOf(SealRequirement.allCases.map(\.rawValue).reversed()),
  summary: "what is good enough: signed by a trusted key, adhoc (sealed by anyone), or any; else "
    + "adhoc")
private let json = Option("json", summary: "print an object")

let verifySubcommand = Subcommand(
  command: Command(
    name: "verify", summary: "Says whether a bundle is as it was sealed, and by whom.",
    examples: [
      "sandboxfs verify Notes.app", "sandboxfs verify --require signed Notes.app",
      "sandboxfs verify --deep com.example.Notes",
    ],
    discussion: [
      "The states are those of codesign: valid (sealed, and signed by who is trusted), ad hoc "
        + "(sealed, not signed), untrusted (signed by a stranger), modified and unsigned. Who is "
        + "trusted lies in trust.d in /etc/sandboxfs and, for a user, in ~/.config/sandboxfs.",
      "Paths that differ are printed behind 'changed', 'missing' or 'added'. Bundles that Apple's "
        + "tools have sealed are compared as well; the signature inside of a Mach-O program is not "
        + "checked, and a note says so. The argument is the directory of that name if there is "
        + "one, else an app that is installed.",
    ],
    positionals: [Positional("BUNDLE|APP", .app)], options: [deep, require, json],
    exitStatuses: [
      ExitStatus("0", "the bundle is as it was sealed, and good enough"),
      ExitStatus("1", "it could not be checked; one line says why"),
      ExitStatus("2", "the command line was not understood"),
      ExitStatus("3", "it was modified, or is not good enough"),
    ])
) { arguments in
  let requirement = requirement(arguments)
  let trust = try Trust(settings: try location(arguments).settings)
  for warning in trust.warnings { complain("sandboxfs verify: warning: \(warning)") }
  let finding = try finding(about: arguments.positionals[0], trust, arguments)
  let isAcceptable = requirement.accepts(finding.state)
  if arguments.has(json) {
    try Output.write(finding.object(isAcceptable: isAcceptable).document)
  } else {
    try Output.write(finding.text)
  }
  return isAcceptable ? 0 : 3
}

/// The parser has refused every other word.
private func requirement(_ arguments: ParsedArguments) -> SealRequirement {
  let word = arguments.value(require).map { String(decoding: $0, as: UTF8.self) }
  return word.flatMap(SealRequirement.init) ?? .adHoc
}

/// What was found out about one bundle.
private struct Finding {
  let name: String
  let state: ContainerRecord.SealState
  var signers: [Signer] = []
  var changed: [[UInt8]] = []
  var missing: [[UInt8]] = []
  var added: [[UInt8]] = []
  var unsealed: [[UInt8]] = []
  var reasons: [String] = []
  var notes: [String] = []
}

private func finding(
  about word: [UInt8], _ trust: Trust, _ arguments: ParsedArguments
) throws -> Finding {
  let isPath = word.contains(UInt8(ascii: "/")) || (try? Descriptor.following(word)) != nil
  if isPath || BundleIdentifier(bytes: word) == nil {
    let bundle = try BundleDirectory.open(word)
    let verdict = try withProgress("verifying") {
      try bundle.verdict(trust: trust, isDeep: arguments.has(deep), progress: $0)
    }
    return Finding(bundle.name.printable, verdict)
  }
  guard let container = try installedContainer(word, arguments) else {
    throw Failure(
      "there is no directory '\(word.printable)' here, and no app of that name is installed; see "
        + "'sandboxfs list'")
  }
  let known = knownFinding(about: container)
  if !arguments.has(deep) { return known }
  let bundle = try BundleDirectory.installed(in: container)
  let verdict = try withProgress("verifying") {
    try bundle.verdict(trust: trust, isDeep: true, progress: $0)
  }
  return Finding("\(container.identifier)", verdict)
}

private func installedContainer(
  _ word: [UInt8], _ arguments: ParsedArguments
) throws -> Container? {
  do {
    return try container(word, arguments)
  } catch let error as StoreError where error.kind == .notFound {
    return nil
  }
}

/// What is known of an installed bundle without reading it.
private func knownFinding(about container: Container) -> Finding {
  let status = container.sealStatus()
  var finding = Finding(name: "\(container.identifier)", state: status.state)
  finding.reasons = [status.reason].compactMap(\.self)
  return finding
}

extension Finding {
  init(_ name: String, _ verdict: BundleVerdict) {
    self.name = name
    state = verdict.state
    signers = verdict.signers
    changed = verdict.inspection.changed
    missing = verdict.inspection.missing
    added = verdict.inspection.added
    unsealed = verdict.inspection.unsealed
    reasons = verdict.reasons
    notes = verdict.notes
  }

  // MARK: For people

  var text: String {
    let by = signers.map(\.shown)
    let signed = by.isEmpty ? "" : ", signed by " + by.joined(separator: " and ")
    var lines = ["\(name): \(state.rawValue)\(signed)"]
    lines += changed.map { "changed  \($0.printable)" }
    lines += missing.map { "missing  \($0.printable)" }
    lines += added.map { "added    \($0.printable)" }
    lines += reasons.map { "because: \($0.shown)" }
    lines += notes.map { "note: \($0.shown)" }
    return lines.map { $0 + "\n" }.joined()
  }

  // MARK: For programs

  func object(isAcceptable: Bool) -> JSON {
    .object([
      ("name", .string(name)), ("state", .string(state.rawValue)),
      ("acceptable", .boolean(isAcceptable)), ("signers", .array(signers.map(\.object))),
      ("changed", paths(changed)), ("missing", paths(missing)), ("added", paths(added)),
      ("unsealed", paths(unsealed)), ("reasons", .array(reasons.map(JSON.string))),
      ("notes", .array(notes.map(JSON.string))),
    ])
  }

  private func paths(_ paths: [[UInt8]]) -> JSON { .array(paths.map { .string($0.printable) }) }
}

extension Signer {
  fileprivate var shown: String {
    switch kind {
    case .certificate(let issuer, _):
      issuer == name ? name.shown : "\(name.shown) (certified by \(issuer.shown))"
    case .minisign(let comment):
      comment.isEmpty ? "minisign key \(name)" : "minisign key \(name) (\(comment.shown))"
    }
  }

  fileprivate var object: JSON {
    switch kind {
    case .certificate(let issuer, let digest):
      .object([
        ("name", .string(name)), ("trusted", .boolean(isTrusted)), ("issuer", .string(issuer)),
        ("sha256", .string(hexadecimal(digest))),
      ])
    case .minisign(let comment):
      .object([
        ("minisignKey", .string(name)), ("trusted", .boolean(isTrusted)),
        ("comment", .string(comment)),
      ])
    }
  }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
