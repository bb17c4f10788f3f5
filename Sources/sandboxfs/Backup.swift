// `sandboxfs backup make APP... DIRECTORY`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import MobileBackup
internal import Mounting
internal import Paths
internal import Policy
internal import Store

private let all = Option("all", summary: "every app that is installed, or whose data was kept")
private let dryRun = Option(
  "dry-run", summary: "write nothing, and list what would be left out and why")
private let explain = Option(
  "explain", value: "PATH", .free,
  summary: "write nothing, and say whether this path would be backed up, and why")
private let excludeList = Option(
  "exclude-list",
  summary: "write nothing, and print what tools such as restic, tar or rsync should leave out, as "
    + "absolute paths, one a line")
private let live = Option(
  "live", summary: "let the apps go on while their files are copied, torn or not")
private let withBundle = Option(
  "with-bundle",
  summary: "save the bundles too, as .ipa files in DIRECTORY that 'sandboxfs install' takes")
private let json = Option("json", summary: "print an object for each app")

let backupMakeSubcommand = Subcommand(
  command: Command(
    name: "backup make", summary: "Saves the data of apps, or brings a backup up to date.",
    examples: [
      "sandboxfs backup com.example.Notes /media/usb/backups",
      "sandboxfs backup --all /media/usb/backups",
      "sandboxfs backup --dry-run com.example.Notes",
    ],
    discussion: [
      "The backup has the format of iTunes and Finder, in a directory below DIRECTORY that is "
        + "named by the store. What has not changed since the last time is not read again. An "
        + "interrupted backup leaves the last one whole, and the next one goes on where it was.",
      "An app that runs stands still while its files are copied; it goes on also if this command "
        + "is killed.",
      "What is saved is what the rules call 'backup', less what 'sandboxfs exclude' or the app "
        + "itself has marked. The bundle is not, but for --with-bundle: it is installed again.",
    ],
    positionals: [
      Positional("APP", .app, .any), Positional("DIRECTORY", .directory, .optional),
    ],
    options: [all, live, withBundle, dryRun, explain, excludeList, json],
    exitStatuses: [
      ExitStatus("0", "it is done"),
      ExitStatus(
        "1",
        "it could not be done, or a file changed again and again while it was copied, or lies too "
          + "deep"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let questions = [dryRun, explain, excludeList].filter { arguments.has($0) }
  if questions.count > 1 {
    throw UsageError(
      "sandboxfs backup make",
      "\(questions[0].spelling) and \(questions[1].spelling) contradict each other")
  }
  let isJSON = arguments.has(json)
  if let question = questions.first {
    if arguments.positionals.isEmpty && !arguments.has(all) {
      throw UsageError(
        "sandboxfs backup make", "\(question.spelling) is about an APP, or --all: name it")
    }
    let path = try arguments.value(explain).map { try namesBelowData($0, "backup make: --explain") }
    let subjects = try subjects(arguments.positionals, arguments)
    if let path { return try BackupQuestion.explain(path, subjects, isJSON: isJSON) }
    return arguments.has(dryRun)
      ? try BackupQuestion.preview(subjects, isJSON: isJSON)
      : try BackupQuestion.printExclusions(subjects, isJSON: isJSON)
  }
  let (words, destination) = try place(arguments)
  return try make(try subjects(words, arguments), into: destination, arguments)
}

/// The apps, and the directory that the last word names.
private func place(
  _ arguments: ParsedArguments
) throws(UsageError) -> (apps: [[UInt8]], directory: [UInt8]) {
  let words = arguments.positionals
  let command = "sandboxfs backup make"
  guard let last = words.last else {
    throw UsageError(
      command,
      "say which APP is backed up, or --all, and into which DIRECTORY; try '\(command) --help'")
  }
  if words.count > 1 || arguments.has(all) { return (words.dropLast(), last) }
  guard BundleIdentifier(bytes: last) != nil else {
    throw UsageError(
      command, "nothing but '\(last.printable)' is named: name an APP before it, or say --all")
  }
  throw UsageError(
    command, "nothing but '\(last.printable)' is named: name a DIRECTORY behind it")
}

/// The apps that are meant.
private func subjects(
  _ words: [[UInt8]], _ arguments: ParsedArguments
) throws -> [BackupSubject] {
  let store = try Store.open(try location(arguments))
  if arguments.has(all) {
    guard words.isEmpty else {
      throw UsageError(
        "sandboxfs backup make", "--all and the name of an app contradict each other")
    }
    return try store.list().map { try subject(store.container($0.identifier)) }
  }
  return try words.map { try subject(store.container(identifier($0))) }
}

/// An app with its rules.
func subject(_ container: Container) throws -> BackupSubject {
  let configuration = try configuration(of: container)
  let policy = try PolicyEngine(
    layers: configuration.layers, bundleName: configuration.bundleName)
  return BackupSubject(container: container, policy: policy)
}

// MARK: Making

private func make(
  _ subjects: [BackupSubject], into destination: [UInt8], _ arguments: ParsedArguments
) throws -> Int32 {
  guard let store = subjects.first?.container.store else {
    try Output.write("no app is installed: nothing was backed up\n")
    return 0
  }
  let source = BackupSource(
    device: try store.deviceIdentifier(), hostName: hostName(), programVersion: programVersion)
  let total =
    ProgressBar.isWatched
    ? try subjects.reduce(Int64(0)) { try $0 + $1.selection().byteCount } : 0
  let bar = ProgressBar("saving")
  defer { bar.finish() }
  let writer = try BackupWriter(into: destination, from: source) { files, bytes in
    bar.show(bytes, of: total, files: files)
  }
  for subject in subjects {
    let frozen = try arguments.has(live) ? nil : freeze(subject.container, for: "backup make")
    defer { frozen?.thaw() }
    // What an app has mapped is in the kernel's memory only, until it is written.
    if subject.container.isMounted { synchronizeEverything() }
    try writer.add(subject)
  }
  if arguments.has(withBundle) { try saveBundles(of: subjects, in: destination) }
  let report = try writer.commit()
  bar.finish()
  try tell(report, subjects, arguments, place: destination + Array("/\(source.device)".utf8))
  complain(
    report.leftOut.map { "\($0.printable): it is neither file, directory nor link" }, "backup make")
  complain(
    report.tooDeep.map { "\(shortened($0)): it lies too deep in other directories" }, "backup make")
  complain(
    report.unstable.map { "\($0.printable) changed while it was copied, each time" }, "backup make")
  return report.unstable.isEmpty && report.tooDeep.isEmpty ? 0 : 1
}

/// The beginning of a path that may have any length.
private func shortened(_ path: [UInt8]) -> String {
  let limit = 100
  return path.count <= limit ? path.printable : Array(path.prefix(limit)).printable + "…"
}

/// Saves each bundle under a name that says which it is, so that it is written once.
private func saveBundles(of subjects: [BackupSubject], in destination: [UInt8]) throws {
  for subject in subjects where !subject.container.record.bundleName.isEmpty {
    let record = subject.container.record
    let version = record.version.utf8.map { byte -> UInt8 in
      let isPlain =
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: ".")
        || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
      return isPlain ? byte : UInt8(ascii: "_")
    }
    let digest = record.tableDigest.prefix(6).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let path =
      destination + Array("/\(record.identifier)-".utf8) + version.prefix(64)
      + Array((digest.isEmpty ? "" : "-" + digest).utf8) + Array(".ipa".utf8)
    let isSaved = (try? Descriptor.following(path)) != nil
    if isSaved, !digest.isEmpty { continue }
    let package = try ContainerExport(subject.container, subject.policy) { _ in }
    try replace(path) { file in try package.writePackage(to: file) }
  }
}

/// Has the app stand still, if it runs: two files that it writes together are saved together.
func freeze(_ container: Container, for command: String) throws -> FrozenProcesses? {
  guard let daemon = try DaemonStatus.ask(container.directory.descriptor) else { return nil }
  let frozen = try RunningApp.freeze(daemon.device)
  for process in frozen.failures {
    complain(
      "sandboxfs \(command): process \(process) of \(container.identifier) can't be stopped: "
        + "what it writes meanwhile may be saved in part")
  }
  return frozen
}

private func tell(
  _ report: BackupReport, _ subjects: [BackupSubject], _ arguments: ParsedArguments,
  place: [UInt8]
) throws {
  if arguments.has(json) {
    return try Output.write(
      JSON.object([
        ("backup", .string(place.printable)),
        ("apps", .array(subjects.map { .string("\($0.container.identifier)") })),
        ("entries", .integer(Int64(report.entryCount))), ("bytes", .integer(report.byteCount)),
        ("copied", .integer(Int64(report.copiedCount))),
        ("copiedBytes", .integer(report.copiedByteCount)),
        ("unchanged", .integer(Int64(report.unchangedCount))),
        ("unstable", .array(report.unstable.map { .string($0.printable) })),
        ("leftOut", .array((report.leftOut + report.tooDeep).map { .string($0.printable) })),
      ]).document)
  }
  let names = subjects.count == 1 ? "\(subjects[0].container.identifier)" : "\(subjects.count) apps"
  try Output.write(
    "backed up \(names) to \(place.printable): \(report.copiedCount) files copied "
      + "(\(size(report.copiedByteCount))), \(report.unchangedCount) unchanged\n")
}
