// Waiting: a disk that is slow to some is not slow to others, and a view that is not used waits
// without waking.

import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite(.serialized) struct WaitingTests {
  @Test("while many wait for the disk, everyone else is served")
  func slowDisk() throws {
    let library = try compile("slowdisk", ["-shared", "-fPIC"])
    try withTemporaryDirectory { directory in
      let gate = directory + "/gate"
      let view = try TestView(
        in: directory,
        TestView.Settings(wrapper: ["env", "LD_PRELOAD=\(library)", "SLOWDISK=\(gate)"]))
      // Files and directories; more than there are threads that serve, however many processors.
      let script = """
        gate=$1 count=$(( $(nproc) + 6 ))
        trap ': > "$gate"' EXIT
        cd "$0"
        for n in $(seq $count); do mkdir d$n; echo $n > f$n; done
        for n in $(seq $count); do sync f$n & sync d$n & done
        : >> "$gate.waiting"
        for attempt in $(seq 1000); do
          [ $(wc -l < "$gate.waiting") -lt $((2 * count)) ] || break
          sleep 0.01
        done
        waiting=$(wc -l < "$gate.waiting")
        echo $waiting
        [ $waiting -eq $((2 * count)) ] || exit 1
        mkdir new; echo x > new/file; mv new/file file; cat file f1; ls | wc -l
        : > "$gate"
        wait
        """
      let outcome = try run("bash", ["-ec", script, view.path + "/Documents", gate])
      let count = 2 * (sysconf(CInt(_SC_NPROCESSORS_ONLN)) + 6)
      #expect(outcome.status == 0, "\(outcome.errorText)")
      #expect(outcome.text == "\(count)\nx\n1\n\(count + 2)\n")
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
