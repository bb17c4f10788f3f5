// The errno of each operation in each kind of zone: one object.

import Policy
import Testing

/// One directory for each kind of zone.
let zooProfile = """
  /           read
  /rw         read write backup
  /rw2        read write backup
  /tmp        read write purge=exit
  /audited    read write backup audit
  /ro         read
  /wo         write -read
  /none       -read
  /log        read write append
  /rolog      read append
  /hid        read write hidden
  /exe        read write exec
  /named      read write only=*.txt
  /any        read write backup only=*
  /limited    read write quota=1M
  /Documents  read write backup
  /*.app      read exec sealed -write
  """

/// The columns: what an operation answers in each zone.
private let zones = [
  "/rw/x", "/ro/x", "/wo/x", "/none/x", "/log/x", "/rolog/x", "/hid/x", "/exe/x", "/Documents",
  "/Notes.app", "/Notes.app/x", "/Other.app/x",
]

private let table: [(Operation, String)] = [
  // rw, ro, wo, none, log, rolog, hid, exe, Documents, Notes.app, in it, Other.app
  (.lookup, "ok ok ok ok ok ok ENOENT ok ok ok ok ok"),
  (.readAttributes, "ok ok ok ok ok ok ENOENT ok ok ok ok ok"),
  (.list, "ok ok EACCES EACCES ok ok ENOENT ok ok ok ok ok"),
  (.read, "ok ok EACCES EACCES ok ok ENOENT ok ok ok ok ok"),
  (.write, "ok EACCES ok EACCES EPERM EACCES ENOENT ok ok EROFS EROFS EACCES"),
  (.append, "ok EACCES ok EACCES ok EACCES ENOENT ok ok EROFS EROFS EACCES"),
  (.create, "ok EACCES ok EACCES ok EACCES EACCES ok EPERM EPERM EROFS EACCES"),
  (.remove, "ok EACCES ok EACCES EPERM EACCES ENOENT ok EPERM EPERM EROFS EACCES"),
  (.setattr, "ok EACCES ok EACCES ok EACCES ENOENT ok ok EROFS EROFS EACCES"),
  (.exec, "EACCES EACCES EACCES EACCES EACCES EACCES ENOENT ok EACCES ok ok ok"),
  (.rename, "ok EACCES ok EACCES EPERM EACCES ENOENT ok EPERM EPERM EROFS EACCES"),
  (.link, "ok EACCES ok EACCES ok EACCES EACCES ok EPERM EPERM EROFS EACCES"),
  (.exchange, "ok EACCES ok EACCES EPERM EACCES ENOENT ok EPERM EPERM EROFS EACCES"),
]

struct DecisionTests {
  private let engine: PolicyEngine

  init() throws { engine = try PolicyEngine(zooProfile) }

  @Test(arguments: table)
  private func `each operation answers in each kind of zone`(
    _ operation: Operation, _ row: String
  ) {
    let want = row.split(separator: " ").map(String.init)
    let got = zones.map { zone in
      written(engine.decide(operation, in: engine.zone(at: zone), kind: .file))
    }
    #expect(got == want, "\(operation.name)")
  }

  @Test(arguments: Operation.allCases)
  func `an operation is called as its case, and what reads attributes stat`(_ row: Operation) {
    #expect(row.name == (row == .readAttributes ? "stat" : "\(row)"))
    #expect(Operation(name: row.name) == row)
  }

  @Test func `the table has a row for every operation`() {
    #expect(Set(table.map(\.0)) == Set(Operation.allCases))
  }

  @Test(arguments: [
    ("/rw/x", "EPERM"), ("/ro/x", "EPERM"), ("/hid/x", "EACCES"), ("/Notes.app/x", "EROFS"),
  ])
  func `a device node is never made`(_ path: String, _ want: String) {
    let verdict = engine.decideCreate(
      named: lastName(path).span, in: engine.zone(at: path), kind: .device)
    #expect(written(verdict) == want)
  }

  @Test(arguments: NodeKind.allCases)
  func `every other kind of node is made where files are`(_ kind: NodeKind) {
    let verdict = engine.decideCreate(
      named: Array("x".utf8).span, in: engine.zone(at: "/rw/x"), kind: kind)
    #expect(written(verdict) == (kind == .device ? "EPERM" : "ok"))
  }

  @Test(arguments: [
    "/", "/Documents", "/Library", "/Library/Application Support", "/Library/ApplicationSupport",
    "/Library/Caches", "/Library/Preferences", "/tmp", "/Notes.app",
  ])
  func `a structural entry stays, by a rule that is built in`(_ path: String) throws {
    let engine = try PolicyEngine("/ read write")
    let zone = engine.zone(at: path)
    #expect(engine.attributes(of: zone).isStructural)
    for operation in [Operation.remove, .rename, .exchange, .create] {
      let verdict = engine.decide(operation, in: zone, kind: .directory)
      #expect(verdict.denial == .notPermitted)
      #expect(engine.describe(verdict.rule) == "built-in:structural")
    }
    let isBundle = path == "/Notes.app"
    #expect(
      written(engine.decide(.setattr, in: zone, kind: .directory)) == (isBundle ? "EROFS" : "ok"))
    #expect(!engine.attributes(of: engine.zone(at: path + "/x")).isStructural)
  }

  @Test func `the bundle is read-only even where a rule gives write`() throws {
    let engine = try PolicyEngine("/ read write exec")
    let verdict = engine.decide(.write, in: engine.zone(at: "/Notes.app/x"), kind: .file)
    #expect(verdict.denial == .readOnly)
    #expect(engine.describe(verdict.rule) == "built-in:bundle")
  }

  @Test func `without a bundle nothing is one`() throws {
    let engine = try PolicyEngine(
      layers: [profile(.shipped, "/ read write")], bundleName: [])
    let verdict = engine.decide(.write, in: engine.zone(at: "/Notes.app/x"), kind: .file)
    #expect(verdict.isAllowed)
  }

  @Test func `what no rule grants is refused`() throws {
    let engine = try PolicyEngine("")
    let verdict = engine.decide(.read, in: engine.zone(at: "/a"), kind: .file)
    #expect(written(verdict) == "EACCES")
    #expect(engine.describe(verdict.rule) == "built-in:unset")
    #expect(engine.decide(.lookup, in: engine.zone(at: "/a"), kind: .file).isAllowed)
  }

  @Test func `names are bytes: no two spellings of a letter are one`() throws {
    let engine = try PolicyEngine("/caf\u{E9} read")
    let composed = engine.zone(of: [Array("caf\u{E9}".utf8)])
    let decomposed = engine.zone(of: [Array("cafe\u{301}".utf8)])
    #expect(engine.attributes(of: composed).read)
    #expect(!engine.attributes(of: decomposed).read)
  }
}
