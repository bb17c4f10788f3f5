// Help: an example first, then the form, then the options.

extension Command {
  /// The form of the command, such as `sandboxfs install [OPTION...] BUNDLE`.
  public func synopsis(of program: String?) -> String {
    var words = [program, name].compactMap(\.self)
    if !options.isEmpty { words.append("[OPTION...]") }
    words += positionals.map(\.spelling)
    if let rest { words.append("[-- \(rest)]") }
    return words.joined(separator: " ")
  }

  /// The text of `--help`, with a line feed at its end.
  ///
  /// `program` stands before the name of a command of it, whose other options are `shared`.
  public func help(of program: String? = nil, shared: [Option] = []) -> String {
    var sections = [summary + "\n", section("Example", examples.map { "  " + $0 })]
    sections.append(section("Usage", ["  " + synopsis(of: program)]))
    sections += discussion.map { wrapped($0, indent: 0).joined(separator: "\n") + "\n" }
    let help = Option("help", "h", summary: "say this")
    sections.append(section("Options", optionLines(options + shared + [help])))
    let statuses = exitStatuses.map { ($0.status, $0.meaning) }
    sections.append(section("Exit status", columns(statuses)))
    return sections.joined(separator: "\n")
  }
}

extension Program {
  /// The text of `--help`, with a line feed at its end.
  public func help() -> String {
    let versionAndHelp = [
      Option("version", summary: "say the version"), Option("help", "h", summary: "say this"),
    ]
    let sections = [
      summary + "\n",
      section("Example", examples.map { "  " + $0 }),
      section("Usage", ["  \(name) COMMAND [ARGUMENT...]"]),
      section("Commands", columns(firstWords.map { ($0.name, $0.summary) })),
      section("Options", optionLines(sharedOptions + versionAndHelp)),
      "'\(name) COMMAND --help' says more about one of them.\n",
    ]
    return sections.joined(separator: "\n")
  }

  /// The text of a group's `--help`, with a line feed at its end.
  public func help(about group: CommandGroup) -> String {
    let called = "\(name) \(group.name)"
    let rows = commands(of: group).map { ($0.word, $0.command.summary) }
    let sections = [
      group.summary + "\n",
      section("Usage", ["  \(called) COMMAND [ARGUMENT...]"]),
      section("Commands", columns(rows)),
      group.implied.map { "Without one of these words '\($0)' is meant.\n" },
      "'\(called) COMMAND --help' says more about one of them.\n",
    ]
    return sections.compactMap(\.self).joined(separator: "\n")
  }
}

private func section(_ title: String, _ lines: [String]) -> String {
  "\(title):\n" + lines.map { $0 + "\n" }.joined()
}

private func optionLines(_ options: [Option]) -> [String] {
  // Long names stand below each other, whether or not there is a letter before them.
  let anyLetter = options.contains { $0.letter != nil }
  return columns(
    options.map { option in
      let indent = anyLetter && option.letter == nil ? "    " : ""
      return (indent + option.fullSpelling, option.summary)
    })
}

/// Terms with their descriptions beside them, wrapped to the width of a terminal.
private func columns(_ rows: [(term: String, text: String)]) -> [String] {
  let widest = rows.map(\.term.count).max() ?? 0
  return rows.flatMap { row -> [String] in
    var lines = wrapped(row.text, indent: widest + 4)
    let padding = String(repeating: " ", count: widest - row.term.count + 2)
    let first = lines.isEmpty ? "" : String(lines.removeFirst().dropFirst(widest + 4))
    return ["  " + row.term + padding + first] + lines
  }
}

private let terminalWidth = 80

/// The words of a text in lines that fit a terminal, each behind `indent` blanks.
private func wrapped(_ text: String, indent: Int) -> [String] {
  let margin = String(repeating: " ", count: indent)
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ") {
    if !line.isEmpty, indent + line.count + 1 + word.count > terminalWidth {
      lines.append(margin + line)
      line = ""
    }
    line += (line.isEmpty ? "" : " ") + word
  }
  return line.isEmpty ? lines : lines + [margin + line]
}
