// `sandboxfs keygen KEY.pem CERTIFICATE.pem`.

internal import Arguments
internal import LinuxKit
internal import Paths
internal import Store

private let name = Option(
  "name", value: "NAME", summary: "whose certificate it is; else the caller's user name")
private let days = Option("days", value: "N", summary: "how long it is valid; else 1825, 5 years")

let keygenSubcommand = Subcommand(
  command: Command(
    name: "keygen", summary: "Makes a key and a certificate to sign bundles with.",
    examples: [
      "sandboxfs keygen --name 'Jane Doe' jane.key.pem jane.pem",
      "install -m 644 jane.pem /etc/sandboxfs/trust.d/jane.pem",
    ],
    discussion: [
      "The key is on the curve P-256 and not encrypted; the certificate is issued by itself, for "
        + "signing code. Both files are for the caller alone, and none is overwritten. Hosts on "
        + "which the certificate lies in trust.d take what is signed with the key for valid."
    ],
    positionals: [Positional("KEY.pem", .file), Positional("CERTIFICATE.pem", .file)],
    options: [name, days], exitStatuses: plainStatuses)
) { arguments in
  let count = arguments.value(days).map { String(decoding: $0, as: UTF8.self) } ?? "1825"
  guard let dayCount = Int(count), (1...36_500).contains(dayCount) else {
    throw UsageError(
      "sandboxfs keygen", "'\(Array(count.utf8).printable)' is no number of days, 1 to 36500")
  }
  let holder = try holder(arguments.value(name))
  try DeveloperKey.create(
    key: arguments.positionals[0], certificate: arguments.positionals[1], name: holder,
    days: dayCount)
  try Output.write(
    "made a key, \(arguments.positionals[0].printable), and the certificate of "
      + "\(holder.shown), \(arguments.positionals[1].printable)\n")
  return 0
}

/// The name in the certificate, of which X.509 allows 64 letters.
private func holder(_ given: [UInt8]?) throws -> String {
  let longest = 64
  guard let given else {
    guard let account = try HostAccount.of(uid: effectiveUID()) else {
      throw Failure("uid \(effectiveUID()) has no name: give one with --name")
    }
    return String(decoding: account.name, as: UTF8.self)
  }
  guard let text = String(validating: given, as: UTF8.self), !text.isEmpty,
    text.unicodeScalars.count <= longest
  else {
    throw UsageError(
      "sandboxfs keygen", "'\(given.printable)' is no name of 1 to \(longest) letters")
  }
  return text
}
