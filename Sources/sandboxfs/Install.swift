// `sandboxfs install BUNDLE`.

internal import Arguments
internal import Containers
internal import Store

private let owner = Option(
  "owner", value: "USER",
  summary: "who owns the container's data, instead of a user of its own; for root's store")
private let profile = Option(
  "profile", value: "NAME", summary: "the profile that holds, such as ios; else default")
private let require = Option(
  "require", value: "LEVEL", .oneOf(SealRequirement.allCases.map(\.rawValue).reversed()),
  summary: "what its seal must be worth, now and at each launch: signed by a trusted key, adhoc "
    + "(what is not sealed is sealed now), or any; else what held before, or adhoc")
private let stage = Option(
  "stage", summary: "if the app is mounted, have the new version wait for the next mount")

let installSubcommand = Subcommand(
  command: Command(
    name: "install", summary: "Installs an app, or a new version of one.",
    examples: [
      "sandboxfs install /usr/lib/GNUstep/Applications/TextEdit.app",
      "sandboxfs install Notes.ipa",
    ],
    discussion: [
      "BUNDLE is the directory of a GNUstep, iOS or macOS bundle, or an .ipa. It is copied into a "
        + "new container; if there is one of the same identifier, its bundle is exchanged and its "
        + "data is kept. It happens as a whole or not at all.",
      "An app that is mounted keeps its bundle. With --stage the new version waits beside it and "
        + "takes its place before the next mount; 'sandboxfs info' shows what waits.",
      "A bundle that was modified since it was sealed is refused. 'sandboxfs verify' says more "
        + "about seals.",
    ],
    positionals: [Positional("BUNDLE", .file)], options: [owner, profile, require, stage],
    exitStatuses: plainStatuses)
) { arguments in
  let options = InstallOptions(
    owner: arguments.value(owner),
    profileName: arguments.value(profile).map { String(decoding: $0, as: UTF8.self) },
    requirement: arguments.value(require).flatMap {
      SealRequirement(rawValue: String(decoding: $0, as: UTF8.self))
    }, mayWait: arguments.has(stage))
  let store = try Store.openOrCreate(try location(arguments))
  let report = try store.install(from: arguments.positionals[0], options: options)
  for warning in report.warnings { complain("sandboxfs install: warning: \(warning)") }
  let version = report.version.isEmpty ? "" : " " + report.version.shown
  let done = report.isWaiting ? "staged" : report.isUpdate ? "updated" : "installed"
  let when = report.isWaiting ? "; it takes the bundle's place before the next mount" : ""
  try Output.write(
    "\(done) \(report.identifier) (\(report.name.shown)\(version))\(seal(report))\(when)\n"
      + report.notes.map { "\($0)\n" }.joined())
  return 0
}

/// What is said of a seal that is more than one of anybody's.
private func seal(_ report: InstallReport) -> String {
  if report.sealState == .adHoc { return "" }
  let signers = report.signers.map(\.name.shown).joined(separator: " and ")
  return ": \(report.sealState.rawValue)" + (signers.isEmpty ? "" : ", signed by \(signers)")
}
