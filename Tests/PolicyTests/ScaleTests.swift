// Many rules are one step, too.

import Policy
import Testing

struct ScaleTests {
  @Test func `ten thousand rules of every form decide as they should`() throws {
    var text = "/ read\n"
    for index in 0..<2500 {
      text += "/Documents/dir\(index) -write\n"
      text += "/Documents/*.ext\(index) write\n"
      text += "/Library/pre\(index)-* -write\n"
      text += "name\(index) hidden\n"
    }
    let engine = try PolicyEngine(text)
    let rows = [
      ("/Documents/dir77/x", "shipped.profile:310"),
      ("/Documents/a.ext2499", "shipped.profile:9999"),
      ("/Library/pre1200-x", "shipped.profile:4804"),
    ]
    for (path, rule) in rows {
      let verdict = engine.decide(.write, in: engine.zone(at: path), kind: .file)
      #expect(engine.describe(verdict.rule) == rule, "\(path)")
    }
    let hidden = engine.decide(.lookup, in: engine.zone(at: "/a/b/name9/c"), kind: .file)
    #expect(engine.describe(hidden.rule) == "shipped.profile:41")
  }

  @Test func `an app that meets ever new sets of patterns finds closed doors, not a full host`()
    throws
  {
    let letters = "abcdefghijklmnopqr"
    let text = "/ read\n" + letters.map { "/**/*\($0)*/*/x write" }.joined(separator: "\n")
    let engine = try PolicyEngine(text)
    var isClosed = false
    for bits in 0..<(1 << letters.count) where !isClosed {
      let name = letters.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
      let zone = engine.zone(named: Array(String(name).utf8).span, in: .root)
      let verdict = engine.decide(.read, in: zone, kind: .file)
      isClosed = !verdict.isAllowed
      if isClosed { #expect(engine.describe(verdict.rule) == "built-in:zone-limit") }
    }
    #expect(isClosed)
    #expect(engine.zoneCount <= 1 << 16)
    let known = engine.decide(.read, in: engine.zone(at: "/a"), kind: .file)
    #expect(known.isAllowed)
  }

  @Test func `zones are found from several threads at once`() async throws {
    let engine = try PolicyEngine([ShippedProfiles.standard])
    let paths = ["/Documents/a", "/tmp/b/c", "/Library/Preferences/x", "/Notes.app/y", "/.z"]
    let want = paths.map { engine.attributes(of: engine.zone(at: $0)) }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let fresh = try? PolicyEngine([ShippedProfiles.standard])
          return (0..<200).allSatisfy { _ in
            paths.map { engine.attributes(of: engine.zone(at: $0)) } == want && fresh != nil
          }
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }
}
