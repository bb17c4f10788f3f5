// Everyday tools in Documents: the same result as on a plain directory.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Everyday tools", .enabled(if: geteuid() == 0, "needs root"))
struct RunToolsTests {
  private static let missing = ["git", "sqlite3", "python3", "rsync", "setfattr", "tar"].filter {
    !isInstalled($0)
  }

  @Test(
    "git, sqlite3, venv, rsync and tar do in Documents what they do in a plain directory",
    .enabled(if: missing.isEmpty, "not installed: \(missing)"),
    arguments: RunScene.Person.allCases)
  func everydayTools(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let bundle = try scene.makeBundle("Tools")
      try FileManager.default.copyItem(
        atPath: source("everyday-tools.sh"), toPath: bundle + "/everyday-tools.sh")
      chown(bundle + "/everyday-tools.sh", RunScene.uid, RunScene.uid)
      if person == .root { chown(bundle + "/everyday-tools.sh", 0, 0) }
      try scene.install(bundle)

      let plain = scene.path + "/plain"
      try FileManager.default.createDirectory(atPath: plain, withIntermediateDirectories: true)
      chown(plain, RunScene.uid, RunScene.uid)
      let somebody = RunScene(path: scene.path, person: .ordinaryUser)
      let want = try somebody.perform(
        ["sh", bundle + "/everyday-tools.sh", plain], environment: ["HOME": plain])
      #expect(want.status == 0, "\(want.errorText)")

      let got = try scene.run(
        "org.example.Tools",
        [
          "sh", "-c",
          "mkdir Documents/work && exec sh Tools.app/everyday-tools.sh ~/Documents/work",
        ])
      #expect(got.status == 0, "\(got.errorText)")
      #expect(got.text == want.text)
      #expect(got.text.contains("== cp and rm"))
    }
  }
}
