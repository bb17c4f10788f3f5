// Other programs go on with a view, and its supervisor dies: an app that checks every answer sees
// nothing but pauses.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// How often the program changes, and how often those who watch die.
private let upgradeCount =
  ProcessInfo.processInfo.environment["SANDBOXFS_SOAK_UPGRADES"].flatMap(Int.init) ?? 10

@Suite(.serialized) struct UpgradeTests {
  /// A copy of the daemon, which a test may replace.
  private func copy(in directory: String) throws -> String {
    let program = directory + "/sandboxfs-view"
    try FileManager.default.copyItem(
      atPath: BuiltPrograms.path("sandboxfs-view"), toPath: program)
    return program
  }

  @Test(
    "an app sees only pauses while one program after the other serves it",
    arguments: [Ground.disk, .user].filter(Ground.possible.contains))
  func upgrades(ground: Ground) throws {
    try withSurvivingView(on: ground) { view in
      let before = view.openDescriptors()
      let app = try startSurvivor(
        in: view.path + "/Documents", on: ground, milliseconds: upgradeCount * 300)
      for count in 1...upgradeCount {
        let answer = flatObject(view.answer(to: "upgrade")) ?? [:]
        #expect(answer["status"] == Array("ok".utf8), "\(answer)")
        #expect(eventually { view.number("upgrades") == count })
      }
      #expect(try app.wait() == 0)
      #expect(view.number("supervisor") == Int(view.daemon.pid))
      #expect(view.number("upgrades") == upgradeCount)
      // The permanent directories are open twice, and what one of them had needed to go on.
      // What the last removals gave back is closed a moment later.
      #expect(eventually { view.openDescriptors() <= before + 12 })
      #expect(
        try FileManager.default.contentsOfDirectory(
          atPath: view.container + "/data/Documents"
        ).isEmpty)
      #expect(try view.unmount() == 0)
    }
  }

  @Test("what goes at exit stays while a program goes on for another, and goes at the end")
  func atExit() throws {
    try withGround(.disk) { directory in
      let profile = "/ read write exec backup\n/tmp purge=exit\n"
      let view = try TestView(in: directory, TestView.Settings(profile: profile))
      let kept = view.container + "/data/tmp/kept"
      #expect(mkdir(view.path + "/tmp/kept", 0o700) == 0)
      let answer = flatObject(view.answer(to: "upgrade")) ?? [:]
      #expect(answer["status"] == Array("ok".utf8), "\(answer)")
      #expect(eventually { view.number("upgrades") == 1 })
      #expect(access(kept, F_OK) == 0)
      #expect(try view.unmount() == 0)
      #expect(eventually { access(kept, F_OK) != 0 })
    }
  }

  @Test("a program that does not fit is refused, with the reason, and the view goes on")
  func refusals() throws {
    try withGround(.disk) { directory in
      let program = try copy(in: directory)
      let view = try TestView(in: directory, TestView.Settings(program: program))
      func refusal(_ text: String, mode: mode_t = 0o755) throws -> String {
        try FileManager.default.removeItem(atPath: program)
        try text.write(toFile: program, atomically: false, encoding: .utf8)
        chmod(program, mode)
        let answer = flatObject(view.answer(to: "upgrade")) ?? [:]
        #expect(answer["status"] == Array("error".utf8))
        return String(decoding: answer["message"] ?? [], as: UTF8.self)
      }
      #expect(
        try refusal("#!/bin/sh\necho 'error it keeps other books' >&5\n")
          == "\(program) cannot go on with the view: it keeps other books")
      #expect(
        try refusal("#!/bin/sh\n") == "\(program) cannot go on with the view: it does not answer")
      #expect(
        try refusal("#!/bin/sh\necho ok 1 >&5\n", mode: 0o777)
          == "\(program) cannot be executed: Operation not permitted")
      // It says that it can, and can't.
      try FileManager.default.removeItem(atPath: program)
      try "#!/nothing\n".write(toFile: program, atomically: false, encoding: .utf8)
      chmod(program, 0o755)
      let answer = flatObject(view.answer(to: "upgrade")) ?? [:]
      #expect(answer["status"] == Array("error".utf8))
      #expect(mkdir(view.path + "/tmp/a", 0o700) == 0)
      #expect(view.restarts() == 0)
      #expect(try view.unmount() == 0)
    }
  }

  @Test("an app sees only pauses when those who watch are killed, and then those who serve")
  func guardians() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: upgradeCount * 300)
      var last = try process("supervisor", of: view)
      #expect(last == view.daemon.pid)
      for round in 0..<upgradeCount {
        #expect(kill(last, SIGKILL) == 0)
        if round == 0 { _ = try view.daemon.wait() }
        #expect(eventually { ![-1, Int(last)].contains(view.number("supervisor")) })
        let next = try process("supervisor", of: view)
        if round % 2 == 1 {
          // It becomes a supervisor now.
          let worker = try process("worker", of: view)
          #expect(kill(worker, SIGKILL) == 0)
          #expect(eventually { ![-1, Int(worker)].contains(view.number("worker")) })
          #expect(try process("supervisor", of: view) == next)
        }
        last = next
      }
      #expect(view.restarts() == upgradeCount / 2)
      #expect(try app.wait() == 0)
      try unmountPatiently(view.path)
      #expect(eventually { kill(last, 0) != 0 })
    }
  }

  /// Runs `body` while so many clients are connected that say nothing.
  private func whileCalling<Value>(
    _ view: TestView, by count: Int, _ body: () throws -> Value
  ) throws -> Value {
    guard count > 0 else { return try body() }
    guard let connection = view.connection() else {
      throw ProgramFailure(description: "the daemon does not answer")
    }
    let value = try whileCalling(view, by: count - 1, body)
    _ = consume connection
    return value
  }

  @Test("what takes a number that only the start has used is not closed by who takes over")
  func numbers() throws {
    try withGround(.memory) { directory in
      // A thread that serves may have taken the number for its life.
      let isReached = try (0..<50).contains { attempt in
        let place = directory + "/\(attempt)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        return try survivesReuse(of: 5, TestView(in: place))
      }
      #expect(isReached)
    }
  }

  /// Has a program go on that opens something by a number, and then another one.
  ///
  /// False if it can't, since who served had something open by it.
  private func survivesReuse(of number: Int, _ view: TestView) throws -> Bool {
    // The lowest numbers are taken while that is opened which the guardian stays by.
    let worker = try whileCalling(view, by: 16) {
      let supervisor = try process("supervisor", of: view)
      #expect(kill(supervisor, SIGKILL) == 0)
      _ = try view.daemon.wait()
      #expect(eventually { ![-1, Int(supervisor)].contains(view.number("supervisor")) })
      return try process("worker", of: view)
    }
    let file = "/proc/\(worker)/fd/\(number)"
    for _ in 0..<100 where access(file, F_OK) == 0 { usleep(5000) }
    let isFree = access(file, F_OK) != 0
    #expect(kill(worker, SIGKILL) == 0)
    #expect(eventually { ![-1, Int(worker)].contains(view.number("worker")) })
    // If it was closed, its number is another file's to who serves.
    let guardian = try process("supervisor", of: view)
    #expect(kill(guardian, SIGKILL) == 0)
    #expect(eventually { ![-1, Int(guardian)].contains(view.number("supervisor")) })
    let last = try process("supervisor", of: view)
    #expect(mkdir(view.path + "/tmp/a", 0o700) == 0)
    try unmountPatiently(view.path)
    #expect(eventually { kill(last, 0) != 0 })
    return isFree
  }
}
