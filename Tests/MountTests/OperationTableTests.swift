// The table of operations, row by row: what a real mount says, what `explain` says, and what the
// log says must be one.

import Glibc
import LinuxKit
import Paths
import Policy
import TestSupport
import Testing

/// Who acts: root, the container's owner, and somebody whom the modes let in.
private enum Actor: String, CaseIterable {
  case root, owner, other

  var uid: uid_t {
    switch self {
    case .root: 0
    case .owner: MountingScene.uid
    case .other: 65534
    }
  }

  static func named(_ words: Substring) -> [Actor] {
    words == "all" ? allCases : words.split(separator: " ").compactMap { Actor(rawValue: "\($0)") }
  }
}

/// An answer of the table.
private struct Answer: Equatable {
  let letter: Character

  private static let errnos: [Character: String] = [
    ".": "ok", "a": "EACCES", "p": "EPERM", "r": "EROFS", "x": "EXDEV", "n": "ENOENT",
    "b": "EBUSY", "d": "ENODEV", "e": "EEXIST", "t": "ENOTTY", "m": "EACCES",
  ]

  /// A letter of the table, for one actor.
  init(letter: Character, for actor: Actor) {
    self.letter = letter != "s" ? letter : actor == .other ? "m" : "r"
  }

  /// What the system call says.
  var result: String {
    Self.errnos[Character(letter.lowercased())] ?? "no letter: \(letter)"
  }
  /// Whether the kernel refuses without asking the daemon.
  var isKernels: Bool { letter.isLowercase }
  /// Whether it is the mounts that refuse, which `explain` knows.
  var isMounts: Bool { "arxb".contains(letter) }
  var isLogged: Bool { letter.isUppercase && letter != "N" }
}

/// One row: one system call on entries that no other row is about.
private struct Row {
  let operation: String
  let actor: Actor
  let paths: [String]
  let asks: [Policy.Operation]
  /// What is at each path; nil for nothing.
  let kinds: [NodeKind?]
  let want: Answer

  var label: String {
    "\(actor.rawValue): \(operation) \(paths.joined(separator: " ")) (\(want.letter))"
  }

  /// The kind of what is asked about: what is there, or what would be created.
  private var kind: NodeKind {
    switch operation {
    case "mkdir": .directory
    case "symlink": .symlink
    case "mknod fifo": .fifo
    case "mknod socket": .socket
    case "mknod device": .device
    default: (kinds.first ?? nil) ?? .file
    }
  }

  /// What the policy is asked: the first question that is refused is the answer.
  var questions: [Question] {
    let paths = paths.map { path in
      ViewPath(components: path.split(separator: "/").map { Array($0.utf8) })
    }
    return asks.map { operation in
      // A name that is there and hidden is created like any other.
      let isCreated = self.operation == "open creat" && self.paths[0].hasSuffix(".hid")
      return Question(
        isCreated ? .create : operation, paths[0],
        secondPath: paths.count > 1 && operation.takesTwoPaths ? paths[1] : nil, kind: kind,
        existing: kinds.count > 1 ? kinds[1] : nil)
    }
  }
}

// MARK: - Reading the tables

private func kind(_ word: Substring) -> NodeKind? {
  switch word {
  case "file": .file
  case "folder": .directory
  case "symlink": .symlink
  default: nil
  }
}

private func operations(_ words: Substring) -> [Policy.Operation] {
  words.split(separator: " ").compactMap { Policy.Operation(name: "\($0)") }
}

/// The lines of a table, each as its cells.
private func cells(_ table: String) -> [[Substring]] {
  table.split(separator: "\n").map { line in
    line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().map { cell in
      let start = cell.drop { $0 == " " }
      return start.prefix(start.count - start.reversed().prefix { $0 == " " }.count)
    }
  }
}

/// Numbers the entries, so that no two rows share one.
private struct RowReader {
  private(set) var rows: [Row] = []

  private func path(_ place: Int, _ number: Int) -> String {
    let place = operationPlaces[place]
    return "\(place.directory)/n\(number)\(place.ending)"
  }

  private static func answers(_ cell: Substring, for actor: Actor) -> [Answer] {
    cell.split(separator: " ").compactMap(\.first).map { Answer(letter: $0, for: actor) }
  }

  private mutating func add(
    _ operation: Substring, _ actor: Actor, places: [Int], _ asks: [Policy.Operation],
    _ kinds: [NodeKind?], _ want: Answer
  ) {
    let number = rows.count
    var paths = places.enumerated().map { path($1, number * 2 + $0) }
    if operation.hasPrefix("copy") { paths.append("/Documents/rw/other") }
    rows.append(
      Row(
        operation: "\(operation)", actor: actor, paths: paths, asks: asks, kinds: kinds,
        want: want))
  }

