// `sandboxfs export APP FILE`.

internal import Arguments
internal import LinuxKit
internal import MobileBackup
internal import Paths
internal import Store

private let live = Option(
  "live", summary: "let the app go on while its files are copied, torn or not")

let exportSubcommand = Subcommand(
  command: Command(
    name: "export", summary: "Writes a whole container into one file.",
    examples: [
      "sandboxfs export com.example.Notes notes.tar.zst",
      "sandboxfs export com.example.Notes - | ssh host sandboxfs import -",
    ],
    discussion: [
      "The file is a tar archive, compressed by zstd: the bundle, the data but for what goes at "
        + "exit, and the app's own rules. 'sandboxfs import' makes a container of it, also on "
        + "another host. FILE is replaced when all of it is written; '-' is standard output.",
      "An app that runs stands still while its files are copied; it goes on also if this command "
        + "is killed.",
    ],
    positionals: [Positional("APP", .app), Positional("FILE", .file)], options: [live],
    exitStatuses: [
      ExitStatus("0", "it is done"),
      ExitStatus("1", "it could not be done, or something was left out; lines say what and why"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let subject = try subject(container(arguments.positionals[0], arguments))
  // For the bar alone, so that nothing depends on it.
  let total = ProgressBar.isWatched ? (try? subject.usage().sum.byteCount) ?? 0 : 0
  let bar = ProgressBar("exporting")
  defer { bar.finish() }
  let export = try ContainerExport(subject.container, subject.policy) { bytes in
    bar.show(bytes, of: total)
  }
  let frozen = try arguments.has(live) ? nil : freeze(subject.container, for: "export")
  defer { frozen?.thaw() }
  if subject.container.isMounted { synchronizeEverything() }
  let path = arguments.positionals[1]
  let report: ExportReport
  if path == Array("-".utf8) {
    guard !StandardStream.output.isTerminal else {
      throw Failure("an archive is nothing for a terminal: name a file, or pipe it into a program")
    }
    report = try export.write(to: Descriptor.copy(of: .output))
  } else {
    report = try replace(path) { file in try export.write(to: file) }
  }
  bar.finish()
  complain(report.remarks, "export")
  return report.remarks.isEmpty ? 0 : 1
}

/// Writes a file, if nothing else is said for the caller alone, which takes the place of what was
/// there when it is whole.
///
/// What is there and no file, such as a pipe or a device, is written into. A link leads to its
/// file.
func replace<Result>(
  _ path: [UInt8], mode: UInt32 = 0o600, _ body: (borrowing Descriptor) throws -> Result
) throws -> Result {
  let path = (try? canonicalPath(path)) ?? path
  let slash = UInt8(ascii: "/")
  let name = Array(path.suffix(from: path.lastIndex(of: slash).map { $0 + 1 } ?? 0))
  let parent = Array(path.dropLast(name.count))
  let temporary = Array(".\(UInt64.random(in: 0...UInt64.max)).new".utf8)
  do {
    let directory = try Walker.open(path: parent.isEmpty ? Array(".".utf8) : parent)
    if let status = try? directory.status(of: name), status.kind != .regular {
      return try body(Descriptor.following(path).reopened(Opening.writing))
    }
    let file = try directory.createFile(temporary, mode: mode)
    do {
      let result = try body(file)
      try file.synchronize()
      try directory.rename(temporary, to: directory, as: name, .replacing)
      return result
    } catch {
      try? directory.removeFile(temporary)
      throw error
    }
  } catch let error as Errno {
    throw Failure("can't write \(path.printable): \(error.message)")
  }
}
