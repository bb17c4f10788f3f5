// `sandboxfs policy show APP`.

internal import Arguments
internal import Paths
internal import Policy

private let json = Option("json", summary: "print an array of objects")

let policyShowSubcommand = Subcommand(
  command: Command(
    name: "policy show", summary: "Shows what holds at each path that the rules tell apart.",
    examples: [
      "sandboxfs policy show com.example.Notes", "sandboxfs policy show --bundle Notes.app ios",
    ],
    discussion: [
      "A row holds for its path and for everything below it, unless another row says otherwise. An "
        + "argument with a slash in it is a file, and so is NAME.profile if there is one; a word "
        + "without a dot is the name of a profile."
    ],
    positionals: [Positional("APP|FILE", .app)], options: [layerOption, bundleOption, json],
    exitStatuses: plainStatuses)
) { arguments in
  try tellingMistakes {
    let subject = try PolicySubject.any(arguments.positionals[0], arguments)
    let (rows, isComplete) = rows(of: subject.engine)
    if arguments.has(json) {
      try Output.write(JSON.array(rows.map { object($0, subject.engine) }).document)
    } else {
      try Output.write(table(rows, subject.engine).text)
    }
    if !isComplete {
      complain("sandboxfs policy show: there are more paths to tell apart than were looked at")
    }
    return 0
  }
}

/// The places where something begins to hold, in the order of their paths.
private func rows(of engine: PolicyEngine) -> (rows: [SurveyedPlace], isComplete: Bool) {
  var survey = ZoneSurvey([engine])
  var rows: [SurveyedPlace] = []
  var known: Set<String> = []
  var globs: (above: SurveyedPlace?, zones: [ZoneID]) = (nil, [])
  survey.walk { above, place in
    let zone = place.zones[0]
    if above != globs.above { globs = (above, []) }
    if place.origin == .glob { globs.zones.append(zone) }
    guard known.insert(place.pattern).inserted else { return }
    if let above, engine.sayTheSame(above.zones[0], zone) { return known.subtract([place.pattern]) }
    // What two globs both match says nothing new where it is as one of them says.
    let isOld =
      place.origin == .combination && globs.zones.contains { engine.sayTheSame($0, zone) }
    if isOld { return }
    rows.append(place)
    globs.zones.append(zone)
  }
  let sorted = rows.sorted {
    $0.path.components.lexicographicallyPrecedes($1.path.components) {
      $0.lexicographicallyPrecedes($1)
    }
  }
  return (sorted, survey.isComplete)
}

extension PolicyEngine {
  /// Whether the same holds for two zones' paths, and for what lies below them where no rule speaks
  /// of it.
  fileprivate func sayTheSame(_ one: ZoneID, _ other: ZoneID) -> Bool {
    var first = attributes(of: one)
    let second = attributes(of: other)
    first.isStructural = second.isStructural
    return first == second && nameSets(of: one) == nameSets(of: other)
  }

  /// The rules that made a zone what it is, in the order of reading.
  fileprivate func allRules(of zone: ZoneID) -> [String] {
    Set(Attribute.allCases.flatMap { rules(for: $0, in: zone) })
      .sorted { $0.rawValue < $1.rawValue }.map(describe)
  }
}

private func table(_ rows: [SurveyedPlace], _ engine: PolicyEngine) -> Table {
  var table = Table("PATH", "ALLOWS", "BACKUP", "PURGED", "QUOTA", "NAMES", "LOGGED", "RULES")
  for row in rows {
    let zone = row.zones[0]
    let attributes = engine.attributes(of: zone)
    table.add(
      Presentation.quotedPattern(row.pattern), allowed(attributes), attributes.text(of: .backup),
      attributes.text(of: .purge), attributes.text(of: .quota),
      engine.nameSets(of: zone).map { $0.joined(separator: ",") }.joined(separator: " and "),
      attributes.text(of: .audit), grouped(engine.allRules(of: zone)))
  }
  return table
}

/// What may be done; in the bundle nothing can be changed, whatever the rules say.
private func allowed(_ attributes: ZoneAttributes) -> String {
  if attributes.hidden { return "nothing: hidden" }
  let writing = attributes.write && !attributes.isBundle
  let words = [
    (attributes.read, "read"), (writing, attributes.append ? "append" : "write"),
    (attributes.exec, "exec"),
  ]
  let allowed = words.filter(\.0).map(\.1)
  return (allowed.isEmpty ? ["nothing"] : allowed).joined(separator: " ")
    + (attributes.sealed ? " (sealed)" : "")
}

/// `ios.profile:2,3 own:1` for rules that stand in few files.
private func grouped(_ rules: [String]) -> String {
  var groups: [(file: Substring, lines: String)] = []
  for rule in rules {
    let colon = rule.lastIndex(of: ":") ?? rule.startIndex
    let line = String(rule[rule.index(after: colon)...])
    if groups.last?.file == rule[..<colon] {
      groups[groups.count - 1].lines += ",\(line)"
    } else {
      groups.append((rule[..<colon], line))
    }
  }
  return groups.map { "\($0.file):\($0.lines)" }.joined(separator: " ")
}

private func object(_ row: SurveyedPlace, _ engine: PolicyEngine) -> JSON {
  let zone = row.zones[0]
  let attributes = engine.attributes(of: zone)
  let switches: [(String, Bool)] = [
    ("read", attributes.read), ("write", attributes.write), ("exec", attributes.exec),
    ("append", attributes.append), ("hidden", attributes.hidden), ("sealed", attributes.sealed),
    ("backup", attributes.backup), ("structural", attributes.isStructural),
    ("bundle", attributes.isBundle),
  ]
  return .object(
    [("pattern", .string(row.pattern)), ("example", .string(row.path.shown))]
      + switches.map { ($0.0, .boolean($0.1)) }
      + [
        ("audit", .string(attributes.text(of: .audit))),
        ("purge", .array(attributes.purge.names.map(JSON.string))),
        ("quotaBytes", attributes.quota.map { .text(of: $0.byteCount) } ?? .null),
        ("quotaEntries", attributes.quota?.entryCount.map { .text(of: $0) } ?? .null),
        (
          "only",
          .array(engine.nameSets(of: zone).map { .array($0.map(JSON.string)) })
        ),
        ("rules", .array(engine.allRules(of: zone).map(JSON.string))),
      ])
}

extension JSON {
  /// A count that may be larger than other programs' integers.
  fileprivate static func text(of count: UInt64) -> JSON {
    Int64(exactly: count).map(JSON.integer) ?? .string("\(count)")
  }
}
