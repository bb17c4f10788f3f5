// What the tests of the policy share: engines from texts, zones from paths.

import Policy

/// A layer with its text.
func profile(_ rank: ProfileSource.Rank, _ text: String, name: String? = nil) -> ProfileSource {
  ProfileSource(
    rank: rank, name: Array((name ?? "\(rank.name).profile").utf8), text: Array(text.utf8))
}

extension PolicyEngine {
  /// An engine of one profile, for a bundle `Notes.app`.
  convenience init(_ text: String) throws {
    try self.init([profile(.shipped, text)])
  }

  convenience init(_ layers: [ProfileSource]) throws {
    try self.init(layers: layers, bundleName: Array("Notes.app".utf8))
  }

  /// The zone of a path, one step after the other.
  func zone(at path: String) -> ZoneID {
    zone(of: path.split(separator: "/").map { Array($0.utf8) })
  }

  func zone(of names: [[UInt8]]) -> ZoneID {
    var zone = ZoneID.root
    for name in names { zone = self.zone(named: name.span, in: zone) }
    return zone
  }
}

/// The last name of a path.
func lastName(_ path: String) -> [UInt8] {
  path.split(separator: "/").last.map { Array($0.utf8) } ?? []
}

/// How a verdict is written in the tables: an errno's name, or `ok`.
func written(_ verdict: Verdict) -> String { verdict.denial?.errnoName ?? "ok" }
