// A manifest with any bytes changed: whatever comes of it, a restore ends, and what it makes is
// harmless.

import BackupFormat
import Glibc
import LinuxKit
import MobileBackup
import Store
import TestSupport
import Testing

/// Numbers that are the same at each run.
private struct RandomSequence: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

@Suite struct DamagedBackupTests {
  /// More of them: `SANDBOXFS_MANIFEST_ROUNDS`, for scripts/soak.
  private static let rounds =
    getenv("SANDBOXFS_MANIFEST_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 50

  @Test("restoring from a manifest with changed bytes makes nothing that leads or reaches outside")
  func changedBytes() throws {
    try BackupScene.with { scene in
      try scene.fill()
      try scene.backUp()
      let path = try bytes("\(scene.backups)/\(scene.store.deviceIdentifier())/Manifest.db")
      let good = try contents(of: path)
      // Where something is: the rest of a page is empty.
      let places = good.indices.filter { good[$0] != 0 && $0 >= 100 }
      var random = RandomSequence(state: 7)
      var restoredCount = 0
      for round in 0..<Self.rounds {
        var damaged = good
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          let place = places.randomElement(using: &random) ?? 0
          let values: [UInt8] = [0, 0x2E, 0x2F, 0x7F, 0xFF, .random(in: 0...255, using: &random)]
          damaged[place] = values.randomElement(using: &random) ?? 0
        }
        try write(damaged, to: path)
        if (try? scene.restore { $0.replaces = true }) != nil { restoredCount += 1 }
        let found = try run(
          "find", [scene.data, "-perm", "/6000", "-o", "-type", "c", "-o", "-lname", "/*"])
        #expect(found.text.isEmpty, "round \(round): \(found.text)")
      }
      #expect(restoredCount > Self.rounds / 10, "some damage goes unnoticed")
      #expect(try run("ls", [scene.path + "/store/staging"]).text.isEmpty)
    }
  }

  private func contents(of path: [UInt8]) throws -> [UInt8] {
    try path.withCPath { path throws(Errno) in
      try Descriptor.open(path, O_RDONLY).readToEnd(atMost: 1 << 24)
    }
  }

  private func write(_ content: [UInt8], to path: [UInt8]) throws {
    try path.withCPath { path throws(Errno) in
      try Descriptor.open(path, O_WRONLY | O_TRUNC).writeAll(content)
    }
  }
}
