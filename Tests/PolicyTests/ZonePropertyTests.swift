// Zones agree with a matcher that looks at every rule for every path.

import Policy
import Testing

struct ZonePropertyTests {
  @Test(arguments: 0..<100)
  func `a path's zone says what the rules say one by one`(_ seed: Int) throws {
    var policy = RandomPolicy(seed: UInt64(seed))
    let engine = try PolicyEngine(layers: policy.layers, bundleName: [])
    var differences: [String] = []
    for _ in 0..<60 {
      let path = policy.path()
      let want = NaiveDecision(policy.rules, at: path)
      let got = engine.attributes(of: engine.zone(of: path))
      if got.written != want.written { differences.append("\(path): \(got) for \(want)") }
      if !isCreationRight(engine, policy.rules, path) { differences.append("create \(path)") }
    }
    #expect(differences.isEmpty)
  }

  private func isCreationRight(
    _ engine: PolicyEngine, _ rules: [NaiveRule], _ path: [[UInt8]]
  ) -> Bool {
    guard let name = path.last else { return true }
    let zone = engine.zone(of: path)
    guard !engine.attributes(of: zone).isStructural else { return true }
    let own = NaiveDecision(rules, at: path)
    let above = NaiveDecision(rules, at: path.dropLast())
    let isAllowed = !own.has(.hidden) && own.has(.write) && above.allowsName(name)
    let verdict = engine.decideCreate(named: name.span, in: zone, kind: .file)
    return written(verdict) == (isAllowed ? "ok" : "EACCES")
  }

  @Test func `a directory that may be renamed keeps what its contents may do`() throws {
    var (allowed, refused) = (0, 0)
    var differences: [String] = []
    for seed in 0..<200 {
      let attributes: [Attribute] = seed % 2 == 0 ? [.write, .read] : [.only, .quota]
      var policy = RandomPolicy(seed: UInt64(seed), ruleCount: 4, attributes: attributes)
      let engine = try PolicyEngine(layers: policy.layers, bundleName: [])
      for _ in 0..<60 {
        let (from, to) = (policy.path(), policy.path())
        guard let name = to.last, !to.starts(with: from) else { continue }
        let verdict = engine.decideRename(
          from: RenamedEntry(zone: engine.zone(of: from), kind: .directory),
          to: RenameTarget(zone: engine.zone(of: to), existing: nil), named: name.span)
        if verdict.denial == .crossZone { refused += 1 }
        guard verdict.isAllowed else { continue }
        allowed += 1
        let below = policy.path()
        let before = NaiveDecision(policy.rules, at: from + below)
        let after = NaiveDecision(policy.rules, at: to + below)
        if before.conduct != after.conduct {
          differences.append("\(seed): \(from) to \(to), \(below)")
        }
      }
    }
    #expect(differences.isEmpty)
    #expect(allowed > 100 && refused > 100, "\(allowed) allowed, \(refused) refused")
  }

  @Test func `zones stay few whatever names an app invents`() throws {
    let engine = try PolicyEngine([ShippedProfiles.standard])
    for index in 0..<5000 {
      let name = Array("name-\(index)".utf8)
      for directory in ["/", "/Documents", "/Library", "/Library/Preferences", "/tmp/a/b"] {
        _ = engine.zone(named: name.span, in: engine.zone(at: directory))
      }
    }
    #expect(engine.zoneCount < 40)
  }
}

extension ZoneAttributes {
  /// Everything that the rules say, as one line.
  fileprivate var written: String {
    let switches: [(Attribute, Bool)] = [
      (.read, read), (.write, write), (.exec, exec), (.append, append), (.hidden, hidden),
      (.sealed, sealed), (.backup, backup),
    ]
    let names = switches.filter(\.1).map(\.0.name).joined(separator: " ")
    return "\(names) \(audit) \(purge.rawValue) \(line(quota))"
  }
}

extension NaiveDecision {
  /// Everything that the rules say, as one line.
  fileprivate var written: String {
    let names = Attribute.allCases.filter { !$0.hasValue && $0 != .audit && has($0) }
    let audit: AuditMode =
      switch switches[.audit] {
      case nil: .denials
      case true?: .everything
      case false?: .silent
      }
    let list = names.map(\.name).joined(separator: " ")
    return "\(list) \(audit) \(purge.rawValue) \(line(quota))"
  }

  /// What decides about operations, as one line.
  fileprivate var conduct: String {
    let switches = Attribute.allCases.filter {
      !$0.hasValue && $0 != .audit && $0 != .backup && has($0)
    }
    let names = ["a", "b", "ab", "zz", "za", ".a", "bab"].filter { allowsName(Array($0.utf8)) }
    return "\(switches.map(\.name)) \(names) \(line(quota))"
  }
}

private func line(_ quota: Quota?) -> String {
  guard let quota else { return "-" }
  return "\(quota.byteCount),\(quota.entryCount.map { "\($0)" } ?? "-")"
}
