// A program that a person runs from a terminal.

import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite("A program in a terminal", .enabled(if: geteuid() == 0, "needs root"))
struct RunTerminalTests {
  /// A person at a terminal: types, and waits for what the screen shows.
  private final class Person {
    private let terminal: PseudoTerminal
    private let child: ChildProcess
    private(set) var screen = ""

    init(_ scene: RunScene, _ words: [String]) throws {
      var terminal = try PseudoTerminal(like: -1)
      let words = ["setsid", "--ctty"] + scene.words(words)
      let variables = scene.environment.merging(["TERM": "dumb"]) { $1 }
      child = try ChildProcess.spawn(
        ChildProcess.Start(
          path: Array("/usr/bin/setsid".utf8), arguments: words.map { Array($0.utf8) },
          environment: variables.map { Array("\($0.key)=\($0.value)".utf8) }),
        descriptors: [terminal.terminal, terminal.terminal, terminal.terminal])
      if scene.person == .ordinaryUser { try terminal.give(to: RunScene.uid, gid: RunScene.uid) }
      terminal.closeTerminal()
      self.terminal = terminal
    }

    func type(_ keys: String) { _ = terminal.write(Array(keys.utf8)) }

    func resize(rows: UInt16, columns: UInt16) {
      var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      _ = ioctl(terminal.controller.rawValue, UInt(TIOCSWINSZ), &size)
    }

    /// Waits until the screen shows a text; types `keys` every second meanwhile.
    func waitFor(_ text: String, typing keys: String = "", seconds: Int = 30) throws {
      for turn in 0..<(seconds * 100) {
        if turn % 100 == 0 { type(keys) }
        screen += String(decoding: terminal.read() ?? [], as: UTF8.self)
        if screen.contains(text) {
          screen = ""
          return
        }
        usleep(10_000)
      }
      throw Disappointment(description: "the screen never showed '\(text)': \(screen)")
    }

    /// Starts a job, and stops it by its key.
    func stopAJob() throws {
      // What is typed shows too, and must not be taken for what is printed.
      type("sh -c 'echo sta''rted; exec sleep 99'\n")
      try waitFor("started")
      type("\u{1A}")
      try waitFor("Stopped")
    }

    deinit { if (try? child.exitStatusIfEnded()) == .some(nil) { end() } }

    private func end() {
      kill(child.pid, SIGTERM)
      _ = try? exitStatus(seconds: 10)
    }

    func exitStatus(seconds: Int = 30) throws -> Int32 {
      for _ in 0..<(seconds * 100) {
        screen += String(decoding: terminal.read() ?? [], as: UTF8.self)
        if let status = try child.exitStatusIfEnded() { return status }
        usleep(10_000)
      }
      try child.kill()
      _ = try child.wait()
      throw Disappointment(description: "it did not end: \(screen)")
    }
  }

  @Test(
    "has one of its own, with job control and the window's size",
    arguments: RunScene.Person.allCases)
  func jobControl(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Shell")
      let person = try Person(
        scene, [scene.program, "run", app, "--", "bash", "--norc", "-i"])
      person.type("tty; echo begun $((1+1))\n")
      try person.waitFor("/dev/console\r\nbegun 2")
      try person.stopAJob()
      person.type("fg\n")
      try person.waitFor("sleep 99")
      // A shell says which job goes on before it gives it the terminal: a key in between is its.
      try person.waitFor("$ ", typing: "\u{03}")
      person.resize(rows: 44, columns: 99)
      person.type("stty size; echo size $((2+2))\n")
      try person.waitFor("44 99\r\nsize 4")
      person.type("exit 5\n")
      #expect(try person.exitStatus() == 5)
    }
  }

  @Test("gets the signal of a key, and its own status is ours")
  func interruption() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Keys")
      let person = try Person(
        scene,
        [
          scene.program, "run", app, "--", "sh", "-c",
          "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done",
        ])
      try person.waitFor("ready")
      person.type("\u{03}")
      #expect(try person.exitStatus() == 9)
    }
  }

  @Test("joins one by exec, with a terminal that controls it")
  func joining() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Beside")
      let run = try scene.startSleeping(app)
      defer { run.end() }
      let person = try Person(scene, [scene.program, "exec", app, "--", "bash", "--norc", "-i"])
      try person.stopAJob()
      person.type("exit 4\nexit 4\n")
      #expect(try person.exitStatus() == 4)
    }
  }
}
