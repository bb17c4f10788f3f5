// A backup and its way back: what is saved comes back as it was, and what is not saved does not.
import BackupFormat
import Glibc
import LinuxKit
import MobileBackup
import Store
import TestSupport
import Testing

@Suite struct BackupTests {
  @Test func bringsBackWhatWasSaved() throws {
    try BackupScene.with { scene in
      try scene.fill()
      let before = try scene.listing()
      let report = try scene.backUp()
      #expect(report.leftOut == [bytes("Documents/pipe")])
      #expect(report.unstable == [])
      for name in ["a.txt", "nothing"] { #expect(unlink("\(scene.data)/Documents/\(name)") == 0) }
      #expect(try run("rm", ["-r", "\(scene.data)/Documents/notes"]).status == 0)
      try scene.write("other", to: ".history")
      try scene.write("more", to: "Documents/more")
      let restored = try scene.restore()
      #expect(restored.remarks == [])
      #expect(unlink("\(scene.data)/Documents/more") == 0)
      let after = try scene.listing()
      // The root itself is made anew, and Documents was changed after the restore.
      // A link that every container has is made anew too.
      let anew = [" d", "Documents d", "Library/ApplicationSupport l"]
      let isContent = { (line: Substring) in !anew.contains { line.hasPrefix($0) } }
      let lines = [before, after].map { Set($0.split(separator: "\n").filter(isContent)) }
      #expect(lines[0].symmetricDifference(lines[1]) == [])
      let colour = try scene.withFile("Documents/a.txt") { file throws(Errno) in
        try file.extendedAttribute(bytes("user.color"))
      }
      #expect(colour == bytes("blue"))
      #expect(access("\(scene.data)/Library/Caches/c", F_OK) != 0, "caches go at a restore")
      #expect(access("\(scene.data)/tmp/t", F_OK) != 0)
    }
  }

  @Test func replacesEverythingOrOnePath() throws {
    try BackupScene.with { scene in
      try scene.fill()
      try scene.backUp()
      try scene.write("changed", to: "Documents/a.txt")
      try scene.write("changed", to: "Documents/nothing")
      let one = try scene.restore { $0.paths = [bytes("Documents/a.txt")] }
      #expect(one.entryCount == 1)
      #expect(try contents("Documents/a.txt", scene) == "hello\n")
      #expect(try contents("Documents/nothing", scene) == "changed")
      #expect(try contents("Library/Caches/c", scene) == "cached", "one path drops no caches")
      _ = try scene.restore { $0.replaces = true }
      #expect(try contents("Documents/nothing", scene) == "")
      #expect(access("\(scene.data)/Documents/marked", F_OK) != 0, "it was not in the backup")
      #expect(throws: BackupError.self) {
        try scene.restore { $0.paths = [bytes("Documents/never")] }
      }
      #expect(throws: BackupError.self) { try scene.restore { $0.sourceIdentifier = "com.other" } }
      #expect(try contents("Documents/a.txt", scene) == "hello\n", "a failure changes nothing")
    }
  }

  @Test func copiesOnlyWhatHasChanged() throws {
    try BackupScene.with { scene in
      try scene.fill()
      // What has just been written may be written again in the same tick of the clock.
      Pause.microseconds(3_100_000)
      let first = try scene.backUp()
      #expect(first.unchangedCount == 0)
      let again = try scene.backUp()
      #expect(again.copiedCount == 0)
      #expect(again.unchangedCount == first.copiedCount)
      #expect(again.entryCount == first.entryCount && again.byteCount == first.byteCount)
      try scene.write("hallo\n", to: "Documents/a.txt", mode: 0o640)
      var times = [timespec(), timespec()]
      times[1].tv_sec = 1_000_000_000
      #expect(utimensat(AT_FDCWD, "\(scene.data)/Documents/a.txt", times, 0) == 0)
      #expect(unlink("\(scene.data)/Documents/nothing") == 0)
      let changed = try scene.backUp()
      #expect(changed.copiedCount == 1, "one file of the same size and a forged time")
      #expect(changed.unchangedCount == first.copiedCount - 2)
      let backup = try BackupDirectory.open(bytes(scene.backups))
      #expect(try backup.verify { _, _ in } == [])
      var paths: [[UInt8]] = []
      try backup.forEachEntry(of: "com.example.Notes") { paths.append($0.path) }
      #expect(!paths.contains(bytes("Documents/nothing")))
      #expect(paths.contains(bytes("Documents/caf") + [0xe9, UInt8(ascii: "%")]))
    }
  }

  @Test func saysWhatIsDamaged() throws {
    try BackupScene.with { scene in
      try scene.fill()
      try scene.backUp()
      let device = try scene.store.deviceIdentifier()
      let find = try run(
        "sh", ["-c", "grep -l hello \"$0\"/??/*", "\(scene.backups)/\(device)"])
      let blob = find.text.split(separator: "\n")[0]
      #expect(try run("sh", ["-c", "printf HELLO > '\(blob)'"]).status == 0)
      let backup = try BackupDirectory.open(bytes(scene.backups))
      let damages = try backup.verify { _, _ in }
      #expect(damages.map(\.path) == [bytes("Documents/a.txt")])
      #expect(try run("sh", ["-c", "printf 'HELLO\\n' > '\(blob)'"]).status == 0)
      #expect(try backup.verify { _, _ in }.map(\.reason) == ["its content is not what was saved"])
      try scene.write("mine", to: "Documents/a.txt")
      let report = try scene.restore()
      #expect(report.remarks.map(\.path) == [bytes("Documents/a.txt")])
      #expect(try contents("Documents/a.txt", scene) == "mine", "what is there stays")
    }
  }

