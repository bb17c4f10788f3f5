// Waiting: a disk that is slow to some is not slow to others, and a view that is not used waits
// without waking.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite(.serialized) struct WaitingTests {
  /// What a disk may be slow to do, with number `$n`.
  static let slowCalls = [
    "sync f$n", "sync d$n", "cp f$n c$n", "fallocate -l 4096 f$n", "truncate -s 1 f$n",
  ]

  @Test("while many wait for the disk, everyone else is served", arguments: [false, true])
  func slowDisk(isLimited: Bool) throws {
    let library = try compile("slowdisk", ["-shared", "-fPIC"])
    try withTemporaryDirectory { directory in
      let gate = directory + "/gate"
      var settings = TestView.Settings(
        wrapper: ["env", "LD_PRELOAD=\(library)", "SLOWDISK=\(gate)"])
      if isLimited { settings.limits = ContainerLimits(byteCount: 1 << 30) }
      let view = try TestView(in: directory, settings)
      for call in WaitingTests.slowCalls {
        // More than there are threads that serve, however many processors.
        let script = """
          gate=$1 count=$(( $(nproc) + 6 ))
          trap 'rm -f "$gate"' EXIT
          cd "$0"
          for n in $(seq $count); do mkdir d$n; echo $n > f$n; done
          : > "$gate.waiting"
          : > "$gate"
          for n in $(seq $count); do \(call) & done
          for attempt in $(seq 1000); do
            [ $(wc -l < "$gate.waiting") -lt $count ] || break
            sleep 0.01
          done
          waiting=$(wc -l < "$gate.waiting")
          [ $waiting -eq $count ] || { echo "$waiting of $count wait"; exit 1; }
          mkdir new; echo x > new/file; mv new/file file; cat file f1; ls new | wc -l
          rm "$gate"
          wait
          rm -r *
          """
        let outcome = try run("bash", ["-ec", script, view.path + "/Documents", gate])
        #expect(outcome.text == "x\n1\n0\n", "\(call): \(outcome.errorText)")
      }
      #expect(try view.unmount() == 0)
    }
  }

  @Test("a view that is not used never wakes")
  func idle() throws {
    try withTemporaryDirectory { directory in
      let view = try TestView(in: directory)
      let script = "cd \"$0\"; echo x > f; cat f; ls -l; rm f"
      let used = try run("sh", ["-ec", script, view.path + "/tmp"])
      #expect(used.status == 0, "\(used.errorText)")
      // RELEASE and FORGET come behind, and FORGET whenever anyone makes the kernel forget.
      var isQuiet = false
      for _ in 0..<5 where !isQuiet {
        usleep(300_000)
        let before = try wakings(of: view)
        #expect(before.values.contains { $0 > 0 })
        usleep(2_000_000)
        isQuiet = try wakings(of: view) == before
      }
      #expect(isQuiet, "something wakes again and again")
      #expect(try view.unmount() == 0)
    }
  }

  /// How often each thread of a view's processes has begun to wait.
  private func wakings(of view: TestView) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for process in [view.daemon.pid] + RunningProcess(pid: view.daemon.pid).children {
      let tasks = "/proc/\(process)/task"
      for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
        let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
        let label = "voluntary_ctxt_switches:"
        let line = status.split(separator: "\n").first { $0.hasPrefix(label) }
        let number = line?.dropFirst(label.count).trimmingCharacters(in: .whitespaces)
        counts[task] = number.flatMap { Int($0) } ?? -1
      }
    }
    return counts
  }
}
