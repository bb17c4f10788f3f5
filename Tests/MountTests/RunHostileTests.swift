// What a hostile program finds and changes: nothing. `docs/escapes.md` lists what it tries, with
// what it is told; to write down there what it is told now:
//
//     SANDBOXFS_RECORD=1 swift test --filter RunHostileTests

import Containers
import Foundation
import Glibc
import LinuxKit
import Mounting
import TestSupport
import Testing

@Suite(
  "A hostile program", .serialized, .enabled(if: geteuid() == 0, "needs root"),
  .enabled(if: isInstalled("gcc"), "needs gcc"))
struct RunHostileTests {
  @Test("finds no way out and no trace of another app, as the app or as root of its own namespace")
  func refused() throws {
    var page = try EscapePage()
    for person in RunScene.Person.allCases {
      try withRunScene(person) { scene in
        for identity in Identity.allCases {
          let attempts = try attempts(scene, identity)
          expectNothing(attempts, identity)
          page.add(attempts, identity)
        }
      }
    }
    try page.compare()
  }

  @Test(
    "does no better beside a run of its app, started by exec", arguments: RunScene.Person.allCases)
  func byExec(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let attempts = try attempts(scene, .app, byExec: true)
      expectNothing(attempts, .app)
      var page = try EscapePage()
      page.add(attempts, .app)
      try page.compare()
    }
  }

  private func expectNothing(_ attempts: Attempts, _ identity: Identity) {
    #expect(attempts.traces.isEmpty)
    #expect(attempts.outcomes.count > 130)
    #expect(attempts.done.isSubset(of: identity.allowed))
    #expect(attempts.done.contains("code: the bundle's own"))
    // What was refused is told of those who tried it, and of nobody else.
    #expect(attempts.refusals.allSatisfy { $0.key < attempts.outcomes.count })
    #expect(!attempts.refusals.isEmpty)
  }

  private func attempts(
    _ scene: RunScene, _ identity: Identity, byExec: Bool = false
  ) throws -> Attempts {
    let (secret, word) = ("org.example.Secret", "a word that nobody else knows")
    let app = "org.example.Hostile"
    try scene.install(scene.makeBundle("Secret"))
    try scene.install(scene.makeBundle("Hostile") { try compileC("hostile", to: $0) })
    // The other app runs meanwhile, so its view is mounted too.
    let other = try scene.start(
      secret, ["sh", "-c", "echo '\(word)' >Documents/s; touch tmp/ready; sleep 60"])
    defer { other.end() }
    try other.wait { FileManager.default.fileExists(atPath: scene.data(secret, "tmp/ready")) }
    let host = try HostFacts(scene, other: secret, app)
    let words =
      ["/home/app/Hostile.app/Hostile", identity.word, secret, word] + host.words
    let beside = byExec ? try scene.startSleeping(app) : nil
    defer { beside?.end() }
    let outcome =
      byExec
      ? try scene.perform([scene.program, "exec", app, "--"] + words)
      : try scene.run(app, options: identity.options, words)
    #expect(outcome.status == 0, "\(outcome.errorText)")
    let word2 = try String(contentsOfFile: scene.data(secret, "Documents/s"), encoding: .utf8)
    #expect(word2 == word + "\n")
    // The links that it left led nobody there who tidied up.
    #expect(FileManager.default.fileExists(atPath: host.canary + "/precious"))
    let log = try scene.perform([scene.program, "log", "--json", app])
    let uninstalled = byExec ? nil : try scene.perform([scene.program, "uninstall", "--yes", app])
    #expect(uninstalled?.status ?? 0 == 0, "\(uninstalled?.errorText ?? "")")
    return Attempts(outcome.text, log: log.text)
  }
}

/// As whom the program tries it.
enum Identity: String, CaseIterable {
  case app, root

  /// The word for it on its command line.
  var word: String { self == .app ? "user" : "root" }

  var options: [String] { self == .root ? ["--allow", "userns"] : [] }

  /// What need not be refused: its own program, and what reaches only the mounts of a namespace of
  /// its own, or gives rights that are worth something only there.
  var allowed: Set<String> {
    switch self {
    case .app: ["code: the bundle's own"]
    case .root:
      [
        "becoming root", "code: the bundle's own", "file: capability", "process: capabilities",
        "door: chroot", "door: fsopen", "door: mount tmpfs", "door: execute from it",
        "door: open_tree", "door: user namespace", "call: clone", "call: clone3",
      ]
    }
  }
}

/// Things of the host that the program is told of, and can't reach.
private final class HostFacts {
  let canary: String
  let words: [String]
  private let listener: CInt
  private let memory: CInt

  init(_ scene: RunScene, other: String, _ app: String) throws {
    canary = scene.path + "/canary"
    try? FileManager.default.createDirectory(
      atPath: canary, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
    try Data("x".utf8).write(to: URL(filePath: canary + "/precious"))
    let container = try Descriptor.open(scene.container(other), O_RDONLY | O_DIRECTORY)
    let daemon = try #require(try DaemonStatus.ask(container)).worker
    // Whoever listens without having bound gets a port of all addresses.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { address in
      listen(listener, 1) == 0
        && getsockname(listener, __SOCKADDR_ARG(__sockaddr_in__: address), &length) == 0
    }
    let key = Int32(getpid()) ^ 0x5346_0000
    memory = shmget(key, 4096, IPC_CREAT | 0o666)
    words = [
      "store=\(scene.store)", "views=/run/sandboxfs", "control=\(scene.container(app))/control",
      "canary=\(canary)", "daemon=\(daemon)", "port=\(UInt16(bigEndian: address.sin_port))",
      "memory=\(key)",
    ]
    #expect(isListening && memory >= 0)
  }

