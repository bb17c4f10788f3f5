// The errno of renames, exchanges and links, from each kind of zone to each other.

import Policy
import Testing

private struct Rename: Sendable, CustomTestStringConvertible {
  /// What is known of the renamed entry.
  enum State: Sendable { case plain, directory, linked, open, writing, replacing }

  let state: State
  let from: String
  let to: String
  let want: String

  init(_ state: State, _ from: String, _ to: String, _ want: String) {
    self.state = state
    self.from = from
    self.to = to
    self.want = want
  }

  var testDescription: String { "\(state) \(from) to \(to)" }
}

private let renames = [
  Rename(.plain, "/rw/a", "/rw/b", "ok"),
  Rename(.plain, "/rw/a", "/rw2/b", "ok"),
  Rename(.plain, "/rw/a", "/ro/b", "EACCES"),
  Rename(.plain, "/ro/a", "/rw/b", "EACCES"),
  Rename(.plain, "/hid/a", "/rw/b", "ENOENT"),
  Rename(.plain, "/rw/a", "/hid/b", "EACCES"),
  Rename(.replacing, "/rw/a", "/hid/b", "EACCES"),
  Rename(.plain, "/rw/a", "/Documents", "EPERM"),
  Rename(.replacing, "/rw/a", "/Documents", "EPERM"),
  Rename(.directory, "/Documents", "/rw/b", "EPERM"),
  Rename(.directory, "/Notes.app", "/rw/b", "EPERM"),
  Rename(.directory, "/rw/a", "/Notes.app", "EPERM"),
  Rename(.plain, "/Notes.app/a", "/rw/b", "EROFS"),
  Rename(.plain, "/rw/a", "/Notes.app/b", "EROFS"),
  Rename(.plain, "/Notes.app/a", "/Notes.app/b", "EROFS"),
  // Zones that differ in backup, purge or audit only.
  Rename(.directory, "/rw/a", "/tmp/b", "ok"),
  Rename(.linked, "/rw/a", "/tmp/b", "ok"),
  Rename(.writing, "/tmp/a", "/rw/b", "ok"),
  Rename(.directory, "/rw/a", "/audited/b", "ok"),
  Rename(.directory, "/rw/a", "/any/b", "ok"),
  // Zones that differ in something else.
  Rename(.directory, "/rw/a", "/exe/b", "EXDEV"),
  Rename(.linked, "/rw/a", "/exe/b", "EXDEV"),
  Rename(.writing, "/rw/a", "/exe/b", "EXDEV"),
  Rename(.open, "/rw/a", "/exe/b", "ok"),
  Rename(.plain, "/rw/a", "/exe/b", "ok"),
  Rename(.replacing, "/rw/a", "/exe/b", "ok"),
  Rename(.directory, "/rw/a", "/limited/b", "EXDEV"),
  Rename(.plain, "/rw/a", "/limited/b", "ok"),
  Rename(.plain, "/rw/a", "/wo/b", "ok"),
  Rename(.plain, "/wo/a", "/rw/b", "EACCES"),
  Rename(.plain, "/wo/a", "/wo/b", "ok"),
  // Names.
  Rename(.plain, "/rw/a", "/named/b.txt", "ok"),
  Rename(.plain, "/rw/a", "/named/b", "EACCES"),
  Rename(.directory, "/rw/a", "/named/b", "EACCES"),
  Rename(.directory, "/rw/a", "/named/b.txt", "EXDEV"),
  Rename(.plain, "/named/a.txt", "/named/b", "EACCES"),
  Rename(.plain, "/named/a.txt", "/rw/b", "ok"),
  // Append.
  Rename(.plain, "/log/a", "/rw/b", "EPERM"),
  Rename(.plain, "/log/a", "/log/b", "EPERM"),
  Rename(.open, "/log/a", "/rw/b", "EPERM"),
  Rename(.plain, "/rw/a", "/log/b", "ok"),
  Rename(.open, "/rw/a", "/log/b", "EXDEV"),
  Rename(.writing, "/rw/a", "/log/b", "EXDEV"),
  Rename(.linked, "/rw/a", "/log/b", "EXDEV"),
  Rename(.directory, "/rw/a", "/log/b", "EXDEV"),
  Rename(.replacing, "/rw/a", "/log/b", "EPERM"),
]

private let exchanges: [(String, String, String)] = [
  ("/rw/a", "/rw/b", "ok"),
  ("/rw/a", "/rw2/b", "ok"),
  ("/rw/a", "/Documents/b", "ok"),
  ("/rw/a", "/tmp/b", "EACCES"),
  ("/rw/a", "/exe/b", "EACCES"),
  ("/rw/a", "/ro/b", "EACCES"),
  ("/rw/a", "/hid/b", "ENOENT"),
  ("/rw/a", "/Documents", "EPERM"),
  ("/rw/a", "/Notes.app", "EPERM"),
  ("/rw/a", "/Notes.app/b", "EROFS"),
  ("/rw/a", "/log/b", "EPERM"),
  ("/log/a", "/log/b", "EPERM"),
]

