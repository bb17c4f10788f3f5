// From the bytes of a command line to the values that a command declared.

internal import Paths

/// What a person typed and we did not understand.
public struct UsageError: Error, Equatable {
  /// The whole line for stderr, such as `sandboxfs install: unknown option '--frce'; did you
  /// mean '--force'?`.
  public let line: String

  /// An error about a command that is called `command` on its command line.
  public init(_ command: String, _ message: String) { line = "\(command): \(message)" }
}

/// The values that a command line gave to one command.
public struct ParsedArguments: Sendable {
  private var given: [(option: Option, value: [UInt8])] = []
  /// The arguments by place, in their order.
  public fileprivate(set) var positionals: [[UInt8]] = []
  /// What followed `--`, for a command that takes it unread; nil if there was no `--`.
  public fileprivate(set) var rest: [[UInt8]]?

  /// Whether the option was given.
  public func has(_ option: Option) -> Bool { given.contains { $0.option == option } }

  /// The option's value; the last one if it was given more than once.
  public func value(_ option: Option) -> [UInt8]? {
    given.last { $0.option == option }?.value
  }

  /// All values of an option that may be given more than once.
  public func values(_ option: Option) -> [[UInt8]] {
    given.filter { $0.option == option }.map(\.value)
  }

  fileprivate mutating func give(_ option: Option, _ value: [UInt8] = []) {
    given.append((option, value))
  }
}

/// What a command line asks for.
public enum Request: Sendable {
  /// Help about the program, or about one command.
  case help(Command?)
  /// Help about the commands of a group.
  case groupHelp(CommandGroup)
  /// The program's version.
  case version
  /// To run a command.
  case run(Command, ParsedArguments)
}

extension Program {
  /// Reads what follows the program's name.
  ///
  /// Options that all commands share may stand before the command too.
  public func parse(_ arguments: [[UInt8]]) throws(UsageError) -> Request {
    var reader = Reader(called: name, options: sharedOptions, arguments: arguments[...])
    while let argument = reader.arguments.first {
      if reader.isHelp { return .help(nil) }
      if argument == Array("--version".utf8) { return .version }
      if try reader.readOption() { continue }
      let word = reader.arguments.removeFirst()
      if let group = group(word) { return try parse(group, &reader) }
      let command = try command([word])
      reader.called = "\(name) \(command.name)"
      return try command.parse(&reader, sharedOptions)
    }
    throw UsageError(name, "a command is missing; try '\(name) --help'")
  }

  private func parse(_ group: CommandGroup, _ reader: inout Reader) throws(UsageError) -> Request {
    reader.called = "\(name) \(group.name)"
    while let argument = reader.arguments.first {
      if reader.isHelp { return .groupHelp(group) }
      if let implied = group.implied, implies(argument, group, reader) {
        try refuseMistypedWord(argument, of: group)
        let command = try command([Array(group.name.utf8), Array(implied.utf8)])
        return try command.parse(&reader, sharedOptions)
      }
      if try reader.readOption() { continue }
      reader.arguments.removeFirst()
      let command = try command([Array(group.name.utf8), argument])
      reader.called = "\(name) \(command.name)"
      return try command.parse(&reader, sharedOptions)
    }
    guard let implied = group.implied else {
      let words = commands(of: group).map(\.word).joined(separator: ", ")
      throw UsageError(
        reader.called, "a command is missing: one of \(words); try '\(reader.called) --help'")
    }
    // It says itself what is missing.
    let command = try command([Array(group.name.utf8), Array(implied.utf8)])
    return try command.parse(&reader, sharedOptions)
  }

  /// Throws if a word that can be no app's identifier looks like one of a group's second words.
  private func refuseMistypedWord(
    _ argument: [UInt8], of group: CommandGroup
  ) throws(UsageError) {
    if BundleIdentifier(bytes: argument) != nil { return }
    guard nearest(to: argument, among: commands(of: group).map(\.word)) != nil else { return }
    _ = try command([Array(group.name.utf8), argument])
  }

  /// Whether an argument is none of a group's second words, nor an option of all commands.
  private func implies(
    _ argument: [UInt8], _ group: CommandGroup, _ reader: Reader
  ) -> Bool {
    if argument.first == UInt8(ascii: "-") {
      var attempt = reader
      return (try? attempt.readOption()) != true
    }
    return !commands(of: group).contains { Array($0.word.utf8) == argument }
  }

  /// The group of that name.
  public func group(_ word: [UInt8]) -> CommandGroup? {
    groups.first { Array($0.name.utf8) == word }
  }

  /// The command of that name, of one word or of a group's and another.
  public func command(_ words: [[UInt8]]) throws(UsageError) -> Command {
    let wanted = Array(words.joined(separator: [UInt8(ascii: " ")]))
    if let command = commands.first(where: { Array($0.name.utf8) == wanted }) { return command }
    var called = name
    var known = firstWords.map(\.name)
    var unknown = words.first ?? []
    if words.count > 1, let group = words.first.flatMap(group) {
      called += " \(group.name)"
      known = commands(of: group).map(\.word)
      unknown = words[1]
    }
    throw UsageError(
      called,
      "unknown command '\(unknown.printable)'; "
        + advice(unknown, among: known, otherwise: "try '\(called) --help'"))
  }
}

extension Command {
  /// Reads the arguments of a program that has no commands.
  ///
  /// nil if they ask for help.
  public func parse(_ arguments: [[UInt8]]) throws(UsageError) -> ParsedArguments? {
    var reader = Reader(called: name, options: options, arguments: arguments[...])
    guard case .run(_, let parsed) = try parse(&reader, []) else { return nil }
    return parsed
  }

