// What two policies answer differently, question by question, over all paths that they tell apart.
//
// What lies below a path answers like the path itself where no other rule speaks of it, so a
// difference is told where it begins and not again below.

public import Paths

/// The same questions about one path, answered differently by two policies.
public struct PolicyDifference: Hashable, Sendable {
  /// All such paths, as a pattern.
  public let pattern: String
  /// One such path.
  public let path: ViewPath
  /// What was asked, such as `write`, `rename to /tmp` or `backup?`; all have the same answers for
  /// the same reasons.
  public let questions: [String]
  /// The answers of both: `allowed`, an errno's name, or an attribute's value.
  public let answers: [String]
  /// Where the rules stand that made them.
  public let reasons: [String]
}

/// Compares two policies.
public struct PolicyComparison {
  /// What they answer differently, places nearer to the root first.
  public private(set) var differences: [PolicyDifference] = []
  /// Whether every place was met that they tell apart; false once a bound was reached.
  public private(set) var isComplete = true

  /// One question with both answers.
  private struct Row: Hashable {
    var question: String
    var answers: [String]
    var reasons: [String]

    var isDifferent: Bool { answers[0] != answers[1] }
  }

  private struct Known: Hashable {
    var pattern: String
    var questions: [String]
    var row: Row
  }

  /// The answers that differ, by question.
  private typealias Baseline = [String: [String]]

  private let engines: [PolicyEngine]
  /// Directories that a path is moved to and from, where both policies agree.
  private var anchors: [(name: String, zones: [ZoneID])] = []
  /// What a reader takes for granted below a place.
  private var baselines: [SurveyedPlace: Baseline] = [:]
  private var known: Set<Known> = []

  /// Compares two policies for the same bundle.
  public init(_ one: PolicyEngine, _ other: PolicyEngine) {
    engines = [one, other]
    for directory in ["Documents", "tmp"] {
      let path = ViewPath(components: [directory, "other"].map { Array($0.utf8) })
      let zones = engines.map { $0.zone(of: path) }
      let isAgreed = !rows(zones).contains { $0.isDifferent }
      if isAgreed { anchors.append(("/\(directory)", zones)) }
    }
    compare()
  }

  private mutating func compare() {
    var survey = ZoneSurvey(engines)
    var children: [SurveyedPlace] = []
    var above: SurveyedPlace?
    survey.walk { parent, place in
      if parent != above {
        report(children, below: above)
        children = []
        above = parent
      }
      children.append(place)
    }
    report(children, below: above)
    isComplete = survey.isComplete
  }

  /// Reports where the entries of a directory are not as it was told of the directory, or of its
  /// entries that no rule speaks of.
  private mutating func report(_ places: [SurveyedPlace], below above: SurveyedPlace?) {
    var baseline = above.flatMap { baselines[$0] } ?? [:]
    var globs: Set<Baseline> = []
    for origin in [SurveyedPlace.Origin.unspoken, .glob, .literal, .combination] {
      for place in places where place.origin == origin {
        let rows = rows(of: place)
        let told = differing(rows, at: place, baseline)
        baselines[place] = told
        // What two globs both match says nothing new where it is as one of them says.
        if origin != .combination || !globs.contains(told) { append(rows, place, baseline) }
        if origin == .unspoken { baseline = told }
        if origin == .glob || origin == .combination { globs.insert(told) }
      }
    }
  }

  /// What is taken for granted below a place: an entry that always stays says nothing about what
  /// can be created and removed there.
  private func differing(
    _ rows: [Row], at place: SurveyedPlace, _ baseline: Baseline
  ) -> Baseline {
    var told: Baseline = [:]
    for row in rows where row.isDifferent { told[row.question] = row.answers }
    guard isStructural(place) else { return told }
    for question in Self.questionsOfPlace where told[question] == nil {
      told[question] = baseline[question]
    }
    return told
  }

  private static let questionsOfPlace = [Operation.create, .remove].map(\.name)

  private func isStructural(_ place: SurveyedPlace) -> Bool {
    zip(engines, place.zones).allSatisfy { $0[$1].flags.contains(.structural) }
  }

  /// Appends what is not as it was told: also that both answer alike again.
  private mutating func append(_ rows: [Row], _ place: SurveyedPlace, _ baseline: Baseline) {
    let news = rows.filter { row in
      if row.isDifferent { return baseline[row.question] != row.answers }
      let isFixed = isStructural(place) && Self.questionsOfPlace.contains(row.question)
      return baseline[row.question] != nil && !isFixed
    }
    var groups: [(row: Row, questions: [String])] = []
    for row in news {
      let known = groups.firstIndex {
        $0.row.answers == row.answers && $0.row.reasons == row.reasons
      }
      if let known {
        groups[known].questions.append(row.question)
      } else {
        groups.append((row, [row.question]))
      }
    }
    for group in groups { append(group.row, group.questions, place) }
  }

  private mutating func append(_ row: Row, _ questions: [String], _ place: SurveyedPlace) {
    // One pattern has several examples, which mostly answer alike.
    guard known.insert(Known(pattern: place.pattern, questions: questions, row: row)).inserted
    else { return }
    differences.append(
      PolicyDifference(
        pattern: place.pattern, path: place.path, questions: questions, answers: row.answers,
        reasons: row.reasons))
  }

  // MARK: Questions

