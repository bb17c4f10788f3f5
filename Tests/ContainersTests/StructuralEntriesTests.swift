// What the layout says always exists is what the policy keeps.

import Containers
import Policy
import Testing

struct StructuralEntriesTests {
  @Test(arguments: ContainerLayout.structuralEntries.map(\.path))
  func `the policy keeps each entry that the layout says always exists`(_ path: String) throws {
    let engine = try PolicyEngine(layers: [ShippedProfiles.standard], bundleName: [])
    var zone = ZoneID.root
    for name in path.split(separator: "/") {
      let bytes = Array(name.utf8)
      zone = engine.zone(named: bytes.span, in: zone)
    }
    #expect(engine.attributes(of: zone).isStructural)
    #expect(engine.decide(.remove, in: zone, kind: .directory).denial == .notPermitted)
  }
}