  fileprivate func parse(_ reader: inout Reader, _ shared: [Option]) throws(UsageError) -> Request {
    reader.options = options + shared
    while let argument = reader.arguments.first {
      if let readCount, reader.parsed.positionals.count >= readCount {
        reader.parsed.positionals += reader.arguments
        break
      }
      if reader.isHelp { return .help(self) }
      if argument == Array("--".utf8) {
        reader.arguments.removeFirst()
        if rest == nil {
          reader.parsed.positionals += reader.arguments
        } else {
          reader.parsed.rest = Array(reader.arguments)
        }
        break
      }
      if try reader.readOption() { continue }
      reader.parsed.positionals.append(reader.arguments.removeFirst())
    }
    try check(reader.parsed, called: reader.called)
    return .run(self, reader.parsed)
  }

  private func check(_ parsed: ParsedArguments, called: String) throws(UsageError) {
    let given = parsed.positionals.count
    let required = positionals.filter { $0.count == .one || $0.count == .atLeastOne }
    if given < required.count {
      throw UsageError(called, "\(required[given].name) is missing; try '\(called) --help'")
    }
    try refuseEmpty(parsed.positionals, called)
    if positionals.contains(where: \.isRepeated) { return }
    guard given > positionals.count else { return }
    let extra = parsed.positionals[positionals.count].printable
    let remedy = rest == nil ? "" : "; put '--' before the command to run"
    throw UsageError(called, "unexpected argument '\(extra)'\(remedy)")
  }
}

extension Command {
  /// Refuses what is no path, no app and no directory, as an unset variable of a shell leaves it.
  private func refuseEmpty(_ words: [[UInt8]], _ called: String) throws(UsageError) {
    guard readCount == nil else { return }
    for (index, word) in words.enumerated() where word.isEmpty {
      let meant = positional(at: index, of: words.count)
      if let meant, !meant.subject.isFree { throw UsageError(called, "\(meant.name) is empty") }
    }
  }

  /// What a word stands for; nil if it is one too many.
  private func positional(at index: Int, of count: Int) -> Positional? {
    guard let repeated = positionals.firstIndex(where: \.isRepeated) else {
      return index < positionals.count ? positionals[index] : nil
    }
    let behind = positionals.count - repeated - 1
    let left = count - index
    if left <= behind, index > repeated { return positionals[positionals.count - left] }
    return positionals[min(index, repeated)]
  }
}

/// Takes options from the front of the arguments.
private struct Reader {
  var called: String
  var options: [Option]
  var arguments: ArraySlice<[UInt8]>
  var parsed = ParsedArguments()

  init(called: String, options: [Option], arguments: ArraySlice<[UInt8]>) {
    self.called = called
    self.options = options
    self.arguments = arguments
  }

  var isHelp: Bool {
    guard let first = arguments.first else { return false }
    if first == Array("--help".utf8) { return true }
    return first == Array("-h".utf8) && !options.contains { $0.letter == "h" }
  }

  /// Takes one argument with its options; false if it is no option.
  mutating func readOption() throws(UsageError) -> Bool {
    guard let argument = arguments.first, argument.count > 1,
      argument[0] == UInt8(ascii: "-"), argument != Array("--".utf8)
    else { return false }
    arguments.removeFirst()
    if argument[1] == UInt8(ascii: "-") {
      try readLong(argument[2...])
    } else {
      try readLetters(argument[1...])
    }
    return true
  }

  private mutating func readLong(_ text: ArraySlice<UInt8>) throws(UsageError) {
    let word = Array(text.prefix { $0 != UInt8(ascii: "=") })
    guard !word.isEmpty, let option = options.first(where: { Array($0.name.utf8) == word }) else {
      let names = (options.map(\.name) + ["help"]).filter { !$0.isEmpty }
      throw unknown(Array("--".utf8) + word, among: names.map { "--" + $0 })
    }
    guard word.count < text.count else { return try take(option, attached: nil) }
    let value = Array(text.dropFirst(word.count + 1))
    guard option.value != nil else {
      throw UsageError(called, "option '\(option.spelling)' takes no value")
    }
    try take(option, attached: value)
  }

  private mutating func readLetters(_ text: ArraySlice<UInt8>) throws(UsageError) {
    var letters = text
    while let letter = letters.popFirst() {
      let option = options.first { $0.letter?.asciiValue == letter }
      guard let option else { throw unknown([UInt8(ascii: "-"), letter], among: []) }
      let takesValue = option.value != nil
      try take(option, attached: takesValue && !letters.isEmpty ? Array(letters) : nil)
      if takesValue { return }
    }
  }

  /// Keeps the option, with what is attached to it or else with the next argument.
  private mutating func take(_ option: Option, attached: [UInt8]?) throws(UsageError) {
    guard let name = option.value else { return parsed.give(option) }
    guard let value = attached ?? arguments.popFirst() else {
      throw UsageError(called, "option '\(option.spelling)' needs a value: \(name)")
    }
    if value.isEmpty, !option.subject.isFree {
      throw UsageError(called, "option '\(option.spelling)' needs a value: \(name), not nothing")
    }
    if case .oneOf(let words) = option.subject, !words.contains(where: { Array($0.utf8) == value })
    {
      let list = words.map { "'\($0)'" }.joined(separator: ", ")
      throw UsageError(
        called, "'\(value.printable)' is no \(name) of '\(option.spelling)'; expected \(list)")
    }
    parsed.give(option, value)
  }

  private func unknown(_ word: [UInt8], among names: [String]) -> UsageError {
    let advice = advice(word, among: names, otherwise: "try '\(called) --help'")
    return UsageError(called, "unknown option '\(word.printable)'; \(advice)")
  }
}
