// `sandboxfs defaults read|write|delete|export|import APP`: an app's preferences, as its framework
// keeps them.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Paths
internal import Preferences
internal import PropertyLists
internal import Store

private let json = Option("json", summary: "print JSON: data in base64, dates as ISO 8601")
private let domain = Option(
  "domain", value: "NAME",
  summary: "the preferences of this name, such as NSGlobalDomain; else the app's own")

private let statuses = [
  ExitStatus("0", "it is done"),
  ExitStatus("1", "there is no such key or domain, or one line says what is wrong"),
  ExitStatus("2", "the command line was not understood"),
]

let defaultsReadSubcommand = Subcommand(
  command: Command(
    name: "defaults read", summary: "Shows an app's preferences, or the value of one key.",
    examples: [
      "sandboxfs defaults read org.gnustep.TextEdit",
      "sandboxfs defaults read --json com.example.Notes LastFolder",
    ],
    discussion: [
      "They are shown as on macOS: the form can be read again, and knows texts, data, arrays and "
        + "dictionaries only. A value that is no list stands there without quotes."
    ],
    positionals: [Positional("APP", .app), Positional("KEY", .free, .optional)],
    options: [domain, json], exitStatuses: statuses)
) { arguments in
  let list = try withPreferences(arguments, called: "defaults read") { file, _ in
    try value(arguments.positionals.dropFirst().first, in: try present(file), file.name)
  }
  try Output.write(arguments.has(json) ? JSON(list).document : shown(list) + "\n")
  return 0
}

let defaultsWriteSubcommand = Subcommand(
  command: Command(
    name: "defaults write", summary: "Sets the value of a key of an app's preferences.",
    examples: [
      "sandboxfs defaults write com.example.Notes LastFolder Drafts",
      "sandboxfs defaults write com.example.Notes FontSize -float 13.5",
      "sandboxfs defaults write com.example.Notes Recent -array-add -date 2024-02-29",
      "sandboxfs defaults write com.example.Notes '{ LastFolder = Drafts; }'",
    ],
    discussion: [
      "VALUE is a text, or a property list in braces, brackets or XML, or a kind and a value: "
        + "'-string', '-int', '-float', '-bool', '-date', '-data' (hexadecimal), "
        + "'-array VALUE...', '-dict KEY VALUE...'; '-array-add' and '-dict-add' add to what is "
        + "there. Without VALUE, KEY is a dictionary that takes the place of all preferences.",
      "The file is replaced at once or not at all, and the app, where it is GNUstep's, loses none "
        + "of its own changes. Most apps read it when they start. Options stand before KEY.",
    ],
    positionals: [Positional("APP", .app), Positional("KEY"), Positional("VALUE", .free, .any)],
    readCount: 2, options: [domain], exitStatuses: statuses)
) { arguments in
  let key = arguments.positionals[1]
  let words = Array(arguments.positionals.dropFirst(2))
  guard !words.isEmpty else {
    guard key.first(where: { $0 > 32 }).map("{(<".utf8.contains) == true else {
      throw UsageError(
        "sandboxfs defaults write",
        "VALUE is missing behind '\(shown(key))'; alone stands a dictionary, '{ KEY = VALUE; }'")
    }
    try replaceAll(arguments, by: try dictionary(key, called: "the value"), "defaults write")
    return 0
  }
  guard PropertyList.isWritable(key) else {
    throw Failure("the key '\(key.printable)' is not UTF-8, or has control characters")
  }
  let change: DefaultsChange
  do throws(DefaultsMistake) {
    change = try DefaultsChange(words: words)
  } catch {
    throw UsageError("sandboxfs defaults write", "\(error)")
  }
  try withPreferences(arguments, called: "defaults write") { file, view in
    try file.change(in: view) { old in
      var new = old ?? PropertyDictionary()
      do throws(DefaultsMistake) {
        new[key] = try change.applied(to: new[key])
      } catch {
        throw Failure("\(key.printable): \(error)")
      }
      return new
    }
  }
  return 0
}

let defaultsDeleteSubcommand = Subcommand(
  command: Command(
    name: "defaults delete", summary: "Removes a key of an app's preferences, or all of them.",
    examples: ["sandboxfs defaults delete com.example.Notes LastFolder"],
    discussion: ["The app then does what it does when it is new."],
    positionals: [Positional("APP", .app), Positional("KEY", .free, .optional)],
    options: [domain], exitStatuses: statuses)
) { arguments in
  try withPreferences(arguments, called: "defaults delete") { file, view in
    try file.change(in: view) { old in
      guard var new = old else { throw nothing(file.name) }
      guard let key = arguments.positionals.dropFirst().first else { return nil }
      _ = try value(key, in: new, file.name)
      new[key] = nil
      return new
    }
  }
  return 0
}

