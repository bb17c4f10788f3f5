// What one does beside a run: look at it, join it, end it.

import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite("Beside a run", .enabled(if: geteuid() == 0, "needs root"))
struct RunBesideTests {
  @Test("ps shows an app's processes while it runs", arguments: RunScene.Person.allCases)
  func processes(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Shown")
      let run = try scene.startSleeping(app, "exec sleep 61")
      let shown = try scene.perform([scene.program, "ps", "--json", app]).text
      let rows = try #require(
        try JSONSerialization.jsonObject(with: Data(shown.utf8)) as? [[String: Any]])
      #expect(rows.count == 1)
      #expect(rows.first?["command"] as? [String] == ["sleep", "61"])
      #expect(rows.first?["pidInside"] as? Int == 2)
      let pid = try #require(rows.first?["pid"] as? Int)
      #expect(RunningProcess(pid: Int32(pid)).name == Array("sleep".utf8))
      run.end()
      #expect(
        try scene.perform([scene.program, "ps", app]).text == "no app of what was named runs\n")
    }
  }

  @Test(
    "exec joins it: same namespaces, no right more, its own status",
    arguments: RunScene.Person.allCases)
  func joining(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Joined")
      let run = try scene.startSleeping(app, "readlink /proc/self/ns/* >tmp/one; sleep 60")
      defer { run.end() }
      try run.wait { (try? self.lines(scene, app, "tmp/one").count) ?? 0 > 8 }
      let joined = try scene.perform(
        [
          scene.program, "exec", "--env", "A=b", "--cwd", "Documents", app, "--", "sh", "-ec",
          "readlink /proc/self/ns/* >/tmp/two; grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status; "
            + "pwd; echo $A $XDG_CACHE_HOME; ls /proc/self/fd | tr '\\n' ' '; exit 7",
        ])
      #expect(joined.status == 7, "\(joined.errorText)")
      #expect(
        joined.text == """
          CapInh:\t0000000000000000
          CapPrm:\t0000000000000000
          CapEff:\t0000000000000000
          CapBnd:\t0000000000000000
          CapAmb:\t0000000000000000
          NoNewPrivs:\t1
          Seccomp:\t2
          /home/app/Documents
          b /home/app/Library/Caches
          0 1 2 3\u{20}
          """)
      #expect(try lines(scene, app, "tmp/two") == lines(scene, app, "tmp/one"))
    }
  }

  @Test("exec says what is not there as a shell does, and that nothing runs")
  func failures() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Absent")
      func exec(_ command: String...) throws -> Outcome {
        try scene.perform([scene.program, "exec", app, "--"] + command)
      }
      let none = try exec("true")
      #expect(none.status == 125)
      #expect(
        none.errorText
          == "sandboxfs exec: \(app) does not run; start it with 'sandboxfs run'\n")
      let run = try scene.startSleeping(app)
      defer { run.end() }
      #expect(try exec("none").status == 127)
      #expect(try exec("Documents").status == 127)
      #expect(try exec("/home/app/Documents").status == 126)
      #expect(try exec("sh", "-c", "kill -KILL $$").status == 137)
    }
  }

  @Test("a program that a link of the app's leads to ourselves is not ours")
  func ownProgram() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Linked")
      let run = try scene.startSleeping(app, "ln -s /proc/self/exe Documents/x; sleep 60")
      defer { run.end() }
      try run.wait { readlinkable(scene.data(app, "Documents/x")) }
      let joined = try scene.perform([
        scene.program, "exec", app, "--", "/home/app/Documents/x", "-c",
        "readlink /proc/self/exe",
      ])
      // The link leads to the shell that executes it.
      #expect(!joined.text.contains("sandboxfs"))
      #expect(joined.text.hasPrefix("/usr/bin/"))
    }
  }

  @Test("kill ends all its processes, also those that take no notice")
  func ending() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Killed")
      let kind = try scene.startSleeping(app)
      #expect(try scene.perform([scene.program, "kill", app]).status == 0)
      #expect(try kind.exitStatus() == 143)
      let deaf = try scene.startSleeping(app, "trap '' TERM; while :; do sleep 1; done")
      #expect(try scene.perform([scene.program, "kill", "--now", app]).status == 0)
      #expect(try deaf.exitStatus() == 137)
      #expect(try scene.perform([scene.program, "kill", app]).status == 0)
    }
  }

  @Test(
    "processes in pid namespaces that the app has made are its own",
    arguments: RunScene.Person.allCases)
  func nested(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Nested")
      let run = try scene.start(
        app, options: ["--allow", "userns"],
        ["unshare", "-Urpf", "sh", "-c", "touch tmp/ready; exec sleep 4718"])
      try run.wait { access(scene.data(app, "tmp/ready"), F_OK) == 0 }
      func rows() throws -> [[String: Any]] {
        let shown = try scene.perform([scene.program, "ps", "--json", app]).text
        return try #require(
          try JSONSerialization.jsonObject(with: Data(shown.utf8)) as? [[String: Any]])
      }
      func sleeping() throws -> [String: Any]? {
        try rows().first { $0["command"] as? [String] == ["sleep", "4718"] }
      }
      try run.wait { (try? sleeping()) != nil }
      let sleeping = try #require(try sleeping())
      #expect(sleeping["pidInside"] as? Int == 3, "as the run's processes know it")
      let pid = Int32(try #require(sleeping["pid"] as? Int))
      #expect(RunningProcess(pid: pid).numbers.count == 3)
      #expect(try scene.perform([scene.program, "kill", "--now", app]).status == 0)
      #expect(try run.exitStatus() == 137)
      #expect(RunningProcess(pid: pid).numbers.isEmpty)
    }
  }

  @Test("run tells who was started and how it ended, and takes variables and a directory")
  func options() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Told")
      let outcome = try scene.perform([
        "sh", "-c",
        "exec 5>\"$0\"; exec \"$1\" run --json-status 5 -e X=1 -e HOME=/tmp -e NONE --cwd /usr "
          + "\"$2\" -- sh -c 'echo $X $HOME ${NONE-none}; pwd; exit 3'",
        scene.path + "/status", scene.program, app,
      ])
      #expect(outcome.status == 3, "\(outcome.errorText)")
      #expect(outcome.text == "1 /tmp none\n/usr\n")
      let status = try String(contentsOfFile: scene.path + "/status", encoding: .utf8)
      #expect(status.wholeMatch(of: /\{"child-pid":\d+\}\n\{"exit-code":3\}\n/) != nil)
    }
  }

  @Test("a directory that is not there is named, and a bundle that lies here")
  func named() throws {
    try withRunScene(.root) { scene in
      let bundle = try scene.makeBundle("Named", script: "#!/bin/sh\nsleep 60\n")
      try scene.install(bundle)
      let app = "org.example.Named"
      let run = try scene.startSleeping(app)
      defer { run.end() }
      for (place, isThere) in [
        ("none", false), ("/usr/none", false), ("/root", false), ("/tmp/none", false),
        ("Named.app/Named", false), ("Named.app", true), ("/tmp", true), ("/", true),
        ("/usr/bin", true), ("/etc/ssl", true), ("Library/Caches", true),
      ] {
        let outcome = try scene.run(app, options: ["--cwd", place], ["pwd"])
        let path = place.hasPrefix("/") ? place : "/home/app/" + place
        let line = "sandboxfs run: --cwd: there is no directory '\(path)' in the container\n"
        #expect(outcome.status == (isThere ? 0 : 125), "\(place): \(outcome.errorText)")
        #expect(outcome.errorText == (isThere ? "" : line))
      }
      let joined = try scene.perform([scene.program, "exec", "--cwd", "none", app, "--", "pwd"])
      #expect(joined.status == 125)
      #expect(
        joined.errorText == "sandboxfs exec: --cwd: '/home/app/none' in the container: "
          + "No such file or directory\n")
      let script = """
        cd "$(dirname "$1")"; "$0" run Named.app; echo $?; "$0" run --show-environment ./Named.app
        """
      let here = try scene.perform(["sh", "-c", script, scene.program, bundle])
      #expect(
        here.errorText == "sandboxfs run: no app is called 'Named.app'; './Named.app' runs the "
          + "bundle that lies here\n")
      #expect(here.text.hasPrefix("125\n") && here.text.contains("HOME=/home/app\n"))
    }
  }

  private func readlinkable(_ path: String) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
  }

  private func lines(_ scene: RunScene, _ app: String, _ path: String) throws -> [Substring] {
    try String(contentsOfFile: scene.data(app, path), encoding: .utf8).split(separator: "\n")
  }
}
