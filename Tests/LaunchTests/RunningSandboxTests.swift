// A program in a container whose view is a plain directory: all that is not the view's affair.

import Foundation
import Glibc
import LinuxKit
import Testing

@testable import Launch

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A directory that looks like a view, and a place for the stage; gone with its owner.
private final class PlainView {
  let path = "/tmp/plain-view-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  static let uid: UInt32 = 0x7000_0fff

  init() throws {
    for name in ["", "/stage", "/view", "/view/tmp", "/view/Documents"] {
      try FileManager.default.createDirectory(
        atPath: path + name, withIntermediateDirectories: true)
    }
    chmod(path, 0o711)
    for name in ["/view", "/view/tmp", "/view/Documents"] {
      chown(path + name, Self.uid, Self.uid)
      chmod(path + name, name == "/view" ? 0o755 : 0o700)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func sandbox(_ command: [String], caller: [String] = []) throws -> Sandbox {
    Sandbox(
      uid: Self.uid, gid: Self.uid, isStartedByRoot: true, bundleName: [],
      view: bytes(path + "/view"), stage: bytes(path + "/stage"), command: command.map(bytes),
      callerEnvironment: caller.map(bytes),
      environmentTable: try EnvironmentTable(EnvironmentTable.shipped), host: HostTree.current())
  }

  /// Runs a command with this process standing for the view's daemon.
  func run(_ command: [String], caller: [String] = []) throws -> Int32 {
    let signals = try BlockedSignals()
    guard let daemon = ProcessHandle(pid: getpid()) else { throw Errno.last }
    let sandbox = try sandbox(command, caller: caller)
    try CommandLookup(sandbox).check(sandbox.command[0], path: sandbox.searchPath)
    let filter = Result { () throws(Errno) in
      try SystemCallFilter.program(of: sandbox.reach.systemCallRules)
    }
    return try RunningSandbox(sandbox, bubblewrap: findBubblewrap(), filter: filter)
      .wait(signals, daemon)
  }

  /// What a script writes to its standard output.
  func output(of script: String, caller: [String] = []) throws -> String {
    let status = try run(["sh", "-c", "exec >/tmp/out 2>&1; " + script], caller: caller)
    #expect(status == 0, "\(script)")
    return try String(contentsOfFile: path + "/view/tmp/out", encoding: .utf8)
  }
}

private let isRoot = geteuid() == 0

@Suite("A program in a container", .serialized, .enabled(if: isRoot, "needs root"))
struct RunningSandboxTests {
  @Test(
    "ends with its own status, or 128 and its signal",
    arguments: [
      ("exit 0", Int32(0)), ("exit 7", 7), ("exit 125", 125), ("exit 126", 126), ("exit 127", 127),
      ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("exec sh -c 'exit 3'", 3),
    ])
  func status(_ row: (script: String, want: Int32)) throws {
    #expect(try PlainView().run(["sh", "-c", row.script]) == row.want)
  }

  @Test("that is not there, or is no program, is told apart as a shell does")
  func lookup() throws {
    let view = try PlainView()
    try "#!/bin/sh\n".write(
      toFile: view.path + "/view/Documents/script", atomically: true, encoding: .utf8)
    chmod(view.path + "/view/Documents/script", 0o755)
    try FileManager.default.createSymbolicLink(
      atPath: view.path + "/view/Documents/link", withDestinationPath: "/bin/true")
    let rows: [(String, LaunchError.Kind?)] = [
      ("true", nil), ("/usr/bin/true", nil), ("/bin/true", nil), ("no-such-command", .notFound),
      ("/usr/bin/none", .notFound), ("/etc/passwd", .notExecutable),
      ("/etc/alternatives", .notExecutable), ("/etc/alternatives/none", .notFound),
      ("/etc/shadow", .notFound), ("/root/x", .notFound),
      ("/usr", .notExecutable), ("/usr/share/dict/none", .notFound),
      ("/home/app/Documents/script", .notExecutable), ("Documents/script", .notExecutable),
      ("/home/app/Documents", .notExecutable), ("Documents", .notFound),
      ("Documents/none", .notFound), ("Documents/link", nil),
    ]
    for (command, want) in rows {
      let got: LaunchError.Kind?
      do {
        #expect(try view.run([command]) == 0, "\(command)")
        got = nil
      } catch let error as LaunchError {
        got = error.kind
      }
      #expect(got == want, "\(command)")
    }
  }

  @Test("that the kernel refuses to execute ends with 126")
  func refusedByTheKernel() throws {
    let view = try PlainView()
    try FileManager.default.createSymbolicLink(
      atPath: view.path + "/view/Documents/link", withDestinationPath: "/home/app/Documents/x")
    let file = view.path + "/view/Documents/x"
    try "#!/bin/sh\n".write(toFile: file, atomically: true, encoding: .utf8)
    chmod(file, 0o755)
    #expect(try view.run(["Documents/link"]) == 126)
  }

  @Test("sees its home, the system's programs, and little else")
  func tree() throws {
    let view = try PlainView()
    #expect(
      try view.output(of: "ls -1 / && ls -1 /home /dev && readlink /tmp /var/tmp").split(
        separator: "\n"
      ).filter { !$0.hasPrefix("lib") }
        == """
        bin
        dev
        etc
        home
        proc
        sbin
        tmp
        usr
        var
        /dev:
        fd
        full
        null
        ptmx
        pts
        random
        shm
        stderr
        stdin
        stdout
        tty
        urandom
        zero

        /home:
        app
        /home/app/tmp
        /home/app/tmp
        """.split(separator: "\n"))
  }

  @Test("finds no mount that it can write to and execute from")
  func mounts() throws {
    let text = try PlainView().output(of: "cat /proc/self/mountinfo")
    let mounts = MountTable(text: bytes(text)).entries
    #expect(mounts.count > 10)
    for mount in mounts {
      let place = String(decoding: mount.mountPoint, as: UTF8.self)
      #expect(mount.has("ro") || mount.has("noexec"), "\(place)")
      #expect(mount.has("nosuid"), "\(place)")
      // What could be a device node is one of ours, or cannot be opened.
      #expect(mount.has("nodev") || place.hasPrefix("/dev/"), "\(place)")
    }
  }

  @Test("has the table's environment and no other variable")
  func environment() throws {
    let view = try PlainView()
    let output = try view.output(
      of: "env", caller: ["LANG=ja_JP.UTF-8", "SECRET=1", "LD_PRELOAD=/tmp/x.so", "HOME=/root"])
    let want = try EnvironmentTable(EnvironmentTable.shipped).environment(
      home: Sandbox.home, caller: [bytes("LANG=ja_JP.UTF-8")])
    let got = output.split(separator: "\n").filter { !$0.hasPrefix("PWD=") && !$0.hasPrefix("_=") }
    #expect(Set(got.map { Array($0.utf8) }) == Set(want))
    #expect(
      try view.output(of: "tr '\\0' '\\n' </proc/1/environ | grep -c SECRET || true") == "0\n")
  }