  @Test func isNotMadeTwiceAtOnceAndNotRestoredUnderAView() throws {
    try BackupScene.with { scene in
      try scene.backUp()
      let source = BackupSource(
        device: try scene.store.deviceIdentifier(), hostName: "host", programVersion: "test")
      let first = try BackupWriter(into: bytes(scene.backups), from: source) { _, _ in }
      #expect(throws: BackupError.self) {
        _ = try BackupWriter(into: bytes(scene.backups), from: source) { _, _ in }
      }
      withExtendedLifetime(first) {}
      let lock = try scene.container.directory.openOrCreateFile(bytes("lock"), mode: 0o600)
      #expect(try lock.tryLock(.exclusive))
      #expect(throws: StoreError.self) { try scene.restore() }
    }
  }

  @Test("Two apps in one backup: the one that is not asked for stays in it")
  func keepsOthers() throws {
    try BackupScene.with { scene in
      try scene.write("one", to: "Documents/a")
      try scene.backUp()
      let bundle = try SampleBundle.flat(
        "Other.app", in: scene.path, identifier: "com.example.Other")
      var other = scene
      other.container = try scene.store.container(
        scene.store.install(from: bytes(bundle.path)).identifier)
      try other.write("two", to: "Documents/b")
      try other.backUp()
      let backup = try BackupDirectory.open(bytes(scene.backups))
      let apps = try backup.apps()
      #expect(apps.map(\.identifier) == ["com.example.Notes", "com.example.Other"])
      #expect(apps.map(\.version) == ["1.0", "1.0"])
      #expect(try backup.verify { _, _ in } == [])
      #expect(try other.restore { $0.sourceIdentifier = "com.example.Notes" }.remarks == [])
      #expect(try contents("Documents/a", other) == "one")
    }
  }

  @Test("However a backup is killed, the last one is whole, and the next run finishes")
  func survivesKilling() throws {
    try BackupScene.with { scene in
      try scene.fill()
      try scene.backUp()
      for number in 0..<20 { try scene.write("\(number)", to: "Documents/notes/\(number)") }
      let calls = "renameat2,linkat,mkdirat,unlinkat,fsync,fdatasync,syncfs,pwrite64,ftruncate"
      var round = 0
      while true {
        // Every fifth call at first, which reaches each kind of step in some round.
        let inject = "inject=\(calls):signal=KILL:when=\(1 + round * 5)"
        let outcome = try run(
          "strace",
          [
            "-f", "-o", "/dev/null", "-e", "trace=\(calls)", "-e", inject,
            BuiltPrograms.path("sandboxfs"), "backup", "--store", "\(scene.path)/store",
            "com.example.Notes", scene.backups,
          ])
        let backup = try BackupDirectory.open(bytes("\(scene.backups)/\(deviceName(scene))"))
        #expect(try backup.verify { _, _ in } == [])
        if outcome.status == 0 { break }
        #expect(outcome.status == 137, "\(outcome.errorText)")
        round += 1
        try #require(round < 400)
      }
      #expect(round > 5)
      let backup = try BackupDirectory.open(bytes(scene.backups))
      #expect(try backup.difference(to: scene.subject).changed == [])
      #expect(try backup.difference(to: scene.subject).added == [])
    }
  }

  @Test("What an interrupted run has saved is read before it is taken for saved")
  func looksAtWhatIsLeft() throws {
    try BackupScene.with { scene in
      try scene.fill()
      Pause.microseconds(3_100_000)
      let source = BackupSource(
        device: try deviceName(scene), hostName: "host", programVersion: "test")
      func interrupt() throws {
        let writer = try BackupWriter(into: bytes(scene.backups), from: source) { _, _ in }
        try writer.add(scene.subject)
      }
      try interrupt()
      let left = "\(scene.backups)/\(try deviceName(scene)).new"
      // As a disk leaves it that was pulled out.
      let lost = try run(
        "sh", ["-ec", "f=$(grep -l hello \"$0\"/??/*); truncate -s 0 $f; truncate -s 6 $f", left])
      try #require(lost.status == 0, "\(lost.errorText)")
      let report = try scene.backUp()
      #expect(report.copiedCount == 1)
      #expect(report.unchangedCount > 3)
      #expect(try BackupDirectory.open(bytes(scene.backups)).verify { _, _ in } == [])
    }
  }

  private func deviceName(_ scene: BackupScene) throws -> String {
    try scene.store.deviceIdentifier()
  }
}

func contents(_ name: String, _ scene: BackupScene) throws -> String {
  let file = try "\(scene.data)/\(name)".withCString { path throws(Errno) in
    try Descriptor.open(path, O_RDONLY).release()
  }
  return String(
    decoding: try Descriptor(owning: file).readToEnd(atMost: 1 << 20), as: UTF8.self)
}
