// What a person types is understood, or answered with one line that says what to type instead.
import Arguments
import Testing

private let force = Option("force", "f", summary: "do it anyway")
private let verbose = Option("verbose", "v", summary: "say more")
private let owner = Option("owner", "o", value: "USER", summary: "give it to USER")
private let shell = Option(
  "shell", value: "SHELL", .oneOf(["bash", "zsh"]), summary: "write for SHELL")
private let store = Option("store", value: "DIR", .directory, summary: "use the store DIR")

private let program = Program(
  name: "tool", summary: "Does things.", examples: ["tool install x"], sharedOptions: [store],
  commands: [
    Command(
      name: "install", summary: "Installs.", examples: ["tool install x"],
      positionals: [Positional("BUNDLE", .file)], options: [force, verbose, owner, shell],
      exitStatuses: [ExitStatus("0", "it worked")]),
    Command(
      name: "run", summary: "Runs.", examples: ["tool run x"],
      positionals: [Positional("APP", .app)], rest: "COMMAND [ARG...]",
      exitStatuses: [ExitStatus("0", "it worked")]),
    Command(
      name: "list", summary: "Lists.", examples: ["tool list"],
      positionals: [Positional("APP", .app, .any)], exitStatuses: []),
    Command(
      name: "rules show", summary: "Shows rules.", examples: ["tool rules show x"],
      positionals: [Positional("APP", .app)], options: [force], exitStatuses: []),
    Command(name: "rules check", summary: "Checks rules.", examples: [], exitStatuses: []),
  ], groups: [CommandGroup(name: "rules", summary: "Is about rules.")])

private func bytes(_ line: String) -> [[UInt8]] {
  line.split(separator: " ").map { Array($0.utf8) }
}

private func parse(_ line: String) throws -> ParsedArguments {
  try #require(try program.parse(bytes(line)).parsed)
}

extension Request {
  fileprivate var parsed: ParsedArguments? {
    guard case .run(_, let parsed) = self else { return nil }
    return parsed
  }

  fileprivate var summary: String {
    switch self {
    case .help(let command): (["help"] + [command?.name].compactMap(\.self)).joined(separator: " ")
    case .groupHelp(let group): "help \(group.name)"
    case .version: "version"
    case .run(let command, _): "run \(command.name)"
    }
  }
}

@Suite struct ParserTests {
  @Test(
    "an option is understood in each of its forms",
    arguments: [
      "install --owner ann x", "install --owner=ann x", "install -o ann x", "install -oann x",
      "install x -o ann", "install -fvoann x", "install -o bob -o ann x",
    ])
  func forms(_ line: String) throws {
    let parsed = try parse(line)
    #expect(parsed.value(owner) == Array("ann".utf8))
    #expect(parsed.positionals == bytes("x"))
  }

  @Test("letters can stand together")
  func cluster() throws {
    let parsed = try parse("install -vf x")
    #expect(parsed.has(force) && parsed.has(verbose) && !parsed.has(owner))
  }

  @Test(
    "an option of all commands may stand before the command or behind it",
    arguments: ["--store /s list", "list --store /s", "--store=/s list"])
  func shared(_ line: String) throws {
    #expect(try parse(line).value(store) == Array("/s".utf8))
  }

  @Test("behind -- an argument that looks like an option is none")
  func endOfOptions() throws {
    #expect(try parse("install -- -f").positionals == bytes("-f"))
    let run = try parse("run x -- ls -l --help")
    #expect(run.positionals == bytes("x"))
    #expect(run.rest == bytes("ls -l --help"))
    #expect(try parse("run x").rest == nil)
  }

  @Test("a file name that is not text arrives as it was typed")
  func names() throws {
    let name: [UInt8] = [0xFF, 0x2E, 0x61]
    let request = try program.parse([Array("install".utf8), name])
    #expect(request.parsed?.positionals == [name])
  }

  @Test(
    "help and the version are found",
    arguments: [
      ("--help", "help"), ("-h", "help"), ("--store /s --help", "help"),
      ("install -f -h", "help install"), ("install --help --frce", "help install"),
      ("run x --help", "help run"), ("run x -- --help", "run run"), ("--version", "version"),
      ("rules --help", "help rules"), ("rules -h show", "help rules"),
      ("rules show --help", "help rules show"), ("rules show x", "run rules show"),
      ("--store /s rules --store /s check", "run rules check"),
    ])
  func help(_ line: String, _ want: String) throws {
    #expect(try program.parse(bytes(line)).summary == want)
  }

  struct Mistake: Sendable, CustomTestStringConvertible {
    let line: String
    let want: String
    init(_ line: String, _ want: String) {
      self.line = line
      self.want = want
    }
    var testDescription: String { line }
  }

  @Test(
    "a mistake is answered with one line that says what to type",
    arguments: [
      Mistake("", "tool: a command is missing; try 'tool --help'"),
      Mistake("instal x", "tool: unknown command 'instal'; did you mean 'install'?"),
      Mistake("frobnicate", "tool: unknown command 'frobnicate'; try 'tool --help'"),
      Mistake(
        "install --frce x",
        "tool install: unknown option '--frce'; did you mean '--force'?"),
      Mistake(
        "install --ofrce x",
        "tool install: unknown option '--ofrce'; did you mean '--force'?"),
      Mistake(
        "install --frobnicate x",
        "tool install: unknown option '--frobnicate'; try 'tool install --help'"),
      Mistake("install -x", "tool install: unknown option '-x'; try 'tool install --help'"),
      Mistake("install --force=1 x", "tool install: option '--force' takes no value"),
      Mistake("install x --owner", "tool install: option '--owner' needs a value: USER"),
      Mistake("install", "tool install: BUNDLE is missing; try 'tool install --help'"),
      Mistake("install x y", "tool install: unexpected argument 'y'"),
      Mistake("run x ls", "tool run: unexpected argument 'ls'; put '--' before the command to run"),
      Mistake(
        "install --shell csh x",
        "tool install: 'csh' is no SHELL of '--shell'; expected 'bash', 'zsh'"),
      Mistake(
        "rules", "tool rules: a command is missing: one of show, check; try 'tool rules --help'"),
      Mistake("rules shwo x", "tool rules: unknown command 'shwo'; did you mean 'show'?"),
      Mistake("rules show", "tool rules show: APP is missing; try 'tool rules show --help'"),
      Mistake("show x", "tool: unknown command 'show'; try 'tool --help'"),
      Mistake("ruels", "tool: unknown command 'ruels'; did you mean 'rules'?"),
      Mistake("--sotre /s list", "tool: unknown option '--sotre'; did you mean '--store'?"),
    ])
  func mistakes(_ row: Mistake) {
    #expect(throws: UsageError.self) { try program.parse(bytes(row.line)) }
    do throws(UsageError) { _ = try program.parse(bytes(row.line)) } catch {
      #expect(error.line == row.want)
    }
  }

  @Test("what would steer the terminal is escaped in an error")
  func escapes() {
    #expect {
      try program.parse([[0x1B, 0x5B]])
    } throws: { error in
      (error as? UsageError)?.line == #"tool: unknown command '\033['; try 'tool --help'"#
    }
  }

  @Test(
    "the nearest name is found, and none where none is near",
    arguments: [
      ("nofial", "nofail"), ("stroe", "store"), ("ro", "ro"), ("elephant", nil), ("", nil),
    ] as [(String, String?)])
  func spelling(_ word: String, _ want: String?) {
    #expect(nearest(to: Array(word.utf8), among: ["nofail", "ro", "store"]) == want)
  }
}
