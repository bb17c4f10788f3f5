// `sandboxfs quota APP`.

internal import Accounting
internal import Arguments
internal import Containers
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Policy
internal import Store

private let json = Option("json", summary: "print an object")
private let set = Option(
  "set", value: "SIZE",
  summary: "limit the app to SIZE bytes, such as 500M or 2G; 'none' for no limit")
private let files = Option(
  "files", value: "N",
  summary: "limit the app to N files, directories and links; 'none' for no limit"
)
private let soft = Option(
  "soft", value: "SIZE",
  summary: "write a line into the log when the app goes beyond SIZE; 'none' for never")

let quotaSubcommand = Subcommand(
  command: Command(
    name: "quota", summary: "Shows and sets how much an app may keep.",
    examples: ["sandboxfs quota com.example.Notes", "sandboxfs quota --set 2G com.example.Notes"],
    discussion: [
      "Shows what the app's data takes, as it is counted against limits: the length of each file "
        + "in whole 4 KiB, holes included, and the values of extended attributes. There is a row "
        + "for the app as a whole, and one for each rule with 'quota=' in its profiles.",
      "A limit that is set holds at once, also for a view that is mounted. It may be below what is "
        + "used: then nothing grows. What does not fit fails with EDQUOT, and is in the log.",
    ],
    positionals: [Positional("APP", .app)], options: [set, files, soft, json],
    exitStatuses: plainStatuses)
) { arguments in
  let wanted = try WantedLimits(arguments)
  let identifier = try identifier(arguments.positionals[0])
  let store = try Store.open(try location(arguments))
  var notes: [String] = []
  if wanted.isChange {
    notes = try store.setLimits(of: identifier, to: wanted.applied) { container in
      let question = ViewBooks.Question.set(container.record.limits)
      return try ViewBooks.ask(question, of: container.directory.descriptor)?.notes ?? []
    }
  }
  let usage = try Usage(of: try store.container(identifier))
  if arguments.has(json) {
    try Output.write(usage.json(notes).document)
  } else {
    try Output.write(usage.table.text + notes.map { "note: \($0)\n" }.joined())
  }
  return 0
}

/// What the command line says of limits.
private struct WantedLimits {
  /// nil: it stays; `.some(nil)`: there is none.
  let bytes: UInt64??
  let entries: UInt64??
  let softBytes: UInt64??

  init(_ arguments: ParsedArguments) throws(UsageError) {
    let size = "a size such as 500M or 2G"
    bytes = try Self.limit(set, arguments, size) { Quota.byteCount($0) }
    entries = try Self.limit(files, arguments, "a number of files") { Quota.number($0[...]) }
    softBytes = try Self.limit(soft, arguments, size) { Quota.byteCount($0) }
  }

  private static func limit(
    _ option: Option, _ arguments: ParsedArguments, _ expected: String,
    _ read: ([UInt8]) -> UInt64?
  ) throws(UsageError) -> UInt64?? {
    guard let word = arguments.value(option) else { return nil }
    if word == Array("none".utf8) { return .some(nil) }
    guard let number = read(word) else {
      throw UsageError(
        "sandboxfs quota",
        "\(option.spelling) '\(word.printable)': expected \(expected), or none")
    }
    return .some(number)
  }

  var isChange: Bool { bytes != nil || entries != nil || softBytes != nil }

  func applied(to limits: ContainerLimits) -> ContainerLimits {
    ContainerLimits(
      byteCount: bytes ?? limits.byteCount, entryCount: entries ?? limits.entryCount,
      softByteCount: softBytes ?? limits.softByteCount)
  }
}

/// What an app uses of what it may.
private struct Usage {
  /// One limit, and what counts against it.
  private struct Row {
    /// Where it holds, and the rule that says so; nil for the container's own.
    let place: String
    let rule: String?
    let bytes: Int64
    let entries: Int64
    let byteLimit: UInt64?
    let entryLimit: UInt64?
    let softLimit: UInt64?
  }