  mutating func readOnePaths() {
    for line in cells(onePathTable) where !line[0].isEmpty {
      for actor in Actor.named(line[2]) {
        for (place, want) in Self.answers(line[4], for: actor).enumerated() {
          add(line[0], actor, places: [place], operations(line[3]), [kind(line[1])], want)
        }
      }
    }
  }

  mutating func readTwoPaths() {
    var header: [Substring] = []
    for line in cells(twoPathTable) {
      if line.count == 3 { header = line }
      guard line.count == 2, let source = operationPlaces.firstIndex(where: { $0.name == line[0] })
      else { continue }
      for word in header[0].split(separator: " ") {
        let asks = operations(word == "noreplace" ? "rename" : word)
        for actor in Actor.allCases {
          for (target, want) in Self.answers(line[1], for: actor).enumerated() {
            add(
              word, actor, places: [source, target], asks, [kind(header[1]), kind(header[2])], want)
          }
        }
      }
    }
  }

  mutating func readStructural() {
    for line in cells(structuralTable) {
      for actor in Actor.named(line[3]) {
        let words = line[1...2].filter { !$0.isEmpty }
        let paths = words.enumerated().map { index, word in
          word.hasPrefix("/") ? "\(word)" : path(1, rows.count * 2 + index)
        }
        let own = words.map { $0.hasPrefix("/") ? nil : kind($0) }
        // What is there already: a directory, but for the one link.
        let kinds = words.enumerated().map { index, word in
          own[index] ?? Self.kindThere(word)
        }
        rows.append(
          Row(
            operation: "\(line[0])", actor: actor, paths: paths, asks: operations(line[4]),
            kinds: kinds, want: Self.answers(line[5], for: actor)[0]))
      }
    }
  }

  private static func kindThere(_ path: Substring) -> NodeKind? {
    if path == "/Library/ApplicationSupport" { return .symlink }
    return ["taken", "new"].contains { path.contains($0) } ? nil : .directory
  }
}

// MARK: - The rows on a mount

@Suite(.serialized, .enabled(if: geteuid() == 0, "needs root"))
struct OperationTableTests {
  @Test("each operation in each place says what the table says, and so do explain and the log")
  func table() throws {
    var reader = RowReader()
    reader.readOnePaths()
    reader.readTwoPaths()
    reader.readStructural()
    let rows = reader.rows
    #expect(rows.count > 3000)
    try withMountingScene { scene in
      let program = scene.path + "/Operations"
      try compileC("Operations", to: program)
      try make(rows, in: scene)
      try scene.mount(rules: operationRules)
      let engine = try operationEngine()
      for row in rows { compareWithExplanation(row, engine) }
      try run(rows, program, in: scene)
      try scene.unmount()
      for row in rows { expectUnchanged(row, in: scene) }
      try compareWithLog(rows, try scene.log(), engine)
    }
  }

  private func operationEngine() throws -> PolicyEngine {
    try PolicyEngine(
      layers: [
        ProfileSource(
          rank: .shipped, name: Array("test.profile".utf8), text: Array(operationRules.utf8))
      ], bundleName: Array("Notes.app".utf8))
  }

  /// In portions, each of which the daemon can note down before the next one comes.
  private func run(_ rows: [Row], _ program: String, in scene: MountingScene) throws {
    for (number, start) in stride(from: 0, to: rows.count, by: 400).enumerated() {
      let portion = rows[start..<min(start + 400, rows.count)]
      for actor in Actor.allCases {
        try run(portion.filter { $0.actor == actor }, program, as: actor, in: scene)
      }
      #expect(mkdir("\(scene.target)/portion \(number)", 0o700) == -1)
      try waitForLog("\"/portion \(number)\"", in: scene)
    }
  }

  private func run(
    _ rows: [Row], _ program: String, as actor: Actor, in scene: MountingScene
  ) throws {
    let lines = rows.map { row in
      ([row.operation] + row.paths.map { scene.target + $0 }).joined(separator: "\t") + "\n"
    }
    let outcome = try TestSupport.run(
      program, ["\(actor.uid)"], input: Array(lines.joined().utf8))
    try #require(outcome.status == 0, "\(outcome.errorText)")
    let results = outcome.text.split(separator: "\n").map { String($0) }
    try #require(results.count == rows.count)
    for (row, result) in zip(rows, results) {
      #expect(result == row.want.result, "\(row.label)")
    }
  }

  private func waitForLog(_ text: String, in scene: MountingScene) throws {
    for _ in 0..<1000 {
      // It is there once the first refusal is in it.
      let file = try? Descriptor.open(scene.container + "/log", O_RDONLY)
      let log = try file?.readToEnd(atMost: 1 << 22) ?? []
      if log.firstRange(of: Array(text.utf8)) != nil { return }
      usleep(10_000)
    }
    Issue.record("the log never tells of \(text)")
  }

