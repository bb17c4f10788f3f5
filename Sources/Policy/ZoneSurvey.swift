// A walk over all that some policies tell apart: from the root on, for each set of zones the names
// that lead further, one of each kind.
//
// Names come from the patterns themselves: each literal, some names for each glob of a pattern or
// of an `only=`, some for each two globs that both match, and some that nobody speaks of. So the
// walk meets every zone but those that take three globs at once for one name.

public import Paths

/// One path that stands for others.
public struct SurveyedPlace: Hashable, Sendable {
  /// Where the last name comes from.
  public enum Origin: Sendable {
    /// A pattern's own name; the root, too.
    case literal
    /// An example of a glob.
    case glob
    /// What two globs might both match.
    case combination
    /// What no pattern speaks of.
    case unspoken
  }

  /// An example of such a path.
  public let path: ViewPath
  /// All such paths, as a pattern; a `*` for names that no pattern speaks of.
  public let pattern: String
  /// Where its last name comes from.
  public let origin: Origin
  /// The path's zone, for each policy.
  public let zones: [ZoneID]

  fileprivate static func root(count: Int) -> Self {
    Self(
      path: ViewPath(components: [], namesDirectory: true), pattern: "/", origin: .literal,
      zones: [ZoneID](repeating: .root, count: count))
  }
}

/// Walks over the zones of one policy, or of several side by side.
public struct ZoneSurvey {
  private struct Name: Hashable {
    var bytes: [UInt8]
    var label: String
    var origin: SurveyedPlace.Origin

    static func combination(_ bytes: [UInt8]) -> Name {
      Name(bytes: bytes, label: Presentation.patternText(bytes), origin: .combination)
    }
  }

  private let engines: [PolicyEngine]
  private let edges: [EdgeIndex]
  private var knownNames: [[UInt32]: [Name]] = [:]
  /// Whether everything was met; false once a bound was reached.
  public private(set) var isComplete = true

  /// How many steps are taken, and for how many globs each two are tried together.
  private static let maximumStepCount = 100_000
  private static let maximumPairedGlobCount = 48
  private static let maximumInsertionCount = 4
  /// What nobody speaks of, unless a profile speaks of `other`.
  private static let unspoken = ["other", "another one", "q7"]

  /// A walk over policies of the same bundle.
  public init(_ engines: [PolicyEngine]) {
    self.engines = engines
    edges = engines.map(EdgeIndex.init)
  }

  /// Calls `body` for the root, without a place above it, and for each step from a place to one
  /// below.
  ///
  /// Places nearer to the root come first, those below hidden ones never, and in each directory
  /// those that combine two globs come last.
  public mutating func walk(_ body: (_ above: SurveyedPlace?, _ place: SurveyedPlace) -> Void) {
    let root = SurveyedPlace.root(count: engines.count)
    body(nil, root)
    var queue = [root]
    var known: Set<[ZoneID]> = [root.zones]
    var stepCount = 0
    var index = 0
    while index < queue.count {
      let place = queue[index]
      index += 1
      for name in names(below: place) {
        stepCount += 1
        guard stepCount <= Self.maximumStepCount else {
          isComplete = false
          return
        }
        let next = step(from: place, name)
        body(place, next)
        if !isHidden(next), known.insert(next.zones).inserted { queue.append(next) }
      }
    }
  }

  /// Whether nothing is found below a place, by one of the policies.
  private func isHidden(_ place: SurveyedPlace) -> Bool {
    zip(engines, place.zones).contains { $0[$1].flags.contains(.hidden) }
  }

  private func step(from place: SurveyedPlace, _ name: Name) -> SurveyedPlace {
    let zones = engines.indices.map {
      engines[$0].zone(named: name.bytes.span, in: place.zones[$0])
    }
    let base = place.pattern == "/" ? "" : place.pattern
    return SurveyedPlace(
      path: ViewPath(components: place.path.components + [name.bytes]),
      pattern: "\(base)/\(name.label)", origin: name.origin, zones: zones)
  }

  // MARK: Names

  /// The names that may lead to different zones from here.
  private mutating func names(below place: SurveyedPlace) -> [Name] {
    let zones = engines.indices.map { engines[$0][place.zones[$0]] }
    let key = zones.flatMap { [$0.live, $0.onlyRules] }
    if let names = knownNames[key] { return names }
    var literals: [[UInt8]] = []
    var globs: [Glob] = []
    for index in engines.indices {
      for position in engines[index].rules(of: zones[index].live) {
        literals += edges[index].literals[position] ?? []
        globs += edges[index].globs[position] ?? []
      }
      for rule in engines[index].rules(of: zones[index].onlyRules) {
        globs += engines[index].book.names(of: rule)
      }
    }
    let names = names(literals, globs.removingRepeats())
    knownNames[key] = names
    return names
  }

  private mutating func names(_ literals: [[UInt8]], _ globs: [Glob]) -> [Name] {
    var names = literals.map {
      Name(bytes: $0, label: Presentation.patternText($0), origin: .literal)
    }
    var table = GlobTable()
    let isPaired = globs.count <= Self.maximumPairedGlobCount
    if isPaired { for glob in globs { _ = table.insert(glob) } } else { isComplete = false }
    for glob in globs {
      names += glob.examples.map { name in
        let isCommon = table.globs.contains { $1 != glob && table.matches($0, name.span) }
        return isCommon
          ? .combination(name) : Name(bytes: name, label: glob.text, origin: .glob)
      }
    }
    if isPaired {
      for (index, glob) in globs.enumerated() {
        for other in globs[(index + 1)...] {
          names += Self.examples(glob, other).map(Name.combination)
        }
      }
    }
    names += Self.unspoken.map { Name(bytes: Array($0.utf8), label: "*", origin: .unspoken) }
    var known: Set<[UInt8]> = []
    let all = names.filter { known.insert($0.bytes).inserted }
    return all.filter { $0.origin != .combination } + all.filter { $0.origin == .combination }
  }

  /// Names that two globs might both match.
  private static func examples(_ glob: Glob, _ other: Glob) -> [[UInt8]] {
    let filling = Array("x".utf8)
    let names = [
      glob.literalPrefix + filling + other.literalSuffix,
      other.literalPrefix + filling + glob.literalSuffix,
    ]
    let isName = { (name: [UInt8]) in name.count <= ViewPath.maximumNameByteCount }
    guard let common = glob.commonExample(with: other) else { return names.filter(isName) }
    // The shortest name may be spoken of by itself, and a longer one be what the globs are about.
    let longer = (0...min(common.count, maximumInsertionCount)).map {
      common[..<$0] + filling + common[$0...]
    }
    return [common] + (names + longer.map(Array.init)).filter(isName)
  }
}

/// The names on the edges of an automaton, by the position that they lead on from.
private struct EdgeIndex {
  var literals: [UInt32: [[UInt8]]] = [:]
  var globs: [UInt32: [Glob]] = [:]

  init(_ engine: PolicyEngine) {
    let automaton = engine.automaton
    for edge in automaton.literals {
      let name = Array(automaton.bytes[Int(edge.name.lowerBound)..<Int(edge.name.upperBound)])
      literals[edge.parent, default: []].append(name)
    }
    let byNumber = automaton.globs.globs
    for edge in automaton.globEdges {
      if let glob = byNumber[edge.glob] { globs[edge.parent, default: []].append(glob) }
    }
  }
}

extension [Glob] {
  fileprivate func removingRepeats() -> Self {
    var known: Set<Glob> = []
    return filter { known.insert($0).inserted }
  }
}
