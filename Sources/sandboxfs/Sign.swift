// `sandboxfs sign --key KEY.pem --certificate CHAIN.pem BUNDLE`.

internal import Arguments
internal import Paths
internal import Store

private let key = Option(
  "key", value: "KEY.pem", .file, summary: "the private key: RSA, or elliptic curve such as P-256")
private let certificate = Option(
  "certificate", value: "CHAIN.pem", .file,
  summary: "the key's certificate, and behind it those that lead to a root")

let signSubcommand = Subcommand(
  command: Command(
    name: "sign", summary: "Seals a bundle and signs the seal with a certificate.",
    examples: [
      "sandboxfs keygen jane.key.pem jane.pem",
      "sandboxfs sign --key jane.key.pem --certificate jane.pem Notes.app",
    ],
    discussion: [
      "BUNDLE is sealed as by 'sandboxfs seal', and _CodeSignature/CodeSignature is a detached CMS "
        + "signature over the seal, in DER. 'openssl cms -verify -binary -purpose any' checks it "
        + "too. A bundle is valid where the certificate or its root is in trust.d."
    ],
    positionals: [Positional("BUNDLE", .directory)], options: [key, certificate],
    exitStatuses: plainStatuses)
) { arguments in
  guard let keyPath = arguments.value(key), let certificatePath = arguments.value(certificate)
  else {
    let missing = arguments.has(key) ? certificate.fullSpelling : key.fullSpelling
    throw UsageError(
      "sandboxfs sign",
      "\(missing) is missing; 'sandboxfs keygen' makes a key and a certificate")
  }
  let identity = try SigningIdentity(key: keyPath, certificate: certificatePath)
  let bundle = try BundleDirectory.open(arguments.positionals[0])
  let report = try withProgress("sealing") { try bundle.seal(identity: identity, progress: $0) }
  let signer = report.signer ?? ""
  try Output.write(
    "signed \(bundle.name.printable) as \(signer.shown): \(entries(report.entryCount))\n")
  return 0
}