  @Test("has no descriptor but 0 to 2, and neither has the first process")
  func descriptors() throws {
    let stray = open("/etc/passwd", O_RDONLY)  // Without O_CLOEXEC, as a careless caller has it.
    defer { close(stray) }
    // ls has one more, for the directory that it lists.
    let view = try PlainView()
    #expect(try view.output(of: "ls -m /proc/self/fd") == "0, 1, 2, 3\n")
    // The first process tells bubblewrap by an eventfd how the program has ended.
    let first = try view.output(
      of: "for fd in /proc/1/fd/*; do case $fd in */[012]) ;; *) readlink $fd; esac; done")
    #expect(first == "anon_inode:[eventfd]\n")
  }

  @Test("has no capability, no way to new ones, and no user namespace")
  func privileges() throws {
    let view = try PlainView()
    let output = try view.output(of: "grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    for line in output.split(separator: "\n") {
      #expect(line.hasSuffix(line.hasPrefix("NoNew") ? "\t1" : "\t0000000000000000"), "\(line)")
    }
    #expect(try view.run(["unshare", "-U", "true"]) != 0)
  }

  @Test("knows itself by its own passwd and group, and no host name")
  func accounts() throws {
    let view = try PlainView()
    #expect(
      try view.output(of: "id -un; id -gn; id -G; hostname; getent passwd app; cat /etc/hosts")
        == """
        app
        app
        \(PlainView.uid)
        app
        app:x:\(PlainView.uid):\(PlainView.uid):App:/home/app:/bin/sh
        127.0.0.1\tlocalhost app
        ::1\tlocalhost

        """)
  }

  @Test("cannot see or signal a process outside, and has no network")
  func namespaces() throws {
    let view = try PlainView()
    let output = try view.output(
      of: "ls -d /proc/[0-9]* | wc -l; ls /sys/class/net 2>/dev/null; true")
    #expect((Int(output.split(separator: "\n")[0].filter(\.isNumber)) ?? 99) < 6)
    let links = try view.output(of: "tail -n +3 /proc/net/dev | cut -d: -f1")
    #expect(links.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) } == ["lo"])
  }

  @Test("saves by rename from tmp, and finds its own directories made")
  func directories() throws {
    let view = try PlainView()
    #expect(
      try view.output(
        of: "echo a >/tmp/a && mv -n /tmp/a Documents/a && cat Documents/a && stat -c %a tmp/run")
        == "a\n700\n")
  }

  @Test("can write nowhere but in its home and /dev/shm")
  func writing() throws {
    let view = try PlainView()
    let output = try view.output(
      of: """
        for place in / /etc /usr /usr/local /dev /home /proc /var /home/app /dev/shm /tmp \
          /etc/passwd
        do if (echo >> $place/x) 2>/dev/null || (echo >> $place) 2>/dev/null
        then echo $place; fi; done
        """)
    #expect(output == "/home/app\n/dev/shm\n/tmp\n")
  }

  @Test("leaves no process behind, however it tries")
  func leftovers() throws {
    let view = try PlainView()
    _ = try view.run(["sh", "-c", "setsid sleep 4711 & setsid sh -c 'sleep 4712 &' & sleep 0.1"])
    for process in RunningProcess.all() {
      let words = process.arguments.map { String(decoding: $0, as: UTF8.self) }
      #expect(!words.contains("4711") && !words.contains("4712"))
    }
  }
}