  deinit {
    close(listener)
    shmctl(memory, IPC_RMID, nil)
  }
}

/// What it tried, with what came of it.
struct Attempts {
  /// In the order of their numbers.
  let outcomes: [(name: String, result: String)]
  let traces: [String]
  /// What the log tells of an attempt, by its number.
  let refusals: [Int: Set<String>]

  init(_ text: String, log: String) {
    let lines = text.split(separator: "\n").map(String.init)
    traces = lines.filter { $0.hasPrefix("found: ") }
    outcomes = lines.filter { !$0.hasPrefix("found: ") }.map { line in
      let end = line.range(of: ": ", options: .backwards)?.lowerBound ?? line.endIndex
      return (String(line[..<end]), String(line[end...].dropFirst(2)))
    }
    var refusals: [Int: Set<String>] = [:]
    for line in log.split(separator: "\n") {
      guard let fields = flatObject(Array(line.utf8)) else { continue }
      let field = { (name: String) in String(decoding: fields[name] ?? [], as: UTF8.self) }
      guard field("command").hasPrefix("attempt-"),
        let number = Int(field("command").dropFirst("attempt-".count))
      else { continue }
      refusals[number, default: []].insert("\(field("operation")): `\(field("rule"))`")
    }
    self.refusals = refusals
  }

  /// Those that were not refused.
  var done: Set<String> { Set(outcomes.filter { $0.result == "done" }.map(\.name)) }
}

/// `docs/escapes.md`: a table behind each marker, with the attempts whose names begin so.
private struct EscapePage {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/escapes.md")
  private static let marker = "<!-- attempts: "
  private static let head = [
    "| attempt | as the app | as root of its own | in the log |", "|---|---|---|---|",
  ]

  private struct Row {
    var results: [Identity: Set<String>] = [:]
    var refusals: Set<String> = []
  }

  private let lines: [String]
  private var names: [String] = []
  private var rows: [String: Row] = [:]

  init() throws {
    lines = try String(contentsOf: Self.file, encoding: .utf8).components(separatedBy: "\n")
  }

  mutating func add(_ attempts: Attempts, _ identity: Identity) {
    for (number, outcome) in attempts.outcomes.enumerated() {
      if rows[outcome.name] == nil { names.append(outcome.name) }
      rows[outcome.name, default: Row()].results[identity, default: []].insert(outcome.result)
      rows[outcome.name, default: Row()].refusals.formUnion(attempts.refusals[number] ?? [])
    }
  }

  /// Compares what was tried with the page; or writes it there.
  func compare() throws {
    let isWhole = rows.values.contains { $0.results.count == Identity.allCases.count }
    if isWhole, ProcessInfo.processInfo.environment["SANDBOXFS_RECORD"] != nil {
      return try recorded.joined(separator: "\n").write(
        to: Self.file, atomically: true, encoding: .utf8)
    }
    let written = Dictionary(uniqueKeysWithValues: pageRows)
    for name in names {
      let cells = try #require(written[name], "\(name) is not in docs/escapes.md")
      for (identity, column) in [(Identity.app, 0), (.root, 1)] {
        let found = rows[name]?.results[identity] ?? []
        #expect(found.isSubset(of: words(in: cells[column])), "\(name), as \(identity)")
      }
      let found = rows[name]?.refusals ?? []
      #expect(found.isSubset(of: Set(cells[2].components(separatedBy: ", "))), "\(name), logged")
    }
    #if arch(x86_64)
      #expect(Set(written.keys).subtracting(names) == [])
    #endif
  }

  private func words(in cell: String) -> Set<String> {
    Set(cell.replacing("`", with: "").components(separatedBy: " or "))
  }

  /// The rows of all tables, by the names of the attempts.
  private var pageRows: [(String, [String])] {
    var prefix: String?
    return lines.compactMap { line in
      if line.hasPrefix(Self.marker) { prefix = self.prefix(in: line) }
      guard let prefix, line.hasPrefix("| "), !Self.head.contains(line) else { return nil }
      let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
      return (prefix + cells[0], Array(cells.dropFirst()))
    }
  }

  private func prefix(in line: String) -> String {
    let kind = line.dropFirst(Self.marker.count).prefix { $0 != " " }
    return kind == "-" ? "" : kind + ": "
  }

  /// The page with what was tried.
  private var recorded: [String] {
    var isTable = false
    return lines.flatMap { line in
      isTable = isTable && line.hasPrefix("|")
      if isTable { return [String]() }
      guard line.hasPrefix(Self.marker) else { return [line] }
      isTable = true
      let prefix = prefix(in: line)
      let names = names.filter { prefix.isEmpty ? !$0.contains(": ") : $0.hasPrefix(prefix) }
      return [line] + Self.head + names.map { name in row(name, below: prefix) }
    }
  }

  private func row(_ name: String, below prefix: String) -> String {
    let row = rows[name] ?? Row()
    let results = Identity.allCases.map { identity in
      (row.results[identity] ?? []).sorted().map { ["done", "no"].contains($0) ? $0 : "`\($0)`" }
        .joined(separator: " or ")
    }
    let cells = [String(name.dropFirst(prefix.count))] + results
    return
      "| \((cells + [row.refusals.sorted().joined(separator: ", ")]).joined(separator: " | ")) |"
  }
}
