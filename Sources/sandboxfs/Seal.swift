// `sandboxfs seal BUNDLE`.

internal import Arguments
internal import Paths
internal import Store

let sealSubcommand = Subcommand(
  command: Command(
    name: "seal", summary: "Seals a bundle, so that every later change of it is noticed.",
    examples: [
      "sandboxfs seal Notes.app",
      "minisign -Sm Notes.app/_CodeSignature/CodeResources",
    ],
    discussion: [
      "BUNDLE gets a file _CodeSignature/CodeResources, of the form of Apple's tools, with the "
        + "digest of each of its files. What was sealed before is sealed anew, and signatures over "
        + "the former seal go. A seal alone keeps nobody from sealing the bundle again: 'sandboxfs "
        + "sign' or minisign(1) say whose it is."
    ],
    positionals: [Positional("BUNDLE", .directory)],
    exitStatuses: plainStatuses)
) { arguments in
  let bundle = try BundleDirectory.open(arguments.positionals[0])
  let report = try withProgress("sealing") { try bundle.seal(progress: $0) }
  try Output.write(
    report.isUnchanged
      ? "\(bundle.name.printable) is sealed just so already\n"
      : "sealed \(bundle.name.printable): \(entries(report.entryCount))\n")
  return 0
}

/// A number of what a seal names.
func entries(_ count: Int) -> String { count == 1 ? "1 file" : "\(count) files" }