  private func compareWithExplanation(_ row: Row, _ engine: PolicyEngine) {
    let mount = row.questions.lazy.compactMap {
      engine.refusalByMount(of: $0, isNoExec: true)
    }.first
    if row.want.isMounts {
      #expect(mount?.errnoName == row.want.result, "explain: \(row.label)")
    } else if !row.want.isKernels {
      let answer = refusal(row, engine)?.explanation.verdict.denial?.errnoName ?? "ok"
      #expect(mount == nil, "explain: \(row.label)")
      #expect(answer == row.want.result, "explain: \(row.label)")
    }
  }

  /// The first question that the policy refuses.
  private func refusal(
    _ row: Row, _ engine: PolicyEngine
  ) -> (question: Question, explanation: Explanation)? {
    row.questions.lazy.map { ($0, engine.explain($0)) }.first { !$0.1.verdict.isAllowed }
  }

  /// Each refusal of the daemon's is one record with the rule that `explain` names; nothing else is
  /// there.
  private func compareWithLog(
    _ rows: [Row], _ records: [[String: String]], _ engine: PolicyEngine
  ) throws {
    func key(_ fields: [String?]) -> String { fields.map { $0 ?? "" }.joined(separator: " ") }
    var logged: [String: Int] = [:]
    for record in records where record["path"]?.hasPrefix("/portion") != true {
      let fields = ["uid", "operation", "path", "path2", "result", "rule"].map { record[$0] }
      logged[key(fields), default: 0] += Int(record["count"] ?? "1") ?? 0
    }
    for row in rows where row.want.isLogged {
      guard let (question, explanation) = refusal(row, engine) else { continue }
      let two = question.secondPath == nil ? nil : row.paths[1]
      let wanted = key([
        "\(row.actor.uid)", question.operation.name, row.paths[0], two, row.want.result,
        engine.describe(explanation.verdict.rule),
      ])
      #expect(logged[wanted] == 1, "\(row.label): \(wanted)")
      logged[wanted] = nil
    }
    #expect(logged.isEmpty, "nobody expects \(logged.keys.sorted().prefix(20))")
  }

  // MARK: The backing

  private func place(_ path: String, _ scene: MountingScene) -> String {
    scene.container + (path.hasPrefix("/Notes.app/") ? "/bundle" : "/data") + path
  }

  private static let content = Array("#!/bin/true\n".utf8)

  /// What was refused has changed nothing in the store; and whatever an `append` zone was asked,
  /// its files begin as they did.
  private func expectUnchanged(_ row: Row, in scene: MountingScene) {
    for (path, kind) in zip(row.paths, row.kinds) where path.contains("/n") {
      let isWhole = row.want.result != "ok" || path.hasPrefix("/Documents/ap/") && kind != nil
      guard isWhole else { continue }
      var status = stat()
      let isThere = lstat(place(path, scene), &status) == 0
      #expect(isThere == (kind != nil), "\(row.label): \(path)")
      guard kind == .file else { continue }
      let bytes = try? Descriptor.open(place(path, scene), O_RDONLY).readToEnd(atMost: 4096)
      #expect(bytes?.prefix(Self.content.count).elementsEqual(Self.content) == true, "\(row.label)")
      #expect(row.want.result == "ok" || bytes == Self.content, "\(row.label)")
    }
  }

  // MARK: Making

  /// Makes what the rows are about, beside the view; everyone may do everything by its modes.
  private func make(_ rows: [Row], in scene: MountingScene) throws {
    func place(_ path: String) -> String { self.place(path, scene) }
    umask(0)
    defer { umask(0o022) }
    for directory in Set(operationPlaces.map(\.directory)) where directory != "/Notes.app" {
      try makeEntry(.directory, place(directory))
    }
    for path in ["", "/Documents", "/Library", "/Library/Caches", "/Library/Preferences", "/tmp"] {
      chmod(place(path), 0o777)
    }
    try makeEntry(.file, place("/Documents/rw/other"))
    for row in rows {
      for (path, kind) in zip(row.paths, row.kinds) where path.contains("/n") {
        if let kind { try makeEntry(kind, place(path)) }
      }
    }
  }

  private func makeEntry(_ kind: NodeKind, _ path: String) throws {
    switch kind {
    case .directory: try #require(mkdir(path, 0o777) == 0, "\(path)")
    case .symlink: try #require(symlink("nowhere", path) == 0, "\(path)")
    default:
      let raw = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o777)
      try #require(raw >= 0, "\(path)")
      let file = Descriptor(owning: raw)
      try file.writeAll(Self.content)
      try file.setExtendedAttribute("user.t".utf8, to: Array("old".utf8))
    }
    try #require(lchown(path, MountingScene.uid, MountingScene.uid) == 0)
  }
}
