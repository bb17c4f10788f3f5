// Runs of which nothing is left: in a copy of a container, and of a bundle that is not installed.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A run that leaves nothing", .enabled(if: geteuid() == 0, "needs root"))
struct RunEphemeralTests {
  private func left(_ scene: RunScene) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: scene.store + "/ephemeral")) ?? []
  }

  @Test(
    "begins with what the container holds, and changes none of it",
    arguments: RunScene.Person.allCases)
  func copies(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes", script: "#!/bin/sh\ncat Documents/f\n")
      // An ordinary user is shut out too.
      let shut = person == .root ? "0" : "500"
      _ = try scene.script(
        app, "echo kept >Documents/f; mkdir Documents/shut; chmod \(shut) Documents/shut")
      let running = try scene.startSleeping(app)
      defer { running.end() }
      func apart(_ words: [String]) throws -> Outcome {
        try scene.run(app, options: ["--ephemeral"], words)
      }
      let outcome = try apart([
        "sh", "-c",
        "cat Documents/f; ls -m tmp | grep -c ready; id -u; echo new >Documents/f; cat Documents/f; "
          + "(echo >Notes.app/x) 2>/dev/null || echo sealed; exit 5",
      ])
      let uid = try scene.script(app, "id -u")
      #expect(outcome.text == "kept\n0\n\(uid)new\nsealed\n", "\(outcome.errorText)")
      #expect(outcome.status == 5)
      #expect(outcome.errorText == "")
      #expect(try apart([]).text == "kept\n")
      #expect(
        try scene.script(app, "cat Documents/f; stat -c %a Documents/shut") == "kept\n\(shut)\n")
      #expect(left(scene) == [])
      #expect(access(scene.store + "/ephemeral", F_OK) != 0)
      #expect(try scene.run("org.example.None", options: ["--ephemeral"]).status == 125)
    }
  }

  @Test(
    "is cleared away by the next command when it was killed",
    arguments: RunScene.Person.allCases)
  func killed(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      let script = "mkdir -m 0 Documents/shut; echo $$; sleep 60"
      let runs = try (0..<2).map { _ in
        try scene.start(app, options: ["--ephemeral"], ["sh", "-c", script])
      }
      for run in runs { try run.wait { run.text.hasSuffix("\n") } }
      #expect(left(scene).count == 2)
      runs[0].signal(SIGKILL)
      _ = try runs[0].exitStatus()
      // The kernel ends the processes inside a moment later, and the view is in use until then.
      for _ in 0..<100 where left(scene).count > 1 {
        #expect(try scene.perform([scene.program, "list"]).status == 0)
        usleep(20_000)
      }
      #expect(left(scene).count == 1, "the other one goes on")
      runs[1].end()
      #expect(left(scene) == [])
      #expect(try scene.mounts(of: app).isEmpty)
    }
  }

  @Test(
    "is that of a bundle by its path, judged as by an install",
    arguments: RunScene.Person.allCases)
  func bundles(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let bundle = try scene.makeBundle(
        "Notes", script: "#!/bin/sh\necho $0; ls -m Documents; touch Documents/f\n")
      for _ in 0..<2 {
        let outcome = try scene.run(bundle + "/")
        #expect(outcome.text == "/home/app/Notes.app/Notes\n", "\(outcome.errorText)")
        #expect(outcome.status == 0)
      }
      #expect(left(scene) == [])
      #expect(try scene.perform([scene.program, "list", "-q"]).text == "")
      let signed = scene.words([
        "sh", "-c", "'\(scene.program)' seal '\(bundle)'; echo >>'\(bundle)/Notes'",
      ])
      #expect(
        try run(signed[0], Array(signed.dropFirst()), environment: scene.environment).status == 0)
      let modified = try scene.run(bundle)
      #expect(modified.status == 125)
      #expect(modified.errorText.contains("modified"), "\(modified.errorText)")
      #expect(try scene.run("./none.app").errorText.contains("No such file"))
      #expect(left(scene) == [])
    }
  }
}
