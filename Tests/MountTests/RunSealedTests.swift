// Launching what is sealed: quickly if the bundle is large, and not at all if it was changed.

import Foundation
import Glibc
import LinuxKit
import Mounting
import TestSupport
import Testing

@Suite("`sandboxfs run` of a sealed bundle", .enabled(if: geteuid() == 0, "needs root"))
struct RunSealedTests {
  private static let largeByteCount = 48 << 20

  /// Installs an app with a file that is large and takes no room.
  private func installLarge(_ scene: RunScene) throws -> String {
    let bundle = try scene.makeBundle("Notes", script: "#!/bin/sh\necho hello\n")
    try #require(
      try run("truncate", ["-s", "\(Self.largeByteCount)", bundle + "/large"]).status == 0)
    try scene.install(bundle)
    return "org.example.Notes"
  }

  /// How many bytes a process has read by system calls, with the children that it has waited for.
  private func readByteCount(_ process: Int32) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/io", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("rchar: ") })
    return try #require(Int(line.dropFirst(7)))
  }

  @Test("reads little of a large one", arguments: RunScene.Person.allCases)
  func large(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try installLarge(scene)
      let mounted = try scene.perform(["sh", "-ec", "mkdir \(scene.home)/view"])
      try #require(mounted.status == 0)
      // What the shell's children have read is added to what the shell has.
      let outcome = try scene.perform([
        "sh", "-ec",
        """
        '\(scene.program)' mount \(app) '\(scene.home)/view' >&2
        '\(scene.program)' run \(app)
        '\(scene.program)' run \(app)
        sed -n 's/^rchar: //p' /proc/$$/io
        """,
      ])
      try #require(outcome.status == 0, "\(outcome.errorText)")
      let lines = outcome.text.split(separator: "\n")
      #expect(lines.prefix(2) == ["hello", "hello"])
      let byCommands = try #require(Int(lines.last ?? ""))
      let container = try Descriptor.open(scene.container(app), O_RDONLY | O_DIRECTORY)
      let daemon = try #require(try DaemonStatus.ask(container))
      let byDaemon = try readByteCount(daemon.pid) + readByteCount(daemon.worker)
      #expect(byCommands + byDaemon < Self.largeByteCount / 4)
      let unmounted = try scene.perform([scene.program, "unmount", scene.home + "/view"])
      #expect(unmounted.status == 0, "\(unmounted.errorText)")
    }
  }

  @Test("loads no library that few commands need, nor does the view's supervisor")
  func libraries() throws {
    try withRunScene(.root) { scene in
      try scene.install(try scene.makeBundle("Notes", script: "#!/bin/sh\necho hello\n"))
      let app = "org.example.Notes"
      let view = scene.home + "/view"
      try #require(try scene.perform(["mkdir", view]).status == 0)
      try #require(try scene.perform([scene.program, "mount", app, view]).status == 0)
      defer { _ = try? scene.perform([scene.program, "unmount", view]) }
      // What is loaded is told on standard error.
      let outcome = try scene.run(app, environment: ["LD_DEBUG": "files"])
      #expect(outcome.status == 0 && outcome.text == "hello\n")
      let container = try Descriptor.open(scene.container(app), O_RDONLY | O_DIRECTORY)
      let daemon = try #require(try DaemonStatus.ask(container))
      // Foundation takes the first part that the kernel gives of such a file for the whole.
      let maps = try run("cat", ["/proc/\(daemon.pid)/maps"]).text
      for library in ["libarchive", "libcrypto", "libsqlite3"] {
        #expect(outcome.errorText.contains("libseccomp") && !outcome.errorText.contains(library))
        #expect(maps.contains("libfuse3") && !maps.contains(library))
      }
    }
  }

  @Test("says in one line what was changed", arguments: RunScene.Person.allCases)
  func modified(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try installLarge(scene)
      let store = scene.container(app) + "/bundle/Notes.app"
      let again = "; install it again\n"
      let prefix = "sandboxfs run: \(app) was modified since it was installed: "

      // What is launched is looked at before it is.
      let program = try Descriptor.open(store + "/Notes", O_RDONLY).readToEnd(atMost: 4096)
      #expect(truncate(store + "/Notes", 3) == 0)
      var outcome = try scene.run(app)
      #expect(outcome.status == 125 && outcome.text == "")
      #expect(outcome.errorText == prefix + "Notes.app/Notes has changed" + again)
      try Data(program).write(to: URL(filePath: store + "/Notes"), options: [])
      #expect(try scene.run(app).text == "hello\n")

      // Anything else when it is read; from then on nothing of the bundle is executed.
      try #require(
        try run("sh", ["-c", "printf X | dd of='\(store)/large' bs=1 conv=notrunc"]).status == 0)
      outcome = try scene.run(
        app,
        [
          "sh", "-c",
          """
          Notes.app/Notes
          tail -c 5 Notes.app/large | wc -c
          head -c 5 Notes.app/large
          Notes.app/Notes
          echo $?
          """,
        ])
      #expect(outcome.text == "hello\n5\n126\n")
      #expect(outcome.errorText.contains("Input/output error"))
      #expect(outcome.errorText.contains("Notes.app/Notes: Permission denied"))
      outcome = try scene.run(app)
      #expect(outcome.status == 125 && outcome.text == "")
      #expect(outcome.errorText == prefix + "Notes.app/large has changed" + again)
      let information = try scene.perform([scene.program, "info", app])
      #expect(
        information.text.contains("Seal        modified: Notes.app/large has changed\n")
          && information.text.contains("Required    adhoc, so it is not launched\n"))
      #expect(try scene.perform([scene.program, "list"]).text.contains("modified"))
    }
  }
}
