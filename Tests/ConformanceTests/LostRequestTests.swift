// Requests that are carried out by a process that dies, and whose callers are killed before the
// next one serves: nobody is told, and what the view shows is what is there all the same.

import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite(.serialized) struct LostRequestTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let label: String
    /// What is there before, and is looked at so that the kernel knows it.
    let before: String
    /// What is asked for and lost.
    let lost: [String]

    var testDescription: String { label }

    init(_ label: String, _ before: String, _ lost: String...) {
      self.label = label
      self.before = before
      self.lost = lost
    }

    static let all = [
      Row("mkdir", "", "mkdir", "new"),
      Row("create", "", "python3", "-c", "open('new', 'x')"),
      Row("mknod", "", "mkfifo", "new"),
      Row("symlink", "", "ln", "-s", "old", "new"),
      Row("link", "echo > old", "ln", "old", "new"),
      Row("rename", "echo > old", "mv", "-T", "old", "new"),
      Row(
        "rename over another", "echo > old; ln old more; echo > new; ln new last",
        "mv", "-T", "old", "new"),
      Row("rename of a directory", "mkdir old; echo > old/more", "mv", "-T", "old", "new"),
      Row(
        "rename into another directory", "echo > old; mkdir last",
        "mv", "-T", "old", "last/more"),
      Row(
        "exchange", "echo > old; mkdir new", "python3", "-c",
        "import ctypes; ctypes.CDLL(None).renameat2(-100, b'old', -100, b'new', 2)"),
      Row("unlink", "echo > old; ln old more", "rm", "old"),
      Row("rmdir", "mkdir old", "rmdir", "old"),
      Row("chmod", "echo > old", "chmod", "600", "old"),
      Row("truncate", "echo > old", "python3", "-c", "import os; os.truncate('old', 4096)"),
    ]
  }

  /// The place in `FaultPoint` behind the call.
  private static let afterCall = ["SANDBOXFS_FAULT_PLACE": "2", "SANDBOXFS_FAULT_RESENT": "1"]
  private static let look = """
    cd "$0"
    for name in . old new more last old/more last/more; do
      stat -c '%n %f %h %s' $name 2> /dev/null || echo $name is not there
    done
    """

  @Test("what was done for an app that was killed meanwhile is what others see", arguments: Row.all)
  func lost(_ row: Row) throws {
    try withGround(.memory) { directory in
      let place = try prepare(row.before, in: directory)
      let view = try TestView(in: directory, TestView.Settings(faults: Self.afterCall))
      let before = try text(place.shown)
      // It asks, the one that serves does it and dies, and the next one has stopped.
      let app = try start(row.lost, in: place.shown)
      let stopped = try stoppedWorker(of: view)
      try app.kill()
      _ = try app.wait()
      kill(stopped, SIGCONT)
      #expect(try text(place.kept) != before, "nothing was done")
      #expect(try eventually { try text(place.shown) == text(place.kept) })
      #expect(try text(place.shown) == text(place.kept))
      #expect(try view.unmount() == 0)
    }
  }

  @Test("who serves next does not wait for one that waits for a directory")
  func locked() throws {
    try withGround(.memory) { directory in
      let place = try prepare("", in: directory)
      let hangs = ["SANDBOXFS_FAULT_NAMES": "1", "SANDBOXFS_FAULT_WATCH": "150"]
      let view = try TestView(
        in: directory, TestView.Settings(faults: Self.afterCall.merging(hangs) { $1 }))
      _ = try text(place.shown)
      let lost = try start(["mkdir", "new"], in: place.shown)
      let stopped = try stoppedWorker(of: view)
      // Has the directory's lock until it is answered, which hangs whoever serves it.
      try lost.kill()
      _ = try lost.wait()
      let holder = try start(["mkdir", "fault-hang"], in: place.shown)
      usleep(100_000)
      kill(stopped, SIGCONT)
      var status: Int32?
      #expect(
        try eventually {
          if let worker = worker(of: view), isStopped(worker) { kill(worker, SIGCONT) }
          status = try holder.exitStatusIfEnded()
          return status != nil
        })
      #expect(status == 1)
      #expect(try eventually { try text(place.shown) == text(place.kept) })
      #expect(try view.unmount() == 0)
    }
  }

  /// Makes a directory in a container, and what is in it: where it is, and where a view shows it.
  private func prepare(
    _ script: String, in directory: String
  ) throws -> (kept: String, shown: String) {
    let kept = directory + "/container/data/tmp/place"
    let made = try run("sh", ["-ec", "mkdir -p \"$0\"; cd \"$0\"; \(script)", kept])
    try #require(made.status == 0, "\(made.errorText)")
    return (kept, directory + "/view/tmp/place")
  }

  private func text(_ place: String) throws -> String {
    try run("sh", ["-c", Self.look, place]).text
  }

  private func start(_ words: [String], in place: String) throws -> ChildProcess {
    let all = ["/usr/bin/env", "-C", place] + words
    let null = try Descriptor.null()
    return try ChildProcess.spawn(
      ChildProcess.Start(path: Array(all[0].utf8), arguments: all.map { Array($0.utf8) }),
      descriptors: [null.rawValue, null.rawValue, null.rawValue])
  }

  private func worker(of view: TestView) -> Int32? {
    RunningProcess(pid: view.daemon.pid).children.first
  }

  private func isStopped(_ process: Int32) -> Bool {
    guard let status = try? run("ps", ["-o", "stat=", "-p", String(process)]) else { return false }
    return status.text.hasPrefix("T")
  }

  /// The process that serves next, as soon as it has stopped.
  private func stoppedWorker(of view: TestView) throws -> Int32 {
    var found: Int32?
    _ = eventually {
      found = worker(of: view).flatMap { isStopped($0) ? $0 : nil }
      return found != nil
    }
    return try #require(found)
  }
}
