// `sandboxfs restore DIRECTORY APP [PATH...]`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import MobileBackup
internal import Mounting
internal import Paths
internal import Policy
internal import Purging
internal import Store

private let replace = Option(
  "replace", summary: "remove what the app has now; else it stays where the backup has nothing")
private let from = Option(
  "from", value: "IDENTIFIER", .free,
  summary: "take what the backup holds of this app, and give it to APP")
private let json = Option("json", summary: "print an object")

let restoreSubcommand = Subcommand(
  command: Command(
    name: "restore", summary: "Brings back what a backup holds of an app.",
    examples: [
      "sandboxfs restore /media/usb/backups com.example.Notes",
      "sandboxfs restore /media/usb/backups com.example.Notes Documents/letter.txt",
      "sandboxfs restore --from com.example.Notes /media/usb/backups com.example.Other",
    ],
    discussion: [
      "DIRECTORY is a backup, or a directory with one backup in it: ours, or one that iTunes or "
        + "Finder made without a password. It happens as a whole or not at all.",
      "An app whose view is mounted gets its files by way of the view, each in one step, while "
        + "what 'sandboxfs run' has started stands still: its rules and limits hold, and what is "
        + "open or in use stays. --replace needs an unmount first.",
      "Without PATH everything comes back, and what the rules drop at a restore is emptied: Caches "
        + "and tmp. Links that lead out of the container, names that are not below it and files "
        + "that are not what was saved are left out, each with a line; set-id bits are never set.",
    ],
    positionals: [
      Positional("DIRECTORY", .directory), Positional("APP", .app), Positional("PATH", .free, .any),
    ],
    options: [replace, from, json],
    exitStatuses: [
      ExitStatus("0", "it is done, and nothing was left out"),
      ExitStatus("1", "it could not be done, or something was left out; lines say what and why"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let paths = try arguments.positionals.dropFirst(2).map { path in
    Array(try namesBelowData(path, "restore").joined(separator: [UInt8(ascii: "/")]))
  }
  guard !arguments.has(replace) || paths.isEmpty else {
    throw UsageError("sandboxfs restore", "--replace is for everything, and contradicts a PATH")
  }
  let identifier = try identifier(arguments.positionals[1])
  Launch.sweep(environment: callersEnvironment())
  let backup = try BackupDirectory.open(arguments.positionals[0])
  let store = try Store.open(try location(arguments))
  let policy = try subject(store.container(identifier)).policy
  var options = RestoreOptions(
    sourceIdentifier: arguments.value(from).map { $0.printable } ?? "\(identifier)")
  options.replaces = arguments.has(replace)
  options.paths = paths
  let app = options.sourceIdentifier
  let total =
    ProgressBar.isWatched
    ? try backup.apps().first { $0.identifier == app }?.byteCount ?? 0 : 0
  let bar = ProgressBar("restoring")
  let restore = Restore(from: backup, policy: policy, options) { files, bytes in
    bar.show(bytes, of: total, files: files)
  }
  let container = try store.container(identifier)
  let report: RestoreReport
  if container.isMounted {
    report = try merge(restore, into: container, policy, options)
  } else {
    report = try store.replaceData(of: identifier) { try restore.fill($0) }
  }
  bar.finish()
  try tell(report, identifier, isJSON: arguments.has(json))
  return report.remarks.isEmpty ? 0 : 1
}

// MARK: While it is mounted

/// Brings back what a backup holds by way of the view, so that the kernel and who watches it know.
private func merge(
  _ restore: Restore, into container: Container, _ policy: PolicyEngine, _ options: RestoreOptions
) throws -> RestoreReport {
  let identifier = container.identifier
  guard !options.replaces else {
    throw Failure(
      "\(identifier) is mounted, and --replace exchanges all that it has: unmount it first")
  }
  var remarks: [RestoreReport.Remark] = []
  var report = try container.store.mergeData(of: identifier, policy) {
    try restore.put(into: $0)
  } merging: { merge in
    remarks = merge.remarks.map { RestoreReport.Remark(path: $0.path, reason: $0.reason) }
    let frozen = try freeze(container, for: "restore")
    defer { frozen?.thaw() }
    for remark in try perform(merge, container, policy, dropsRest: options.paths.isEmpty) {
      complain("sandboxfs restore: \(remark)")
    }
  }
  recount(container)
  report.remarks += remarks
  report.entryCount -= remarks.count
  return report
}

/// Has the view's books say what is there: what was replaced had a second name beside the view.
private func recount(_ container: Container) {
  _ = try? ViewBooks.ask(.repair, of: container.directory.descriptor)
}

private func perform(
  _ merge: borrowing DataMerge, _ container: Container, _ policy: PolicyEngine, dropsRest: Bool
) throws -> [String] {
  let options = RunOptions(
    environment: callersEnvironment(), defaultStore: try? StoreLocation.usualStore())
  let data = try container.data()
  return try Launch.withView(
    container.directory.descriptor, container.record, try configuration(of: container), options,
    isCurrent: container.isCurrent
  ) { view in
    let space = try view.descriptor.space()
    let free = Int64(clamping: space.freeByteCount)
    guard merge.byteCount <= free else {
      throw Failure(
        "\(container.identifier) may need \(size(merge.byteCount)) meanwhile, and has "
          + "\(size(free)) free: unmount it first")
    }
    guard merge.entryCount < space.freeEntryCount else {
      throw Failure(
        "\(container.identifier) may need room for \(merge.entryCount) files meanwhile, and has "
          + "it for \(space.freeEntryCount): unmount it first")
    }
    do throws(Errno) {
      try merge.perform(below: view) { recount(container) }
    } catch {
      throw Failure(
        "\(container.identifier): \(error.message); what was there before was put back")
    }
    guard dropsRest else { return }
    let survey = PurgeSurvey(policy, on: [.restore, .exit], opensUp: false)
    for file in try survey.candidates(in: data).files { _ = file.remove(from: data, through: view) }
  }.remarks
}

private func tell(
  _ report: RestoreReport, _ identifier: BundleIdentifier, isJSON: Bool
) throws {
  if isJSON {
    let remarks = report.remarks.map {
      JSON.object([("path", .string($0.path.printable)), ("reason", .string($0.reason))])
    }
    try Output.write(
      JSON.object([
        ("app", .string("\(identifier)")), ("entries", .integer(Int64(report.entryCount))),
        ("bytes", .integer(report.byteCount)), ("remarks", .array(remarks)),
      ]).document)
    return
  }
  complain(report.remarks.map { "\($0.path.printable): \($0.reason)" }, "restore")
  try Output.write(
    "restored \(report.entryCount) entries of \(identifier) (\(size(report.byteCount)))\n")
}
