// What a command line consists of, as values: parsing, help, completion and the tests of the man
// pages all read the same declarations.

/// What a value or an argument names, so that a shell can complete it.
public enum Subject: Equatable, Sendable {
  /// The identifier of an app that is installed.
  case app
  /// A directory.
  case directory
  /// A file or a directory.
  case file
  /// One of these words.
  case oneOf([String])
  /// Something that cannot be listed.
  case free

  /// Whether it may be any text, even none.
  var isFree: Bool { self == .free }
}

/// An option such as `--force`, `-o OPTIONS` or `--store DIR`.
public struct Option: Equatable, Sendable {
  /// The long name without its dashes; empty if there is only the letter.
  public let name: String
  /// The letter of the short form.
  public let letter: Character?
  /// What help calls the value; nil for an option without one.
  public let value: String?
  /// What the value names.
  public let subject: Subject
  /// What it does, in words that continue "This option will …".
  public let summary: String

  /// An option without a value.
  public init(_ name: String, _ letter: Character? = nil, summary: String) {
    self.name = name
    self.letter = letter
    value = nil
    subject = .free
    self.summary = summary
  }

  /// An option with a value.
  public init(
    _ name: String, _ letter: Character? = nil, value: String, _ subject: Subject = .free,
    summary: String
  ) {
    self.name = name
    self.letter = letter
    self.value = value
    self.subject = subject
    self.summary = summary
  }

  /// `--name`, or `-l` where there is only a letter.
  public var spelling: String {
    forms.last ?? ""
  }

  /// What may be typed: `-l` and `--name`, as far as there are both.
  public var forms: [String] {
    (letter.map { ["-\($0)"] } ?? []) + (name.isEmpty ? [] : ["--" + name])
  }

  /// `-l, --name VALUE`.
  public var fullSpelling: String {
    forms.joined(separator: ", ") + (value.map { " " + $0 } ?? "")
  }
}

/// An argument that is known by its place.
public struct Positional: Equatable, Sendable {
  /// How many of it there may be; of all that a command takes, one may stand for several.
  public enum Count: Sendable { case one, optional, any, atLeastOne }

  /// What help calls it, such as `APP`.
  public let name: String
  /// What it names.
  public let subject: Subject
  /// How many there may be.
  public let count: Count

  /// An argument that is known by its place.
  public init(_ name: String, _ subject: Subject = .free, _ count: Count = .one) {
    self.name = name
    self.subject = subject
    self.count = count
  }

  /// Whether there may be more than one.
  var isRepeated: Bool { count == .any || count == .atLeastOne }

  /// `NAME`, `[NAME]`, `[NAME...]` or `NAME...`.
  public var spelling: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .any: "[\(name)...]"
    case .atLeastOne: "\(name)..."
    }
  }
}

/// What an exit status means.
public struct ExitStatus: Equatable, Sendable {
  /// The number, or a range as text.
  public let status: String
  /// What has happened then.
  public let meaning: String

  /// A status with its meaning.
  public init(_ status: String, _ meaning: String) {
    self.status = status
    self.meaning = meaning
  }
}

/// One command: what follows a program's name, or a program without commands.
public struct Command: Sendable {
  /// The word that chooses it; two words for a command of a group.
  public let name: String
  /// What it does: one sentence.
  public let summary: String
  /// Command lines that can be typed as they are; help shows them first.
  public let examples: [String]
  /// Paragraphs that say more.
  public let discussion: [String]
  /// The arguments by place.
  public let positionals: [Positional]
  /// How many arguments are read before all others are taken as they are, `-5` and `--` among
  /// them; nil if options may stand everywhere.
  public let readCount: Int?
  /// What may follow `--` unread, such as `COMMAND [ARG...]`; nil if nothing may.
  public let rest: String?
  /// The options.
  public let options: [Option]
  /// What the exit statuses mean.
  public let exitStatuses: [ExitStatus]

  /// A command with every field given.
  public init(
    name: String, summary: String, examples: [String], discussion: [String] = [],
    positionals: [Positional] = [], readCount: Int? = nil, rest: String? = nil,
    options: [Option] = [], exitStatuses: [ExitStatus]
  ) {
    self.name = name
    self.summary = summary
    self.examples = examples
    self.discussion = discussion
    self.positionals = positionals
    self.readCount = readCount
    self.rest = rest
    self.options = options
    self.exitStatuses = exitStatuses
  }
}

/// The first word of several commands that are about one thing.
public struct CommandGroup: Equatable, Sendable {
  /// The word.
  public let name: String
  /// What its commands do: one sentence.
  public let summary: String
  /// The second word that is meant where none of the group's stands; nil if one must.
  public let implied: String?

  /// A group of the commands whose names begin with its own.
  public init(name: String, summary: String, implied: String? = nil) {
    self.name = name
    self.summary = summary
    self.implied = implied
  }
}

/// A program that has commands.
public struct Program: Sendable {
  /// The name that people type.
  public let name: String
  /// What it is: one sentence.
  public let summary: String
  /// Command lines that can be typed as they are, in a useful order.
  public let examples: [String]
  /// Options that every command takes.
  public let sharedOptions: [Option]
  /// The commands, in the order of help.
  public let commands: [Command]
  /// The groups that commands with two words belong to.
  public let groups: [CommandGroup]

  /// A program with every field given.
  public init(
    name: String, summary: String, examples: [String], sharedOptions: [Option],
    commands: [Command], groups: [CommandGroup] = []
  ) {
    self.groups = groups
    self.name = name
    self.summary = summary
    self.examples = examples
    self.sharedOptions = sharedOptions
    self.commands = commands
  }
}

extension Program {
  /// The commands of a group, by their second word.
  func commands(of group: CommandGroup) -> [(word: String, command: Command)] {
    commands.compactMap { command in
      let words = command.name.split(separator: " ", maxSplits: 1)
      guard words.count == 2, words[0] == group.name else { return nil }
      return (String(words[1]), command)
    }
  }

  /// What may follow the program's name, in the order of help: commands with one word, and groups
  /// in the place of their first command.
  var firstWords: [(name: String, summary: String)] {
    var words: [(name: String, summary: String)] = []
    for command in commands {
      let first = command.name.prefix { $0 != " " }
      let group = groups.first { $0.name == first }
      let word = group.map { ($0.name, $0.summary) } ?? (command.name, command.summary)
      if words.last?.name != word.0 { words.append(word) }
    }
    return words
  }
}