  private let identifier: BundleIdentifier
  private var rows: [Row] = []

  /// Asks the daemon, and counts what it does not know.
  init(of container: Container) throws {
    identifier = container.identifier
    let layers = try configuration(of: container).layers
    let engine = try PolicyEngine(layers: layers, bundleName: container.record.bundleName)
    let books = try ViewBooks.ask(.figures, of: container.directory.descriptor)?.books ?? []
    func place(_ rule: RuleID) -> String {
      let line = engine.text(of: rule, in: layers).map { $0.printable } ?? ""
      return line.split(separator: " ").first.map(String.init) ?? ""
    }
    let names = engine.quotaRules.map { (engine.describe($0.rule), place($0.rule)) }
    let isKept = books.contains { $0.rule == nil } && books.count == names.count + 1
    let census = isKept ? nil : try Census(of: data(of: container), engine)
    let limits = container.record.limits
    let total = books.first { $0.rule == nil }
    rows.append(
      Row(
        place: "", rule: nil,
        bytes: total?.byteCount ?? Int64(clamping: census?.total.bytes ?? 0),
        entries: total?.entryCount ?? census?.total.entries ?? 0, byteLimit: limits.byteCount,
        entryLimit: limits.entryCount, softLimit: limits.softByteCount))
    for (number, quota) in engine.quotaRules.enumerated() {
      let book = books.first { $0.rule == names[number].0 }
      rows.append(
        Row(
          place: names[number].1, rule: names[number].0,
          bytes: book?.byteCount ?? Int64(clamping: census?.limited[number].bytes ?? 0),
          entries: book?.entryCount ?? census?.limited[number].entries ?? 0,
          byteLimit: quota.quota.byteCount, entryLimit: quota.quota.entryCount, softLimit: nil))
    }
  }

  var table: Table {
    var table = Table("WHAT", "USED", "LIMIT", "FREE", "FILES", "LIMIT", "FREE", "SET BY")
    for row in rows {
      let isLimited = row.byteLimit != nil || row.entryLimit != nil || row.softLimit != nil
      table.add(
        row.rule == nil ? "\(identifier)" : row.place, size(row.bytes),
        row.byteLimit.map { size(Int64(clamping: $0)) } ?? "",
        row.byteLimit.map { size(free($0, row.bytes)) } ?? "", "\(row.entries)",
        row.entryLimit.map { "\($0)" } ?? "",
        row.entryLimit.map { "\(free($0, row.entries))" } ?? "",
        row.rule ?? (isLimited ? "record" + soft(row) : ""))
    }
    return table
  }

  private func soft(_ row: Row) -> String {
    row.softLimit.map { ", log beyond \(size(Int64(clamping: $0)))" } ?? ""
  }

  private func free(_ limit: UInt64, _ used: Int64) -> Int64 {
    max(0, Int64(clamping: limit) - max(0, used))
  }

  func json(_ notes: [String]) -> JSON {
    .object([
      ("identifier", .string("\(identifier)")),
      ("limits", .array(rows.map(object))),
      ("notes", .array(notes.map(JSON.string))),
    ])
  }

  private func object(_ row: Row) -> JSON {
    .object([
      ("rule", .text(row.rule)),
      ("pattern", row.rule == nil ? .null : .string(row.place)),
      ("bytes", .integer(row.bytes)),
      ("entries", .integer(row.entries)),
      ("byteLimit", number(row.byteLimit)),
      ("entryLimit", number(row.entryLimit)),
      ("softByteLimit", number(row.softLimit)),
    ])
  }

  private func number(_ limit: UInt64?) -> JSON {
    limit.map { .integer(Int64(clamping: $0)) } ?? .null
  }
}

/// The directory of a container's data.
private func data(of container: Container) throws(Failure) -> Walker {
  do throws(Errno) {
    return try container.directory.enter(ContainerLayout.data.utf8)
  } catch {
    throw Failure("the data of \(container.identifier): \(error.message)")
  }
}
