// `sandboxfs policy explain APP PATH [OPERATION [PATH2]]`.

internal import Arguments
internal import LinuxKit
internal import Paths
internal import Policy

private let json = Option("json", summary: "print an array of objects, one for each operation")

let policyExplainSubcommand = Subcommand(
  command: Command(
    name: "policy explain", summary: "Says what an app may do at a path, and which rule says so.",
    examples: [
      "sandboxfs policy explain com.example.Notes /Documents/letter write",
      "sandboxfs policy explain com.example.Notes /tmp/draft rename /Documents/letter",
      "sandboxfs policy explain com.example.Notes /Library/",
    ],
    discussion: [
      "PATH is a path inside the view, and need not exist; with a slash at its end it is a "
        + "directory. OPERATION is " + operations + "; rename, link and exchange take PATH2. "
        + "Without one, every operation with one path is answered.",
      "The answer is that of the daemon, from the same rules. Where the kernel refuses by the "
        + "view's mounts, before the daemon is asked, the answer says so; modes, owners and access "
        + "lists of files are not looked at.",
    ],
    positionals: [
      Positional("APP", .app), Positional("PATH"),
      Positional("OPERATION", .oneOf(Policy.Operation.allCases.map(\.name)), .optional),
      Positional("PATH2", .free, .optional),
    ],
    options: [json],
    exitStatuses: [
      ExitStatus("0", "it was answered, whatever the answer is"),
      ExitStatus("1", "it could not be answered; one line says why"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let questions = try questions(arguments.positionals)
  return try tellingMistakes {
    let subject = try PolicySubject.app(arguments.positionals[0], arguments)
    let answers = questions.map { Answer($0, subject) }
    if arguments.has(json) {
      try Output.write(JSON.array(answers.map(\.object)).document)
    } else if answers.count == 1 {
      try Output.write(answers[0].text)
    } else {
      try Output.write(table(answers).text)
    }
    return 0
  }
}

private let operations = Policy.Operation.allCases.map(\.name).joined(separator: ", ")

// MARK: - The question

/// What is asked: one operation, or all that take one path.
private func questions(_ words: [[UInt8]]) throws(UsageError) -> [Question] {
  let path = try viewPath(words[1])
  guard words.count > 2 else {
    return Policy.Operation.allCases.filter { !$0.takesTwoPaths }.map { Question($0, path) }
  }
  guard let operation = Policy.Operation(name: String(decoding: words[2], as: UTF8.self)) else {
    throw usage("'\(words[2].printable)' is no operation; expected one of \(operations)")
  }
  let second = words.count > 3 ? try viewPath(words[3]) : nil
  if operation.takesTwoPaths, second == nil { throw usage("\(operation.name) needs PATH2") }
  if !operation.takesTwoPaths, second != nil { throw usage("\(operation.name) takes one path") }
  return [Question(operation, path, secondPath: second)]
}

private func viewPath(_ word: [UInt8]) throws(UsageError) -> ViewPath {
  do throws(ViewPath.Malformed) {
    return try ViewPath(word)
  } catch {
    throw usage("'\(word.printable)': expected \(error.expected)")
  }
}

private func usage(_ message: String) -> UsageError {
  UsageError("sandboxfs policy explain", message)
}

// MARK: - The answer

/// A verdict with all that can be said about it.
private struct Answer {
  let question: Question
  let subject: PolicySubject
  let explanation: Explanation
  let mount: MountRefusal?

  init(_ question: Question, _ subject: PolicySubject) {
    self.question = question
    self.subject = subject
    explanation = subject.engine.explain(question)
    mount = subject.engine.refusalByMount(
      of: question, isNoExec: isPrivileged() && !subject.engine.executesBesidesBundles)
  }

  private var verdict: Verdict { explanation.verdict }
  var errno: String? { mount?.errnoName ?? verdict.denial?.errnoName }

  private var remedy: Remedy? {
    subject.engine.remedy(
      for: question, layers: subject.layers, bundleName: subject.bundleName)
  }

  /// Whether the daemon writes the refusal into the log.
  private var isLogged: Bool {
    guard mount == nil, let denial = verdict.denial, denial != .notFound else { return false }
    let zone = subject.engine.zone(of: explanation.path)
    return subject.engine.attributes(of: zone).audit != .silent
  }

  private func sentence(_ rule: RuleID) -> String {
    if rule == .unset, verdict.isAllowed { return "no rule hides it" }
    return subject.engine.sentence(about: rule, in: subject.layers)
  }

  // MARK: For people

  var summary: String {
    guard let errno else { return "allowed" }
    if mount != nil { return "refused with \(errno) by the mount, not logged" }
    return "refused with \(errno)" + (isLogged ? "" : ", not logged")
  }

  var rule: String { mount.map { "the mount: \($0.reason)" } ?? sentence(verdict.rule) }

  var text: String {
    let paths = [question.path] + (question.secondPath.map { [$0] } ?? [])
    let asked = ([question.operation.name] + paths.map(\.word)).joined(separator: " ")
    let rows = lines.map { ($0.name.isEmpty ? "" : "  \($0.name):", $0.value) }
    return "\(asked): \(summary)\n" + listing(rows)
  }

  private var lines: [(name: String, value: String)] {
    var lines: [(name: String, value: String)] = []
    if let mount {
      let answer = verdict.denial.map { "refuse it too, with \($0.errnoName)" } ?? "allow it"
      return [
        ("because", mount.reason), ("to allow", mount.instead),
        ("the rules", "would \(answer): \(sentence(verdict.rule))"),
      ]
    }
    if explanation.path != question.path { lines.append(("at", explanation.path.word)) }
    lines.append(("rule", sentence(verdict.rule)))
    if let layer = subject.engine.layer(of: verdict.rule) { lines.append(("in", layer.title)) }
    for (index, loser) in losers.enumerated() { lines.append((index == 0 ? "lost" : "", loser)) }
    for (index, line) in remedyLines.enumerated() {
      lines.append((index == 0 ? "to allow" : "", line))
    }
    return lines
  }

  /// The rules that lost; a profile that is included twice is read twice, and told once.
  private var losers: [String] {
    explanation.losers.map(sentence).reduce(into: []) { losers, loser in
      if !losers.contains(loser) { losers.append(loser) }
    }
  }

  private var remedyLines: [String] {
    switch remedy {
    case nil: return []
    case .lines(let lines):
      return ["at the end of the container's own profile:"] + lines.map { "  " + $0 }
    case .change(let rule): return ["change \(subject.engine.describe(rule)): it has the last word"]
    case .outsideRules(let instead): return [instead]
    }
  }

  // MARK: For programs

  var object: JSON {
    let paths = [question.path] + (question.secondPath.map { [$0] } ?? [])
    return .object([
      ("operation", .string(question.operation.name)),
      ("paths", .array(paths.map { .string($0.shown) })), ("allowed", .boolean(errno == nil)),
      ("errno", .text(errno)),
      ("refusedBy", .text(errno.map { _ in mount == nil ? "rule" : "mount" })),
      ("logged", .boolean(isLogged)), ("decidedAt", .string(explanation.path.shown)),
      ("attribute", .text(verdict.attribute?.name)), ("rule", ruleObject(verdict.rule)),
      ("lost", .array(explanation.losers.map(ruleObject))),
      ("toAllow", .array(proposedLines.map(JSON.string))),
    ])
  }

  private var proposedLines: [String] {
    guard mount == nil, case .lines(let lines) = remedy else { return [] }
    return lines
  }

  private func ruleObject(_ rule: RuleID) -> JSON {
    .object([
      ("at", .string(subject.engine.describe(rule))),
      ("text", .text(subject.engine.text(of: rule, in: subject.layers).map(Presentation.line))),
      ("layer", .text(subject.engine.layer(of: rule)?.name)),
    ])
  }
}

private func table(_ answers: [Answer]) -> Table {
  var table = Table("OPERATION", "ANSWER", "BY")
  for answer in answers {
    table.add(answer.question.operation.name, answer.errno ?? "allowed", answer.rule)
  }
  return table
}

extension MountRefusal {
  /// What to do instead: no rule helps.
  fileprivate var instead: String {
    switch self {
    case .noExecution: "install it as part of an app: nothing else is executed"
    case .readOnly: "install another version of the app"
    case .mountPoint: "sandboxfs uninstall removes an app, sandboxfs install replaces it"
    case .otherMount: "copy instead, as mv(1) and cp(1) do"
    }
  }
}
