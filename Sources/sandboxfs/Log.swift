// `sandboxfs log APP`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Paths
internal import Store

private let follow = Option(
  "follow", "f", summary: "go on, and print what is refused as it happens")
private let json = Option("json", summary: "print the log's own lines, a JSON object each")
private let suggest = Option(
  "suggest", summary: "print the fewest lines of a profile that would have allowed it all")
private let since = Option(
  "since", value: "TIME", .free,
  summary: "leave out what is older: 30s, 10m, 2h or 3d ago, or a time in UTC such as "
    + "2026-03-01 or 2026-03-01T12:30")

let logSubcommand = Subcommand(
  command: Command(
    name: "log", summary: "Shows what an app was refused, and by which rule.",
    examples: [
      "sandboxfs log com.example.Notes", "sandboxfs log -f --since 1h com.example.Notes",
      "sandboxfs log --since 10m --suggest com.example.Notes",
    ],
    discussion: [
      "The oldest comes first. What came several times at once is one line with its count. The "
        + "log is kept when the view is unmounted; of a long one the oldest part goes, but for the "
        + "first line of each kind. 'sandboxfs policy explain' says why, and what would allow it.",
      "With --suggest the lines that answer most come first, each with how many refusals it "
        + "answers and what was asked for. A directory in which many names were refused is one "
        + "pattern. Read them before you add them to the rules: the app asked for all of it.",
    ],
    positionals: [Positional("APP", .app)], options: [follow, json, since, suggest],
    exitStatuses: plainStatuses)
) { arguments in
  guard !arguments.has(suggest) || !arguments.has(follow) else {
    throw UsageError("sandboxfs log", "--suggest and --follow exclude each other")
  }
  let threshold = try arguments.value(since).map {
    try Threshold($0, now: WallTime.now.seconds)
  }
  let log = AuditLog(of: try container(arguments.positionals[0], arguments))
  if arguments.has(suggest) { return try printSuggestion(log, threshold, arguments) }
  var printer = LogPrinter(isRaw: arguments.has(json), threshold: threshold)
  try printer.write(try log.newLines())
  while arguments.has(follow), !log.hasEnded {
    Pause.microseconds(200_000)
    try printer.write(try log.newLines())
  }
  complain(aboutUnreadable: printer.unreadableCount)
  return 0
}

private func printSuggestion(
  _ log: AuditLog, _ threshold: Threshold?, _ arguments: ParsedArguments
) throws -> Int32 {
  try tellingMistakes {
    let entries = try log.newLines().map { AuditEntry(line: $0) }.filter { entry in
      entry.flatMap { entry in threshold?.includes(entry.time) } ?? true
    }
    let subject = try PolicySubject.app(arguments.positionals[0], arguments)
    let suggestion = LogSuggestion(entries, subject)
    let text = arguments.has(json) ? suggestion.json.document : suggestion.text
    if !text.isEmpty { try Output.write(text) }
    complain(aboutUnreadable: suggestion.unreadableCount)
    return 0
  }
}

private func complain(aboutUnreadable count: Int) {
  guard count > 0 else { return }
  complain("sandboxfs log: lines that can't be read were left out: \(count)")
}

/// Writes lines of the log, in columns that stay as wide as they have become.
private struct LogPrinter {
  let isRaw: Bool
  let threshold: Threshold?
  private(set) var unreadableCount = 0
  private var table = Table("TIME", "OPERATION", "RESULT", "COUNT", "PROCESS", "RULE", "PATH")

  init(isRaw: Bool, threshold: Threshold?) {
    self.isRaw = isRaw
    self.threshold = threshold
  }

  mutating func write(_ lines: [[UInt8]]) throws(OutputFailure) {
    var text = ""
    for line in lines {
      guard let entry = AuditEntry(line: line) else {
        unreadableCount += 1
        continue
      }
      if let threshold, !threshold.includes(entry.time) { continue }
      if isRaw {
        // The log has no byte beyond ASCII.
        text += String(decoding: line, as: UTF8.self) + "\n"
      } else {
        add(entry)
      }
    }
    if !isRaw { text = table.takeText() }
    if !text.isEmpty { try Output.write(text) }
  }

  private mutating func add(_ entry: AuditEntry) {
    switch entry {
    case .lost(let time, let count):
      table.add(time.shown, "lost", "", "\(count)", "", "", "more than could be noted")
    case .event(let time, let text):
      table.add(time.shown, "view", "", "", "", "", text.printable)
    case .more(let time, let kind, let count):
      table.add(
        time.shown, kind.operation.shown, kind.result.shown, "\(count)", "",
        kind.rule.printable, "more of this kind")
    case .request(let request):
      let paths = [request.path] + (request.secondPath.map { [$0] } ?? [])
      table.add(
        request.time.shown, request.operation.shown, request.result.shown, "\(request.count)",
        "\(request.command.printable)[\(request.process)]", request.rule.printable,
        paths.map { Presentation.quoted($0) }.joined(separator: " -> "))
    }
  }
}

/// The time before which nothing is shown.
private struct Threshold {
  /// As the log writes it, without what may be missing at its end: such texts sort by time.
  private let text: String

  func includes(_ time: String) -> Bool { time >= text }

  /// Reads `10m` or `2026-03-01T12:30:00Z`.
  init(_ word: [UInt8], now: Int64) throws(UsageError) {
    let given = String(decoding: word, as: UTF8.self)
    if let seconds = Self.age(given) {
      text = String(timestamp(now - seconds).dropLast())
      return
    }
    guard Self.isTime(given) else {
      throw UsageError(
        "sandboxfs log",
        "'\(word.printable)' is no time: expected 30s, 10m, 2h or 3d, or a time in UTC such as "
          + "2026-03-01 or 2026-03-01T12:30")
    }
    let upper = given.hasSuffix("Z") ? String(given.dropLast()) : given
    text = upper.replacing(" ", with: "T")
  }

  private static func age(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), text.utf8.count <= 10,
      text.dropLast().allSatisfy({ ("0"..."9").contains($0) }), let count = Int64(text.dropLast())
    else { return nil }
    return count * unit
  }

  /// Whether a text is the beginning of a time, up to its day, minute, second or fraction.
  private static func isTime(_ text: String) -> Bool {
    let form = "0000-00-00T00:00:00.000"
    let body = text.hasSuffix("Z") ? text.dropLast() : text[...]
    guard [10, 16, 19, 23].contains(body.count) else { return false }
    return zip(body, form).allSatisfy { character, model in
      if model == "0" { return ("0"..."9").contains(character) }
      return character == model || (model == "T" && character == " ")
    }
  }
}
