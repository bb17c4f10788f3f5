// Layers are read in the design's order, and what one took another may or may not give back.

import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let label: String
  let layers: [ProfileSource]
  let path: String
  let want: @Sendable (ZoneAttributes) -> Bool

  init(
    _ label: String, _ layers: [ProfileSource], _ path: String,
    _ want: @escaping @Sendable (ZoneAttributes) -> Bool
  ) {
    self.label = label
    self.layers = layers
    self.path = path
    self.want = want
  }

  var testDescription: String { label }
}

private let rows = [
  Row(
    "a later line wins",
    [profile(.shipped, "/a write\n/a -write\n")], "/a"
  ) { !$0.write },
  Row(
    "a later line wins even if it is less specific",
    [profile(.shipped, "/a/b/c write\n/a -write\n")], "/a/b/c"
  ) { !$0.write },
  Row(
    "attributes are decided one by one",
    [profile(.shipped, "/a read write\n/a/b -write\n")], "/a/b/c"
  ) { $0.read && !$0.write },
  Row(
    "the order of ranks counts, not that of the arguments",
    [profile(.container, "/a write"), profile(.shipped, "/a -write")], "/a"
  ) { $0.write },
  Row(
    "the container has the last word before limits",
    [profile(.administrator, "/a -write"), profile(.container, "/a write")], "/a"
  ) { $0.write },
  Row(
    "the bundle takes from the shipped profile",
    [profile(.shipped, "/a write"), profile(.bundle, "/a -write")], "/a"
  ) { !$0.write },
  Row(
    "the administrator gives back what the bundle took",
    [
      profile(.shipped, "/a write"), profile(.bundle, "/a -write append"),
      profile(.administrator, "/a write -append"),
    ], "/a"
  ) { $0.write && !$0.append },
  Row(
    "nobody gives back what limits took",
    [
      profile(.limits, "/a -write hidden"), profile(.container, "/a/b write -hidden"),
      profile(.administrator, "** write -hidden"),
    ], "/a/b"
  ) { !$0.write && $0.hidden },
  Row(
    "limits take the smallest quota",
    [profile(.container, "/a quota=10M"), profile(.limits, "/a quota=5M,100\n/ quota=7M,50")],
    "/a"
  ) { $0.quota == Quota(byteCount: 5 << 20, entryCount: 50) },
  Row(
    "limits do not raise a quota",
    [profile(.container, "/a quota=1M"), profile(.limits, "/a quota=5M")],
    "/a"
  ) { $0.quota == Quota(byteCount: 1 << 20) },
  Row(
    "an administrator's quota replaces the bundle's",
    [profile(.bundle, "/a quota=1M"), profile(.administrator, "/a quota=5M")],
    "/a"
  ) { $0.quota == Quota(byteCount: 5 << 20) },
  Row(
    "what a bundle says about purging comes to what there is",
    [profile(.shipped, "/tmp purge=pressure"), profile(.bundle, "/tmp purge=exit")],
    "/tmp/a"
  ) { $0.purge == [.exit, .pressure] },
  Row(
    "a later purge replaces an earlier one",
    [profile(.shipped, "/tmp purge=pressure\n/tmp purge=exit")],
    "/tmp/a"
  ) { $0.purge == .exit },
  Row(
    "-purge takes all of it",
    [profile(.shipped, "/tmp purge=pressure\n/tmp/a -purge")],
    "/tmp/a"
  ) { $0.purge == [] },
  Row("audit is for what is allowed too", [profile(.shipped, "/a audit")], "/a") {
    $0.audit == .everything
  },
  Row("-audit is silence", [profile(.shipped, "/a -audit")], "/a") { $0.audit == .silent },
  Row("without a rule denials are logged", [], "/a") { $0.audit == .denials },
]

struct LayersTests {
  @Test(arguments: rows)
  private func `layers say what they may`(_ row: Row) throws {
    let engine = try PolicyEngine(row.layers)
    let attributes = engine.attributes(of: engine.zone(at: row.path))
    #expect(row.want(attributes), "\(attributes)")
  }

  @Test(arguments: [
    ("a.txt", "ok"), ("a.doc", "EACCES"), ("b.txt", "EACCES"), ("b.doc", "EACCES"),
  ])
  func `only= of limits and of others must both allow a name`(
    _ name: String, _ want: String
  ) throws {
    let engine = try PolicyEngine([
      profile(.shipped, "/d read write only=*.txt"), profile(.limits, "/d only=a.*"),
    ])
    let zone = engine.zone(at: "/d/" + name)
    let verdict = engine.decideCreate(named: Array(name.utf8).span, in: zone, kind: .file)
    #expect(written(verdict) == want)
  }

  @Test func `a name that only= refuses is refused by the rule that does not list it`() throws {
    let engine = try PolicyEngine([
      profile(.shipped, "/d read write only=*.txt"), profile(.limits, "/d only=a.*"),
    ])
    for (name, rule) in [("b.txt", "limits.profile:1"), ("a.doc", "shipped.profile:1")] {
      let zone = engine.zone(at: "/d/" + name)
      let verdict = engine.decideCreate(named: Array(name.utf8).span, in: zone, kind: .file)
      #expect(engine.describe(verdict.rule) == rule)
      #expect(verdict.attribute == .only)
    }
  }

  @Test func `only= is about names in a directory, not about the directory's own name`() throws {
    let engine = try PolicyEngine("/ read write\n/d only=*.txt")
    let rows = [("/d", "ok"), ("/d/e", "EACCES"), ("/d/e.txt", "ok"), ("/d/e.txt/f", "EACCES")]
    for (path, want) in rows {
      let verdict = engine.decideCreate(
        named: lastName(path).span, in: engine.zone(at: path), kind: .directory)
      #expect(written(verdict) == want, "\(path)")
    }
  }
}
