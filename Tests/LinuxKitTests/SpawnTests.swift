// A program that is started: what it has, and how it ends.

import Glibc
import LinuxKit
import Testing

@Suite struct SpawnTests {
  private func shell(
    _ script: String, environment: [[UInt8]]? = nil, _ descriptors: [CInt] = [],
    newSession: Bool = false
  ) throws -> (output: String, status: Int32) {
    var pipe = try Pipe()
    let child = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array("/bin/sh".utf8), arguments: ["sh", "-c", script].map { Array($0.utf8) },
        environment: environment, newSession: newSession),
      descriptors: [0, pipe.writing?.rawValue ?? -1, 2] + descriptors)
    pipe.writing = nil
    let output = try pipe.reading.readToEnd(atMost: 1 << 20)
    return (String(decoding: output, as: UTF8.self), try child.wait())
  }

  @Test("a child has the descriptors that it was given, in their order, and no other")
  func descriptors() throws {
    let first = try Descriptor.memory(holding: Array("first".utf8))
    let second = try Descriptor.memory(holding: Array("second".utf8))
    // Not close-on-exec, as a stranger's may be.
    let leaked = dup(first.rawValue)
    defer { close(leaked) }
    let answer = try shell(
      "cat <&3; echo; cat <&4; echo; ls /proc/self/fd | wc -l",
      [second.rawValue, first.rawValue])
    // ls has one more for the directory.
    #expect(answer.output == "second\nfirst\n6\n")
    #expect(answer.status == 0)
  }

  @Test("a child's descriptors may be numbers that the parent has in another order")
  func overlap() throws {
    let low = try Descriptor.memory(holding: Array("low".utf8))
    let high = try Descriptor.memory(holding: Array("high".utf8))
    let answer = try shell("cat <&4; cat <&3", [high.rawValue, low.rawValue])
    #expect(answer.output == "lowhigh")
  }

  @Test("a child begins with no signal blocked or ignored")
  func signals() throws {
    let blocked = try BlockedSignals()
    // libc keeps 32 and 33 for itself, in every process.
    let answer = try shell(
      "grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f 2 | tr 18 00 | sort -u")
    #expect(answer.output == "0000000000000000\n")
    #expect(blocked.take() == nil)
  }

  @Test("a child's exit status is its own, or 128 and the signal's number")
  func statuses() throws {
    #expect(try shell("exit 7").status == 7)
    #expect(try shell("kill -9 $$").status == 137)
  }

  @Test("a child has the environment that it is given, or the caller's")
  func environment() throws {
    #expect(try shell("echo $A", environment: [Array("A=b c".utf8)]).output == "b c\n")
    setenv("SANDBOXFS_TEST_WORD", "here", 1)
    defer { unsetenv("SANDBOXFS_TEST_WORD") }
    #expect(try shell("echo $SANDBOXFS_TEST_WORD").output == "here\n")
  }

  @Test("a child can have a session of its own")
  func session() throws {
    let answer = try shell(
      "read -r pid name state parent group session rest < /proc/$$/stat; echo $((session - $$))",
      newSession: true)
    #expect(answer.output == "0\n")
  }

  @Test("a program that is not there is an error of the start")
  func missing() {
    #expect(throws: Errno.noEntry) {
      try ChildProcess.spawn(
        ChildProcess.Start(path: Array("/no/such".utf8), arguments: []), descriptors: [])
    }
  }

  @Test("a signal that comes while it is blocked is taken, and then it is gone")
  func takenSignal() throws {
    let blocked = try BlockedSignals()
    pthread_kill(pthread_self(), SIGTERM)
    #expect(blocked.take() == SIGTERM)
    #expect(blocked.take() == nil)
  }
}
