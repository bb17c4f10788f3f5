// `sandboxfs settings APP [KEY [VALUE]]`.

internal import Arguments
internal import Launch
internal import Paths
internal import Preferences
internal import PropertyLists

private let json = Option("json", summary: "print an array of objects")
private let reset = Option("reset", summary: "take back what is set of KEY")

let settingsSubcommand = Subcommand(
  command: Command(
    name: "settings", summary: "Shows and changes what an app lets a person set.",
    examples: [
      "sandboxfs settings com.example.Notes", "sandboxfs settings com.example.Notes sound off",
      "sandboxfs settings --reset com.example.Notes sound",
    ],
    discussion: [
      "An app that has a Settings.bundle says in it what may be set, in which range, and what "
        + "holds where nothing is set. VALUE is refused where it is none of that. A value of "
        + "several may be given by its title. Titles are shown in the language of LANG and "
        + "LANGUAGE, where the bundle has it. What is set is kept among the app's preferences: "
        + "see 'sandboxfs defaults'. Options stand before KEY."
    ],
    positionals: [
      Positional("APP", .app), Positional("KEY", .free, .optional),
      Positional("VALUE", .free, .optional),
    ],
    readCount: 2, options: [json, reset],
    exitStatuses: [
      ExitStatus("0", "it is done"),
      ExitStatus("1", "there is no such setting, or one line says what is wrong"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  let words = arguments.positionals
  guard !arguments.has(reset) || words.count == 2 else {
    throw UsageError("sandboxfs settings", "--reset takes APP and KEY")
  }
  let text = try visit(words[0], arguments, called: "settings") { container, view in
    let settings = try SettingsBundle(of: view).settings()
    let file = try PreferencesFile(of: nil, container, in: view)
    if words.count == 1 { return try listing(settings, file.read(), arguments.has(json)) }
    let setting = try setting(words[1], in: settings)
    if arguments.has(reset) { return try change(setting, to: nil, file, view) }
    if words.count == 3 { return try change(setting, to: words[2], file, view) }
    let state = State(setting, try file.read())
    if arguments.has(json) { return state.json.document }
    return state.value.map { setting.words(for: $0, shown) + "\n" } ?? ""
  }
  try Output.write(text)
  return 0
}

/// A setting with what is set of it.
private struct State {
  let setting: Setting
  let isSet: Bool
  /// What holds; nil if nothing is set and the app says nothing.
  let value: PropertyList?

  init(_ setting: Setting, _ preferences: PropertyDictionary?) {
    self.setting = setting
    let set = preferences?[setting.key]
    isSet = set != nil
    value = set ?? setting.initial
  }

  /// What a person reads.
  var words: String {
    guard let value else { return "" }
    if case .text(_, isSecret: true) = setting.kind { return "(not shown)" }
    return setting.words(for: value).shown + (isSet ? "" : " (default)")
  }

  var json: JSON {
    var members: [(name: String, value: JSON)] = [
      ("key", .string(String(decoding: setting.key, as: UTF8.self))),
      ("title", .string(setting.title)),
      ("section", .array(setting.section.map(JSON.string))), ("type", .string(setting.type)),
      ("value", value.map { JSON($0) } ?? .null),
      ("default", setting.initial.map { JSON($0) } ?? .null), ("set", .boolean(isSet)),
    ]
    switch setting.kind {
    case .slider(let minimum, let maximum):
      members += [("minimum", JSON(.real(minimum))), ("maximum", JSON(.real(maximum)))]
    case .choice(let choices), .shown(let choices):
      let choices = choices.map { choice in
        JSON.object([("value", JSON(choice.value)), ("title", .string(choice.title))])
      }
      members.append(("choices", .array(choices)))
    case .toggle(let on, let off): members += [("on", JSON(on)), ("off", JSON(off))]
    case .text, .unknown: break
    }
    return .object(members)
  }
}

private func listing(
  _ settings: [Setting], _ preferences: PropertyDictionary?, _ isJSON: Bool
) -> String {
  let states = settings.map { State($0, preferences) }
  if isJSON { return JSON.array(states.map(\.json)).document }
  if states.isEmpty { return "the app lets nothing be set\n" }
  var table = Table("KEY", "SECTION", "TITLE", "VALUE", "MAY BE")
  for state in states {
    let setting = state.setting
    table.add(
      setting.key.printable, setting.section.joined(separator: " / ").shown, setting.title.shown,
      state.words, setting.allowed.shown)
  }
  return table.text
}

private func setting(_ key: [UInt8], in settings: [Setting]) throws -> Setting {
  if let found = settings.first(where: { $0.key == key }) { return found }
  throw Failure("the app has no setting '\(key.printable)'; it lists those that it has without KEY")
}

/// Sets it, or takes back what is set; nothing is printed.
private func change(
  _ setting: Setting, to word: [UInt8]?, _ file: borrowing PreferencesFile,
  _ view: borrowing VisitedView
) throws -> String {
  let value: PropertyList?
  do throws(DefaultsMistake) {
    value = if let word { try setting.value(of: word) } else { nil }
  } catch {
    throw UsageError("sandboxfs settings", "\(setting.key.printable): \(error)")
  }
  try file.change(in: view) { old in
    if old == nil, value == nil { return nil }
    var new = old ?? PropertyDictionary()
    new[setting.key] = value
    return new
  }
  return ""
}
