// `sandboxfs check [APP...]`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let json = Option("json", summary: "print an array of objects, one for each figure")
private let repair = Option("repair", summary: "set right what is not")

let checkSubcommand = Subcommand(
  command: Command(
    name: "check", summary: "Compares what is counted against limits with what is there.",
    examples: ["sandboxfs check", "sandboxfs check --repair com.example.Notes"],
    discussion: [
      "A mounted view keeps books of what counts against limits, and they are right as long as "
        + "only the view changes the data. Whoever changes it in the store, behind the view, makes "
        + "them wrong. This counts all that is there, and tells what differs; changes in the view "
        + "wait meanwhile. Without APP it looks at every app of the store. A view that is not "
        + "mounted has no books: it is counted when it is mounted."
    ],
    positionals: [Positional("APP", .app, .any)], options: [repair, json],
    exitStatuses: [
      ExitStatus("0", "everything is right, or was set right"),
      ExitStatus("1", "something is not right, or can't be found out"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let store = try Store.open(try location(arguments))
  let named = try arguments.positionals.map { try identifier($0) }
  var findings: [Finding] = []
  for identifier in named.isEmpty ? try store.list().map(\.identifier) : named {
    let container = try store.container(identifier)
    let question: ViewBooks.Question = arguments.has(repair) ? .repair : .count
    let books = try ViewBooks.ask(question, of: container.directory.descriptor)?.books ?? []
    findings += books.map { Finding(identifier: identifier, book: $0) }
  }
  if arguments.has(json) {
    try Output.write(JSON.array(findings.map(\.json)).document)
  } else {
    try Output.write(text(findings, isRepair: arguments.has(repair)))
  }
  return arguments.has(repair) || findings.allSatisfy(\.book.isRight) ? 0 : 1
}

/// A book, compared with a count.
private struct Finding {
  let identifier: BundleIdentifier
  let book: ViewBook

  var json: JSON {
    .object([
      ("identifier", .string("\(identifier)")),
      ("rule", .text(book.rule)),
      ("bytes", .integer(book.byteCount)),
      ("countedBytes", book.countedByteCount.map(JSON.integer) ?? .null),
      ("entries", .integer(book.entryCount)),
      ("countedEntries", book.countedEntryCount.map(JSON.integer) ?? .null),
      ("right", .boolean(book.isRight)),
    ])
  }
}

private func text(_ findings: [Finding], isRepair: Bool) -> String {
  let wrong = findings.filter { !$0.book.isRight }
  if wrong.isEmpty { return "everything is right\n" }
  var table = Table("APP", "LIMIT", "BYTES", "COUNTED", "FILES", "COUNTED")
  for finding in wrong {
    let book = finding.book
    table.add(
      "\(finding.identifier)", book.rule ?? "record", "\(book.byteCount)",
      book.countedByteCount.map { "\($0)" } ?? "", "\(book.entryCount)",
      book.countedEntryCount.map { "\($0)" } ?? "")
  }
  return table.text
    + (isRepair ? "it is set right\n" : "'sandboxfs check --repair' sets it right\n")
}
