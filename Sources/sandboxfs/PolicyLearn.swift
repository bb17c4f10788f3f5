// `sandboxfs policy learn APP [-- COMMAND [ARG...]]`.

internal import Arguments
internal import Containers
internal import Launch
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Policy
internal import Store

private let output = Option(
  "output", "o", value: "FILE", .file,
  summary: "write the profile there; else it goes to standard output, and what the program writes "
    + "there goes to standard error")

let policyLearnSubcommand = Subcommand(
  command: Command(
    name: "policy learn",
    summary: "Runs a program, and proposes the rules that it needs.",
    examples: [
      "sandboxfs policy learn --output notes.profile com.example.Notes",
      "sandboxfs policy set com.example.Notes notes.profile",
    ],
    discussion: [
      "The program runs as with 'sandboxfs run'. While it does, what its rules refuse is allowed "
        + "and noted, if a line of the app's own profile could allow it: reading, writing and "
        + "names. What the administrator's profile for the app or limits.profile refuse stays "
        + "refused, and so does whatever is hidden, sealed, executed, structural or kept by "
        + "'append'. Then the rules are back, also if this command is killed.",
      "The profile is the app's own with the lines that are missing. Many files of a directory "
        + "become one line. What no line can allow stands in it as a comment. Read it before "
        + "'policy set': it allows what the program did, not what it should do.",
    ],
    positionals: [Positional("APP", .app)], rest: "COMMAND [ARG...]",
    options: [output, allowOption],
    exitStatuses: [
      ExitStatus("125", "sandboxfs itself failed, and one line says why; there is no profile"),
      ExitStatus("else", "the program ended with it, as with 'sandboxfs run'"),
    ]),
  usageStatus: 125, failureStatus: 125
) { arguments in
  if let rest = arguments.rest, rest.isEmpty {
    throw UsageError("sandboxfs policy learn", "COMMAND is missing behind '--'")
  }
  try Launch.checkMachine()
  let file = try destination(arguments.value(output))
  let options = try runOptions(arguments)
  let run: Learned
  do {
    run = try learn(arguments, options)
  } catch let error as LaunchError where error == .outdated {
    run = try learn(arguments, options)
  }
  for remark in run.outcome.remarks { complain("sandboxfs policy learn: \(remark)") }
  let profile = LearnedProfile(run, command: arguments.rest ?? [])
  do throws(Errno) {
    try file.replace(with: profile.text)
  } catch {
    throw Failure("the profile cannot be written: \(error.message)")
  }
  for line in profile.summary { complain("sandboxfs policy learn: \(line)") }
  return run.outcome.status
}

/// What came of a run, and the rules that it was about.
private struct Learned {
  let outcome: RunOutcome
  let notes: LearningSession.Notes
  let rules: PolicyEngine
  let layers: [ProfileSource]
  let bundleName: [UInt8]
}

private func learn(_ arguments: ParsedArguments, _ options: RunOptions) throws -> Learned {
  let container = try preparedContainer(arguments.positionals[0], arguments)
  let configuration = try configuration(of: container)
  let rules = try PolicyEngine(
    layers: configuration.layers, bundleName: configuration.bundleName)
  let (outcome, notes) = try Launch.learn(
    container.directory.descriptor, container.record, configuration,
    command: arguments.rest ?? [], try options.fitting(container), isCurrent: container.isCurrent)
  return Learned(
    outcome: outcome, notes: notes, rules: rules, layers: configuration.layers,
    bundleName: configuration.bundleName)
}

/// Where the profile goes, opened before anything runs.
private func destination(_ path: [UInt8]?) throws(Failure) -> OutputFile {
  do throws(Errno) {
    guard let path else { return OutputFile(try StandardStream.divertOutput()) }
    return try OutputFile(path)
  } catch {
    throw Failure("\(path?.printable ?? "standard output"): \(error.message)")
  }
}

// MARK: - The profile

/// The app's own profile with what was learned.
private struct LearnedProfile {
  private let run: Learned
  private let command: [[UInt8]]
  private let proposal: Proposal
  /// What stays refused, a line each.
  private let refusals: [String]

  /// The most refusals that are listed.
  private static let maximumRefusalCount = 200

  init(_ run: Learned, command: [[UInt8]]) {
    self.run = run
    self.command = command
    let lent = run.notes.notes.filter { !$0.isRefused }
    let questions = lent.compactMap(\.question).sorted { $0.sentence < $1.sentence }
    proposal = run.rules.proposal(
      for: questions, layers: run.layers, bundleName: run.bundleName)
    let left = proposal.left.map { question in
      let verdict = run.rules.explain(question).verdict
      let errno = verdict.denial?.errnoName ?? "ok"
      return "\(question.sentence): \(errno), \(run.rules.describe(verdict.rule))"
    }
    let refused = run.notes.notes.filter(\.isRefused).compactMap { note in
      note.question.map { "\($0.sentence): \(note.result), \(note.rule)" }
    }
    refusals = Set(left + refused).sorted()
  }

  /// The whole profile.
  var text: [UInt8] {
    var text = run.layers.last { $0.rank == .container }?.text ?? []
    var lines: [String] = []
    if !proposal.lines.isEmpty {
      lines.append("# Learned from \(programName)")
      lines += proposal.lines
    }
    if !refusals.isEmpty {
      lines.append("# Refused, and not to be allowed by a line here:")
      lines += refusals.prefix(Self.maximumRefusalCount).map { "#   \($0)" }
      let more = refusals.count - Self.maximumRefusalCount
      if more > 0 { lines.append("#   and \(more) more") }
    }
    guard !lines.isEmpty else { return text }
    if let last = text.last {
      if last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
      text.append(UInt8(ascii: "\n"))
    }
    return text + Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  /// What was run, on one line that is not long.
  private var programName: String {
    guard !command.isEmpty else { return "the app's own program" }
    let words = command.map { Presentation.quoted($0) }.joined(separator: " ")
    return words.count > 70 ? "\(words.prefix(67))..." : words
  }

  /// What to tell a person, a line each.
  var summary: [String] {
    var lines: [String] = []
    if run.notes.notes.isEmpty { lines.append("nothing was refused") }
    if !proposal.lines.isEmpty { lines.append("lines that were added: \(proposal.lines.count)") }
    if !refusals.isEmpty { lines.append("refusals that no line can lift: \(refusals.count)") }
    if run.notes.missingCount > 0 {
      lines.append("requests that could not be noted: \(run.notes.missingCount); learn again")
    }
    return lines
  }
}

extension LearningSession.Note {
  fileprivate var question: Question? {
    guard let operation = Policy.Operation(name: operation), let path = try? ViewPath(path) else {
      return nil
    }
    return Question(
      operation, path, secondPath: try? ViewPath(secondPath),
      kind: isDirectory ? .directory : .file)
  }
}

extension Question {
  fileprivate var sentence: String {
    let paths = [path] + (secondPath.map { [$0] } ?? [])
    return ([operation.name] + paths.map(\.word)).joined(separator: " ")
  }
}
