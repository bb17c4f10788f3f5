// `sandboxfs policy diff A B`.

internal import Arguments
internal import Paths
internal import Policy

private let json = Option("json", summary: "print an array of objects, one for each difference")

let policyDiffSubcommand = Subcommand(
  command: Command(
    name: "policy diff", summary: "Lists what two sets of rules answer differently.",
    examples: [
      "sandboxfs policy diff ios default",
      "sandboxfs policy diff com.example.Notes ./stricter.profile",
    ],
    discussion: [
      "Each of the two is a file (with a slash, or NAME.profile), the name of a profile, or an "
        + "app. Both are asked every operation about one path of each kind that either of them "
        + "tells apart. A difference holds for the path and for everything below it; where an "
        + "attribute differs, what may be moved and linked across it differs too and is not "
        + "listed. Rows that differ in nothing but the directory are shown as one; --json has all."
    ],
    positionals: [Positional("A", .file), Positional("B", .file)],
    options: [layerOption, bundleOption, json],
    exitStatuses: [
      ExitStatus("0", "they answer alike"), ExitStatus("1", "they do not"),
      ExitStatus("2", "trouble, or a command line that was not understood"),
    ]),
  failureStatus: 2
) { arguments in
  var subjects: [PolicySubject] = []
  let status = try tellingMistakes {
    subjects = try PolicySubject.pair(arguments.positionals, arguments)
    return 0
  }
  guard status == 0 else { return 2 }
  let comparison = PolicyComparison(subjects[0].engine, subjects[1].engine)
  if arguments.has(json) {
    try Output.write(JSON.array(comparison.differences.map(object)).document)
  } else if !comparison.differences.isEmpty {
    try Output.write(table(comparison.differences, subjects).text)
  }
  if !comparison.isComplete {
    complain("sandboxfs policy diff: there are more paths to tell apart than were looked at")
  }
  return comparison.differences.isEmpty ? 0 : 1
}

private func table(_ differences: [PolicyDifference], _ subjects: [PolicySubject]) -> Table {
  var table = Table("PATH", "ASKED", subjects[0].name, subjects[1].name)
  for (difference, count) in alike(differences) {
    let path = Presentation.quotedPattern(difference.pattern)
    let cells = zip(difference.answers, difference.reasons).map { "\($0) (\($1))" }
    table.add(
      count == 1 ? path : "\(path) and \(count - 1) like it",
      difference.questions.joined(separator: ", "), cells[0], cells[1])
  }
  return table
}

/// One difference for those that differ in nothing but the directory, and how many they are.
///
/// A pattern without a slash is met in every directory.
private func alike(
  _ differences: [PolicyDifference]
) -> [(difference: PolicyDifference, count: Int)] {
  struct Kind: Hashable {
    var name: Substring?
    var questions: [String]
    var answers: [String]
  }
  var order: [Kind] = []
  var groups: [Kind: [PolicyDifference]] = [:]
  for difference in differences {
    let kind = Kind(
      name: difference.pattern.split(separator: "/").last, questions: difference.questions,
      answers: difference.answers)
    if groups[kind] == nil { order.append(kind) }
    groups[kind, default: []].append(difference)
  }
  return order.compactMap { kind in
    groups[kind].flatMap { group in group.first.map { ($0, group.count) } }
  }
}

private func object(_ difference: PolicyDifference) -> JSON {
  .object([
    ("pattern", .string(difference.pattern)), ("example", .string(difference.path.shown)),
    ("asked", .array(difference.questions.map(JSON.string))),
    ("answers", .array(difference.answers.map(JSON.string))),
    ("rules", .array(difference.reasons.map(JSON.string))),
  ])
}
