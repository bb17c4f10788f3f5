// `sandboxfs backup list|show|verify|diff`: looking into a backup.

internal import Arguments
internal import BackupFormat
internal import Containers
internal import LinuxKit
internal import MobileBackup
internal import Paths
internal import Store

private let json = Option("json", summary: "print JSON")

private let wholeStatuses = [
  ExitStatus("0", "nothing is wrong, or nothing differs"),
  ExitStatus("1", "something is wrong or differs, or it could not be read"),
  ExitStatus("2", "the command line was not understood"),
]

// MARK: list

let backupListSubcommand = Subcommand(
  command: Command(
    name: "backup list", summary: "Lists the apps that a backup holds.",
    examples: ["sandboxfs backup list /media/usb/backups"],
    discussion: [
      "DIRECTORY is a backup, or a directory with one backup in it: ours, or one that iTunes or "
        + "Finder made without a password."
    ],
    positionals: [Positional("DIRECTORY", .directory)], options: [json],
    exitStatuses: plainStatuses)
) { arguments in
  let backup = try BackupDirectory.open(arguments.positionals[0])
  let apps = try backup.apps()
  if arguments.has(json) {
    try Output.write(JSON.array(apps.map(object)).document)
    return 0
  }
  guard !apps.isEmpty else {
    try Output.write("the backup holds no app\n")
    return 0
  }
  var table = Table("APP", "VERSION", "ENTRIES", "SIZE")
  for app in apps {
    table.add(app.identifier.shown, app.version.shown, "\(app.entryCount)", size(app.byteCount))
  }
  let date = backup.date.flatMap { Int64(exactly: $0.rounded(.down)) }.map { timestamp($0) }
  try Output.write("\(backup.shown)\(date.map { ", of \($0)" } ?? "")\n\(table.text)")
  return 0
}

private func object(_ app: BackupDirectory.App) -> JSON {
  .object([
    ("identifier", .string(app.identifier)), ("version", .string(app.version)),
    ("entries", .integer(Int64(app.entryCount))), ("bytes", .integer(app.byteCount)),
  ])
}

// MARK: show

let backupShowSubcommand = Subcommand(
  command: Command(
    name: "backup show", summary: "Lists what a backup holds of an app.",
    examples: ["sandboxfs backup show /media/usb/backups com.example.Notes"],
    positionals: [Positional("DIRECTORY", .directory), Positional("APP", .app)], options: [json],
    exitStatuses: plainStatuses)
) { arguments in
  let backup = try BackupDirectory.open(arguments.positionals[0])
  let identifier = arguments.positionals[1].printable
  var table = Table("MODE", "SIZE", "CHANGED", "PATH")
  var objects: [JSON] = []
  try backup.forEachEntry(of: identifier) { entry in
    if entry.path.isEmpty { return }
    if arguments.has(json) {
      objects.append(object(entry))
    } else {
      let target = entry.target.map { " -> \(Presentation.quoted($0))" } ?? ""
      table.add(
        mode(entry), "\(entry.byteCount)", timestamp(seconds(entry)),
        Presentation.quoted(entry.path) + target)
    }
  }
  try Output.write(arguments.has(json) ? JSON.array(objects).document : table.text)
  return 0
}

private func seconds(_ entry: BackupEntry) -> Int64 {
  let unit: Int64 = 1_000_000_000
  return (entry.modifiedNanoseconds - (entry.modifiedNanoseconds % unit + unit) % unit) / unit
}

private func object(_ entry: BackupEntry) -> JSON {
  .object([
    ("path", .string(entry.path.printable)), ("kind", .string(word(entry.kind))),
    ("mode", .integer(Int64(entry.permissions))), ("bytes", .integer(entry.byteCount)),
    ("modified", .string(timestamp(seconds(entry)))), ("target", .text(entry.target?.printable)),
  ])
}

private func word(_ kind: BackupEntry.Kind) -> String {
  switch kind {
  case .file: "file"
  case .directory: "directory"
  case .symbolicLink: "link"
  }
}

/// `-rw-r--r--`.
private func mode(_ entry: BackupEntry) -> String {
  let kind =
    switch entry.kind {
    case .file: "-"
    case .directory: "d"
    case .symbolicLink: "l"
    }
  let letters = Array("rwxrwxrwx")
  return kind
    + String(
      letters.indices.map { entry.permissions >> UInt32(8 - $0) & 1 == 1 ? letters[$0] : "-" })
}

// MARK: verify

let backupVerifySubcommand = Subcommand(
  command: Command(
    name: "backup verify", summary: "Reads a whole backup, and says what of it is damaged.",
    examples: ["sandboxfs backup verify /media/usb/backups"],
    positionals: [Positional("DIRECTORY", .directory)], options: [json],
    exitStatuses: wholeStatuses)
) { arguments in
  let backup = try BackupDirectory.open(arguments.positionals[0])
  let total =
    ProgressBar.isWatched
    ? try backup.apps().reduce(Int64(0)) { $0.addingReportingOverflow($1.byteCount).0 } : 0
  let bar = ProgressBar("reading")
  var count = 0
  let damages = try backup.verify { files, bytes in
    count = files
    bar.show(bytes, of: total, files: files)
  }
  bar.finish()
  if arguments.has(json) {
    let objects = damages.map {
      JSON.object([
        ("domain", .string($0.domain)), ("path", .string($0.path.printable)),
        ("reason", .string($0.reason)),
      ])
    }
    try Output.write(
      JSON.object([("files", .integer(Int64(count))), ("damaged", .array(objects))]).document)
  } else {
    for damage in damages {
      try Output.write("\(damage.domain.shown): \(damage.path.printable): \(damage.reason)\n")
    }
    try Output.write(
      damages.isEmpty
        ? "\(count) files are what was saved\n" : "\(damages.count) of \(count) are damaged\n")
  }
  return damages.isEmpty ? 0 : 1
}

// MARK: diff

let backupDiffSubcommand = Subcommand(
  command: Command(
    name: "backup diff", summary: "Lists how an app's data differs from what a backup holds.",
    examples: ["sandboxfs backup diff /media/usb/backups com.example.Notes"],
    discussion: [
      "'+' is what the backup does not have, '-' what only the backup has, and '~' what is not the "
        + "same by kind, size or time."
    ],
    positionals: [Positional("DIRECTORY", .directory), Positional("APP", .app)], options: [json],
    exitStatuses: wholeStatuses)
) { arguments in
  let backup = try BackupDirectory.open(arguments.positionals[0])
  let subject = try subject(container(arguments.positionals[1], arguments))
  let difference = try backup.difference(to: subject)
  let lists = [
    ("added", "+", difference.added), ("removed", "-", difference.removed),
    ("changed", "~", difference.changed),
  ]
  if arguments.has(json) {
    try Output.write(
      JSON.object(
        lists.map { (name: $0.0, value: .array($0.2.map { .string($0.printable) })) }
      ).document)
  } else {
    for (_, sign, paths) in lists {
      try Output.write(paths.map { "\(sign) \(Presentation.quoted($0))\n" }.joined())
    }
  }
  return lists.allSatisfy { $0.2.isEmpty } ? 0 : 1
}
