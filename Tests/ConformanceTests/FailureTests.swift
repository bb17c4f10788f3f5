// Those who serve a view can't go on: one request is refused, or the view ends and says why. Nobody
// waits for ever.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// Waits for the daemon's end; its exit status, nil if it goes on.
private func end(of view: TestView) throws -> Int32? {
  for _ in 0..<20_000 {
    if let status = try view.daemon.exitStatusIfEnded() { return status }
    usleep(1000)
  }
  return nil
}

@Suite(.serialized) struct FailureTests {
  @Test("a request that crashes whoever serves it is refused, and nobody else notices")
  func poison() throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(faults: ["SANDBOXFS_FAULT_NAMES": "1"]))
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: 1500)
      for _ in 0..<3 {
        #expect(mkdir(view.path + "/tmp/fault-crash", 0o700) == -1 && errno == EIO)
      }
      #expect(view.restarts() == 9)
      #expect(try app.wait() == 0)
      #expect(try view.unmount() == 0)
      let said = events(in: view.container)
      #expect(said.count == 3)
      #expect(said.allSatisfy { $0.hasPrefix("lookup at /tmp by process ") }, "\(said)")
    }
  }

  @Test(
    "a request that hangs whoever serves it is refused, and the others see pauses",
    arguments: ["fault-hang", "fault-spin"])
  func hang(name: String) throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory,
        TestView.Settings(
          faults: ["SANDBOXFS_FAULT_NAMES": "1", "SANDBOXFS_FAULT_WATCH": "150"]))
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: 1500)
      #expect(mkdir(view.path + "/tmp/" + name, 0o700) == -1 && errno == EIO)
      #expect(try app.wait() == 0)
      // Only its own request is blamed, three times, however slow the machine is.
      #expect(view.restarts() == 3)
      #expect(try view.unmount() == 0)
      let said = events(in: view.container)
      let hung = said.filter {
        $0 == "a request has hung the process that served it, which was killed"
      }
      #expect(hung.count == 3 && said.count == 4, "\(said)")
    }
  }

  @Test("a process that is stopped is let be, and who watches sleeps while nobody asks")
  func stopped() throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(faults: ["SANDBOXFS_FAULT_WATCH": "50"]))
      let worker = try #require(RunningProcess(pid: view.daemon.pid).children.first)
      kill(worker, SIGSTOP)
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: 100)
      usleep(500_000)
      kill(worker, SIGCONT)
      #expect(try app.wait() == 0)
      #expect(view.restarts() == 0)
      func switches() throws -> [Substring] {
        let status = try String(
          contentsOfFile: "/proc/\(view.daemon.pid)/status", encoding: .utf8)
        return status.split(separator: "\n").filter { $0.contains("ctxt_switches") }
      }
      // Some time in which it does nothing, within what a busy machine takes to come to rest.
      var wasQuiet = false
      for _ in 0..<30 where !wasQuiet {
        let before = try switches()
        usleep(300_000)
        wasQuiet = try switches() == before
      }
      #expect(wasQuiet)
      #expect(try view.unmount() == 0)
    }
  }

  @Test("a view with many rules is served by whoever takes over")
  func manyRules() throws {
    try withGround(.memory) { directory in
      let rules = (0..<10_000).map { "/Documents/name\($0)/*.x\($0) -exec\n" }.joined()
      let view = try TestView(
        in: directory, TestView.Settings(profile: "/ read write exec backup\n" + rules))
      #expect(mkdir(view.path + "/Documents/a", 0o700) == 0)
      let worker = try #require(RunningProcess(pid: view.daemon.pid).children.first)
      #expect(kill(worker, SIGKILL) == 0)
      #expect(mkdir(view.path + "/Documents/b", 0o700) == 0)
      #expect(try view.unmount() == 0)
    }
  }

  @Test("a view whose every server dies at once ends, and says so")
  func loop() throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(faults: ["SANDBOXFS_FAULT_TAKEOVER": "1"]))
      // The first one has answered something.
      #expect(mkdir(view.path + "/tmp/before", 0o700) == 0)
      let worker = try #require(RunningProcess(pid: view.daemon.pid).children.first)
      #expect(kill(worker, SIGKILL) == 0)
      #expect(mkdir(view.path + "/tmp/a", 0o700) == -1)
      #expect([ENOTCONN, ECONNABORTED, ENOENT].contains(errno), "\(errno)")
      #expect(try end(of: view) == 1)
      #expect(
        events(in: view.container) == [
          "the view has ended: 16 processes in a row have died without an answer to any request"
        ])
      #expect(try MountTable.read().topmost(at: Array(view.path.utf8)) == nil)
    }
  }

  @Test("a view whose memory can't be true ends, and says so")
  func damage() throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(faults: ["SANDBOXFS_FAULT_NAMES": "1"]))
      #expect(mkdir(view.path + "/tmp/fault-damage", 0o700) == -1)
      #expect([ENOTCONN, ECONNABORTED].contains(errno), "\(errno)")
      #expect(try end(of: view) == 1)
      #expect(
        events(in: view.container) == [
          "the view has ended: what the last process left in memory is damaged"
        ])
    }
  }
}