  private func rows(of place: SurveyedPlace) -> [Row] {
    let rows = rows(place.zones)
    // Where an attribute differs, so does what may be moved and linked across it.
    if rows.contains(where: \.isDifferent) { return rows }
    let name = place.path.components.last ?? []
    return rows + anchors.flatMap { moves($0.name, place.zones, $0.zones, name) }
  }

  /// Whether something may be created is asked without a name: `only?` tells of names.
  private func rows(_ zones: [ZoneID]) -> [Row] {
    let operations = Operation.allCases.filter { !$0.takesTwoPaths }
    return operations.map { operation in
      row(operation.name) { $0.decide(operation, in: zones[$1], kind: .file) }
    } + attributeRows(zones)
  }

  private func moves(
    _ anchor: String, _ zones: [ZoneID], _ anchors: [ZoneID], _ name: [UInt8]
  ) -> [Row] {
    let other = Array("other".utf8)
    let there = NodeKind.allCases.prefix(2).map { kind in
      row("rename \(kind) to \(anchor)") { engine, index in
        engine.decideRename(
          from: RenamedEntry(zone: zones[index], kind: kind),
          to: RenameTarget(zone: anchors[index], existing: nil), named: other.span)
      }
    }
    let back = NodeKind.allCases.prefix(2).map { kind in
      row("rename \(kind) from \(anchor)") { engine, index in
        engine.decideRename(
          from: RenamedEntry(zone: anchors[index], kind: kind),
          to: RenameTarget(zone: zones[index], existing: nil), named: name.span)
      }
    }
    let link = row("link to \(anchor)") { engine, index in
      engine.decideLink(from: zones[index], kind: .file, to: anchors[index], named: other.span)
    }
    let exchange = row("exchange with \(anchor)") { engine, index in
      engine.decideExchange(
        RenamedEntry(zone: zones[index], kind: .file),
        RenamedEntry(zone: anchors[index], kind: .file))
    }
    return there + back + [link, exchange]
  }

  private func row(
    _ question: String, _ ask: (PolicyEngine, Int) -> Verdict
  ) -> Row {
    let verdicts = engines.enumerated().map { ask($1, $0) }
    let answers = verdicts.map { $0.denial?.errnoName ?? "allowed" }
    let reasons = zip(engines, verdicts).map { $0.describe($1.rule) }
    return Row(question: question, answers: answers, reasons: reasons)
  }

  private func attributeRows(_ zones: [ZoneID]) -> [Row] {
    let attributes = zip(engines, zones).map { $0.attributes(of: $1) }
    return [Attribute.sealed, .backup, .audit, .purge, .quota, .only].map { attribute in
      let answers =
        attribute == .only
        ? zip(engines, zones).map { $0.namesText(of: $1) }
        : attributes.map { $0.text(of: attribute) }
      let reasons = zip(engines, zones).map { engine, zone in
        let rules = engine.rules(for: attribute, in: zone)
        return (rules.isEmpty ? [.unset] : rules).map(engine.describe).joined(separator: " ")
      }
      return Row(question: "\(attribute.name)?", answers: answers, reasons: reasons)
    }
  }
}

extension PolicyEngine {
  /// The names that may be created in a zone's directories, as profiles spell them: sets of names
  /// that each limit them; none where nothing does.
  public func nameSets(of zone: ZoneID) -> [[String]] {
    nameRules(of: zone).map { names(allowedBy: $0).map(\.text) }.filter { !$0.isEmpty }
  }

  fileprivate func namesText(of zone: ZoneID) -> String {
    let sets = nameSets(of: zone).map { $0.joined(separator: ",") }
    return sets.isEmpty ? "-" : sets.joined(separator: " and ")
  }
}

extension ZoneAttributes {
  /// What an attribute is, as a profile says it: `yes` and `no` for switches, `-` for no value.
  public func text(of attribute: Attribute) -> String {
    switch attribute {
    case .read: yesOrNo(read)
    case .write: yesOrNo(write)
    case .exec: yesOrNo(exec)
    case .append: yesOrNo(append)
    case .hidden: yesOrNo(hidden)
    case .sealed: yesOrNo(sealed)
    case .backup: yesOrNo(backup)
    case .audit: audit == .denials ? "denials" : audit == .silent ? "nothing" : "everything"
    case .purge: purge.names.isEmpty ? "-" : purge.names.joined(separator: ",")
    case .quota: quota?.text ?? "-"
    case .only: limitsNames ? "some names" : "-"
    }
  }

  private func yesOrNo(_ value: Bool) -> String { value ? "yes" : "no" }
}

extension PurgeOccasions {
  /// The occasions, as a profile spells them.
  public var names: [String] {
    [(Self.exit, "exit"), (.pressure, "pressure"), (.restore, "restore")]
      .filter { contains($0.0) }.map(\.1)
  }
}

extension Quota {
  /// The quota, as a profile spells it.
  public var text: String {
    let units: [(shift: UInt64, letter: String)] = [(30, "G"), (20, "M"), (10, "K")]
    let unit = units.first { byteCount != 0 && byteCount & ((1 << $0.shift) - 1) == 0 }
    let size = unit.map { "\(byteCount >> $0.shift)\($0.letter)" } ?? "\(byteCount)"
    return size + (entryCount.map { ",\($0)" } ?? "")
  }
}