private let links: [(String, String, String)] = [
  ("/rw/a", "/rw/b", "ok"),
  ("/rw/a", "/rw2/b", "ok"),
  ("/rw/a", "/any/b", "ok"),
  ("/log/a", "/log/b", "ok"),
  ("/rw/a", "/tmp/b", "EXDEV"),
  ("/rw/a", "/audited/b", "EXDEV"),
  ("/rw/a", "/exe/b", "EXDEV"),
  ("/ro/a", "/rw/b", "EXDEV"),
  ("/rw/a", "/ro/b", "EACCES"),
  ("/rw/a", "/hid/b", "EACCES"),
  ("/hid/a", "/rw/b", "ENOENT"),
  ("/named/a.txt", "/named/b", "EACCES"),
  ("/rw/a", "/Notes.app/b", "EROFS"),
  ("/Notes.app/a", "/Notes.app/b", "EROFS"),
  ("/Notes.app/a", "/rw/b", "EXDEV"),
]

struct TwoPathDecisionTests {
  private let engine: PolicyEngine

  init() throws { engine = try PolicyEngine(zooProfile) }

  @Test(arguments: renames)
  private func `a rename answers by both of its zones`(_ row: Rename) {
    #expect(written(rename(engine, row)) == row.want)
  }

  private func rename(_ engine: PolicyEngine, _ row: Rename) -> Verdict {
    let entry = RenamedEntry(
      zone: engine.zone(at: row.from), kind: row.state == .directory ? .directory : .file,
      hasSeveralLinks: row.state == .linked,
      isOpen: row.state == .open || row.state == .writing,
      isOpenForWriting: row.state == .writing)
    let target = RenameTarget(
      zone: engine.zone(at: row.to), existing: row.state == .replacing ? .file : nil)
    return engine.decideRename(from: entry, to: target, named: lastName(row.to).span)
  }

  @Test(arguments: exchanges)
  private func `an exchange answers by both of its zones`(
    _ from: String, _ to: String, _ want: String
  ) {
    let one = RenamedEntry(zone: engine.zone(at: from), kind: .file)
    let other = RenamedEntry(zone: engine.zone(at: to), kind: .file)
    #expect(written(engine.decideExchange(one, other)) == want)
    #expect(written(engine.decideExchange(other, one)) == want)
  }

  @Test(arguments: links)
  private func `a link answers by both of its zones`(_ from: String, _ to: String, _ want: String) {
    let verdict = engine.decideLink(
      from: engine.zone(at: from), kind: .file, to: engine.zone(at: to),
      named: lastName(to).span)
    #expect(written(verdict) == want)
  }

  @Test(arguments: [
    ("/d/a/secret -write", "/d/a", "/d/b", "EXDEV"),
    ("/d/a/secret -backup", "/d/a", "/d/b", "ok"),
    ("/d/*/secret -write", "/d/a", "/d/b", "ok"),
    ("/d/a/** -write", "/d/a", "/d/b", "EXDEV"),
    ("*.key hidden", "/d/a", "/e/b", "ok"),
    ("*.key hidden", "/d/a", "/d/b.key", "EACCES"),
    ("*.key -write\n/d/a write", "/d/a", "/e/b", "EXDEV"),
    ("/d/a write\n*.key -write", "/d/a", "/e/b", "ok"),
  ])
  func `a directory moves only where the same rules wait for its contents`(
    _ rules: String, _ from: String, _ to: String, _ want: String
  ) throws {
    let engine = try PolicyEngine("/d read write\n/e read write\n" + rules)
    #expect(written(rename(engine, Rename(.directory, from, to, want))) == want)
  }

  @Test func `what waits for contents counts behind limits too`() throws {
    let engine = try PolicyEngine([
      profile(.shipped, "/ read write\n*.d only=x\n/b -only"), profile(.limits, "/** only=y"),
    ])
    let verdict = rename(engine, Rename(.directory, "/a/y", "/b/y", ""))
    #expect(verdict.denial == .crossZone)
  }

  @Test func `an errno for two zones names the rule that makes them differ`() {
    let verdict = rename(engine, Rename(.directory, "/rw/a", "/exe/b", "EXDEV"))
    #expect(engine.describe(verdict.rule) == "shipped.profile:12")
    #expect(verdict.attribute == .exec)
  }
}
