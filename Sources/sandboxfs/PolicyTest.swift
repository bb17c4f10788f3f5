// `sandboxfs policy test [APP|FILE...]`.

internal import Arguments
internal import Paths
internal import Policy
internal import Store

private let json = Option("json", summary: "print an array of objects, one for each expectation")

let policyTestSubcommand = Subcommand(
  command: Command(
    name: "policy test", summary: "Holds rules against what their profiles expect of them.",
    examples: [
      "sandboxfs policy test com.example.Notes", "sandboxfs policy test ./notes.profile",
    ],
    discussion: [
      "A line '@expect deny write /Documents/a' in a profile says what the rules should answer. "
        + "Each one that they do not is one line on standard error. Without an argument, all apps "
        + "that are installed are tested. An argument with a slash in it is a file, and so is "
        + "NAME.profile if there is one."
    ],
    positionals: [Positional("APP|FILE", .app, .any)],
    options: [layerOption, bundleOption, json],
    exitStatuses: [
      ExitStatus("0", "every expectation is met; there may be none"),
      ExitStatus("1", "one is not, or the rules can't be read"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  var status: Int32 = 0
  var results: [Result] = []
  for word in try words(arguments) {
    status |= try tellingMistakes {
      results += try test(PolicySubject.any(word, arguments))
      return 0
    }
  }
  let unmet = results.filter { $0.unmet != nil }
  if arguments.has(json) {
    try Output.write(JSON.array(results.map(\.object)).document)
  } else {
    for result in unmet { complain(result.line) }
    if status == 0 || !results.isEmpty { try Output.write(summary(results, unmet.count)) }
  }
  return unmet.isEmpty ? status : 1
}

private func summary(_ results: [Result], _ unmetCount: Int) -> String {
  results.isEmpty
    ? "there are no expectations\n"
    : "\(results.count - unmetCount) of \(results.count) are met\n"
}

private func words(_ arguments: ParsedArguments) throws -> [[UInt8]] {
  guard arguments.positionals.isEmpty else { return arguments.positionals }
  return try storeIfPresent(arguments)?.list().map(\.identifier.bytes) ?? []
}

private func test(_ subject: PolicySubject) -> [Result] {
  let unmet = subject.engine.unmetExpectations()
  return subject.engine.expectations.map { expectation in
    Result(
      subject: subject, expectation: expectation,
      unmet: unmet.first { $0.expectation == expectation }?.explanation)
  }
}

/// One expectation, and what is instead.
private struct Result {
  let subject: PolicySubject
  let expectation: Expectation
  let unmet: Explanation?

  private var paths: [ViewPath] {
    [expectation.path] + (expectation.secondPath.map { [$0] } ?? [])
  }

  private var place: String { "\(expectation.file.printable):\(expectation.line)" }

  var line: String {
    let question = ([expectation.operation.name] + paths.map(\.word)).joined(separator: " ")
    let wish = expectation.isAllowed ? "allow" : "deny"
    guard let unmet else { return "\(place): \(wish) \(question)" }
    let rule = subject.engine.sentence(about: unmet.verdict.rule, in: subject.layers)
    let answer = unmet.verdict.denial.map { "refused with \($0.errnoName)" } ?? "allowed"
    return "\(place): expected \(wish) \(question), but it is \(answer) by \(rule)"
  }

  var object: JSON {
    .object([
      ("policy", .string(subject.name)), ("file", .string(expectation.file.printable)),
      ("line", .integer(Int64(expectation.line))),
      ("expected", .string(expectation.isAllowed ? "allow" : "deny")),
      ("operation", .string(expectation.operation.name)),
      ("paths", .array(paths.map { .string($0.shown) })), ("met", .boolean(unmet == nil)),
      ("errno", .text(unmet?.verdict.denial?.errnoName)),
      ("rule", .text(unmet.map { subject.engine.describe($0.verdict.rule) })),
    ])
  }
}

extension ViewPath {
  /// The path as one word of a command line or a profile.
  var word: String { Presentation.quoted(bytes) }

  /// The path as it is printed where it stands alone.
  var shown: String { bytes.printable }

  private var bytes: [UInt8] {
    let joined = components.flatMap { [UInt8(ascii: "/")] + $0 }
    return namesDirectory || joined.isEmpty ? joined + [UInt8(ascii: "/")] : joined
  }
}