let defaultsExportSubcommand = Subcommand(
  command: Command(
    name: "defaults export", summary: "Writes an app's preferences into a file.",
    examples: ["sandboxfs defaults export com.example.Notes notes.plist"],
    discussion: ["FILE is an XML property list afterwards, or is standard output for '-'."],
    positionals: [Positional("APP", .app), Positional("FILE", .file)], options: [domain],
    exitStatuses: statuses)
) { arguments in
  let list = try withPreferences(arguments, called: "defaults export") { file, _ in
    PropertyList.dictionary(try present(file))
  }
  guard let text = list.xml else {
    throw Failure("a text in them has control characters, which XML can't hold")
  }
  let path = arguments.positionals[1]
  if path == [UInt8(ascii: "-")] {
    try Output.write(String(decoding: text, as: UTF8.self))
    return 0
  }
  do throws(Errno) {
    try OutputFile(path).replace(with: text)
  } catch {
    throw Failure("\(path.printable): \(error.message)")
  }
  return 0
}

let defaultsImportSubcommand = Subcommand(
  command: Command(
    name: "defaults import", summary: "Takes an app's preferences from a file.",
    examples: ["sandboxfs defaults import com.example.Notes notes.plist"],
    discussion: [
      "FILE, or standard input for '-', is a property list in the XML, the binary or the OpenStep "
        + "form, with a dictionary, which takes the place of all preferences."
    ],
    positionals: [Positional("APP", .app), Positional("FILE", .file)], options: [domain],
    exitStatuses: statuses)
) { arguments in
  let path = arguments.positionals[1]
  let isInput = path == [UInt8(ascii: "-")]
  let name = isInput ? "standard input" : path.printable
  let bytes: [UInt8]
  do throws(Errno) {
    let limit = PreferencesFile.maximumByteCount
    bytes =
      isInput
      ? try StandardStream.readInput(atMost: limit)
      : try Descriptor.following(path).reopened(Opening.reading).readToEnd(atMost: limit)
  } catch {
    throw Failure("\(name): \(error.message)")
  }
  try replaceAll(arguments, by: try dictionary(bytes, called: name), "defaults import")
  return 0
}

// MARK: - What they share

private func replaceAll(
  _ arguments: ParsedArguments, by dictionary: PropertyDictionary, _ name: String
) throws {
  try withPreferences(arguments, called: name) { file, view in
    try file.change(in: view) { _ in dictionary }
  }
}

/// Reads a property list that must be a dictionary.
private func dictionary(_ bytes: [UInt8], called name: String) throws -> PropertyDictionary {
  let list: PropertyList
  do throws(PropertyListError) {
    list = try .read(bytes)
  } catch {
    throw Failure("\(name) is no property list: \(error)")
  }
  guard let dictionary = list.dictionary else {
    throw Failure("\(name) is no dictionary, as preferences are: '{ KEY = VALUE; }'")
  }
  return dictionary
}

/// The file of the domain that the arguments mean, in the app's view.
private func withPreferences<Result>(
  _ arguments: ParsedArguments, called name: String,
  _ body: (borrowing PreferencesFile, borrowing VisitedView) throws -> Result
) throws -> Result {
  let wanted = try arguments.value(domain).map(domainName)
  return try visit(arguments.positionals[0], arguments, called: name) { container, view in
    try body(PreferencesFile(of: wanted, container, in: view), view)
  }
}

/// Refuses what would be the name of no file, or of one elsewhere.
private func domainName(_ word: [UInt8]) throws -> [UInt8] {
  // ".plist" comes behind it, and six letters while the file is being written.
  let longest = 255 - 12
  guard !word.isEmpty, word.count <= longest, word.first != UInt8(ascii: "."),
    !word.contains(where: { $0 == UInt8(ascii: "/") || $0 < 32 })
  else {
    throw UsageError(
      "sandboxfs defaults", "'\(word.printable)' is no domain, such as NSGlobalDomain")
  }
  return word
}

private func present(_ file: borrowing PreferencesFile) throws -> PropertyDictionary {
  guard let dictionary = try file.read() else { throw nothing(file.name) }
  return dictionary
}

private func nothing(_ name: [UInt8]) -> Failure {
  Failure("there is no Library/Preferences/\(name.printable)")
}

private func value(
  _ key: [UInt8]?, in dictionary: PropertyDictionary, _ name: [UInt8]
) throws -> PropertyList {
  guard let key else { return .dictionary(dictionary) }
  guard let value = dictionary[key] else {
    throw Failure("Library/Preferences/\(name.printable) has no key '\(key.printable)'")
  }
  return value
}

/// A value for standard output: on a terminal without what would steer it.
func shown(_ list: PropertyList) -> String {
  let text = list.plainText
  guard case .string(let bytes) = list, StandardStream.output.isTerminal else { return text }
  return bytes.printable
}

extension JSON {
  /// A property list as JSON, which knows neither data nor dates.
  init(_ list: PropertyList) {
    switch list {
    case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
    case .data(let bytes):
      self = .string(String(decoding: Base64.encoded(bytes), as: UTF8.self))
    case .integer(let number): self = .number(String(number))
    case .real(let number):
      self = number.isFinite ? .number(String(number)) : .string(String(number))
    case .boolean(let truth): self = .boolean(truth)
    case .date(let seconds): self = .string(PropertyList.isoText(seconds))
    case .array(let values): self = .array(values.map(JSON.init))
    case .dictionary(let dictionary):
      self = .object(
        dictionary.entries.map { (String(decoding: $0.key, as: UTF8.self), JSON($0.value)) })
    case .uid(let number): self = .object([("CF$UID", .number(String(number)))])
    }
  }
}
