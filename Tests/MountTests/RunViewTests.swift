// The view of a run: shared, unmounted by the last, never left behind; and what becomes of the
// program when something ends before it.

import Foundation
import Glibc
import LinuxKit
import Mounting
import TestSupport
import Testing

@Suite("The view of a run", .enabled(if: geteuid() == 0, "needs root"))
struct RunViewTests {
  @Test(
    "is shared by runs at once, and gone after the last", arguments: RunScene.Person.allCases)
  func sharing(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      let first = try scene.startSleeping(app)
      let device = try #require(try scene.mounts(of: app).first?.device)
      let second = try scene.startSleeping(app)
      #expect(try scene.script(app, "echo third >tmp/third; ls tmp").contains("ready-"))
      #expect(Set(try scene.mounts(of: app).map(\.device)) == [device])
      first.end()
      #expect(Set(try scene.mounts(of: app).map(\.device)) == [device])
      #expect(access(scene.data(app, "tmp/third"), F_OK) == 0, "another run still lives")
      second.end()
      #expect(try scene.mounts(of: app).isEmpty)
      #expect(try scene.traces(of: app) == [])
      #expect(try FileManager.default.contentsOfDirectory(atPath: scene.data(app, "tmp")) == [])
    }
  }

  @Test(
    "is there for each of many runs that begin and end at once",
    arguments: RunScene.Person.allCases)
  func manyRuns(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      for _ in 0..<4 {
        let runs = try (0..<6).map { number in
          try scene.start(app, ["sh", "-c", "echo \(number) >tmp/\(number); cat tmp/\(number)"])
        }
        for (number, run) in runs.enumerated() {
          #expect(try run.exitStatus() == 0, "\(run.errorText)")
          #expect(run.text == "\(number)\n")
          #expect(run.errorText == "")
        }
      }
      #expect(try scene.mounts(of: app).isEmpty)
      #expect(try scene.traces(of: app) == [])
    }
  }

  @Test("leaves nothing of tmp, and nothing but tmp", arguments: RunScene.Person.allCases)
  func emptying(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      _ = try scene.script(
        app,
        """
        mkdir -p tmp/a/b/c tmp/shut tmp/.hidden; touch tmp/a/b/c/f tmp/shut/f; chmod 0 tmp/shut
        ln -s /home/app/Documents tmp/link; ln -s / tmp/root; mkfifo tmp/pipe
        echo kept >Documents/f; ln Documents/f Documents/g; mkdir Library/Caches/kept
        """)
      #expect(try FileManager.default.contentsOfDirectory(atPath: scene.data(app, "tmp")) == [])
      #expect(access(scene.data(app, "Documents/g"), F_OK) == 0)
      #expect(access(scene.data(app, "Library/Caches/kept"), F_OK) == 0)
    }
  }

  @Test(
    "of a launcher that was killed is unmounted by the next run",
    arguments: RunScene.Person.allCases)
  func killedLauncher(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let (app, other) = (try scene.installScript("Notes"), try scene.installScript("Other"))
      let run = try scene.startSleeping(app, "sleep 4714")
      run.signal(SIGKILL)
      _ = try run.exitStatus()
      #expect(try !scene.mounts(of: app).isEmpty)
      try waitUntil { !isRunning("4714") }
      #expect(try scene.run(other, ["true"]).status == 0)
      #expect(try scene.mounts(of: app).isEmpty)
    }
  }

  @Test("dies with its daemon, and the program with it", arguments: RunScene.Person.allCases)
  func killedDaemon(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      let run = try scene.startSleeping(app, "touch Documents/kept tmp/left; exec sleep 4715")
      try waitUntil { access(scene.data(app, "tmp/left"), F_OK) == 0 }
      let container = try Descriptor.open(scene.container(app), O_RDONLY | O_DIRECTORY)
      let status = try #require(try DaemonStatus.ask(container))
      // Each of them would put another in the place of one that dies alone.
      for signal in [SIGSTOP, SIGKILL] {
        for process in [status.pid, status.worker] { kill(process, signal) }
      }
      #expect(try run.exitStatus() == 125)
      // The program may have had something to say about it too.
      #expect(
        run.errorText.hasSuffix(
          "sandboxfs run: the view's daemon has died, so the program was killed; start it again\n"))
      #expect(!isRunning("4715"))
      #expect(try scene.mounts(of: app).isEmpty)
      // As after the end of the machine: nobody was left who could remove it.
      #expect(
        try scene.run(app, ["ls", "tmp", "Documents"]).text
          == "Documents:\nkept\n\ntmp:\nrun\n")
    }
  }

  @Test("that a person mounted by hand is used, and stays")
  func mountedByHand() throws {
    for person in RunScene.Person.allCases {
      try withRunScene(person) { scene in
        let app = try scene.installScript("Notes", script: "#!/bin/sh\necho it runs\n")
        let place = scene.home + "/view"
        _ = try scene.perform(["mkdir", place])
        let mounted = try scene.perform([scene.program, "mount", app, place])
        try #require(mounted.status == 0, "\(mounted.errorText)")
        defer { _ = try? scene.perform([scene.program, "unmount", place]) }
        let outcome = try scene.run(app)
        #expect(outcome.text == "it runs\n", "\(outcome.errorText)")
        #expect(try scene.script(app, "echo a >tmp/f; cat tmp/f") == "a\n")
        #expect(access(scene.data(app, "tmp/f"), F_OK) == 0, "whoever mounted it may still look")
        #expect(try scene.mounts(of: app).allSatisfy { $0.mountPoint.starts(with: place.utf8) })
        #expect(try !scene.mounts(of: app).isEmpty)
      }
    }
  }
}

extension RunViewTests {
  @Test("that a person mounted noexec is refused in one line")
  func mountedNoExec() throws {
    try withRunScene(.ordinaryUser) { scene in
      let app = try scene.installScript("Notes")
      let place = scene.home + "/view"
      _ = try scene.perform(["mkdir", place])
      let mounted = try scene.perform([scene.program, "mount", app, place])
      try #require(mounted.status == 0, "\(mounted.errorText)")
      defer { _ = try? scene.perform([scene.program, "unmount", place]) }
      let changed = try run("mount", ["-o", "remount,bind,noexec,nosuid,nodev", place])
      try #require(changed.status == 0, "\(changed.errorText)")
      let outcome = try scene.run(app)
      #expect(outcome.status == 125)
      #expect(
        outcome.errorText
          == "sandboxfs run: the view at \(place) is mounted noexec, so its bundle cannot run; "
          + "add exec to its options in fstab and mount it again\n")
    }
  }
}

@Suite("The end of a run", .enabled(if: geteuid() == 0, "needs root"))
struct RunEndTests {
  @Test("passes signals on, at any time", arguments: RunScene.Person.allCases)
  func signals(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes")
      let rows: [(Int32, String, Int32)] = [
        (SIGTERM, "sleep 60", 143), (SIGINT, "sleep 60", 130), (SIGHUP, "sleep 60", 129),
        (SIGTERM, "trap 'exit 9' TERM; while :; do sleep 0.05; done", 9),
      ]
      for (signal, script, want) in rows {
        let run = try scene.startSleeping(app, "exec sh -c \"\(script)\"")
        usleep(100_000)
        run.signal(signal)
        #expect(try run.exitStatus() == want, "\(signal): \(script)")
      }
      // One that comes while all is being set up is not lost: nothing is left of the run.
      for delay in stride(from: 0, to: 120_000, by: 15_000) {
        let run = try scene.start(app, ["sleep", "60"])
        usleep(useconds_t(delay))
        run.signal(SIGTERM)
        let status = try run.exitStatus()
        let seen = "after \(delay) µs: \(status) \(run.errorText)"
        #expect([143, 125].contains(status), "\(seen)")
        #expect(try scene.mounts(of: app).isEmpty, "\(seen)")
      }
    }
  }

  @Test(
    "is the program's, or says in one line why there was none",
    arguments: RunScene.Person.allCases)
  func statuses(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Notes", script: "#!/bin/sh\nexit 42\n")
      _ = try scene.script(app, "printf '#!/bin/sh\\n' >Documents/x; chmod +x Documents/x")
      let rows: [([String], Int32, String)] = [
        ([], 42, ""), (["sh", "-c", "exit 3"], 3, ""), (["sh", "-c", "kill -9 $$"], 137, ""),
        (["no-such"], 127, "sandboxfs run: no-such: not found in the container\n"),
        (
          ["Documents/x"], 126,
          "sandboxfs run: Documents/x: cannot be executed; only the bundle's and the system's "
            + "programs can be\n"
        ),
      ]
      for (command, status, line) in rows {
        let outcome = try scene.run(app, command)
        #expect(outcome.status == status, "\(command)")
        #expect(outcome.errorText == line, "\(command)")
      }
    }
  }

  @Test("gives the program nothing for a stream that its caller has closed")
  func closedStreams() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Notes")
      let script = "readlink /proc/self/fd/0 /proc/self/fd/2; ls -m /proc/self/fd"
      let outcome = try scene.perform([
        "sh", "-c", "exec '\(scene.program)' run \(app) -- sh -c '\(script)' <&- 2>&-",
      ])
      #expect(outcome.text == "/dev/null\n/dev/null\n0, 1, 2, 3\n")
    }
  }

  @Test("says what refused, and what to do")
  func refusals() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Notes")
      func line(_ script: String) throws -> String {
        let outcome = try scene.perform(["unshare", "-m", "sh", "-ec", script])
        #expect(outcome.status == 125)
        return outcome.errorText
      }
      let command = "'\(scene.program)' run \(app) -- true"
      #expect(
        try line("mount --bind /dev/null /usr/bin/bwrap; \(command)")
          == "sandboxfs run: cannot start /usr/bin/bwrap: Permission denied\n")
      #expect(
        try line(
          "mount -t tmpfs none /tmp/.X11-unix 2>/dev/null || :; DISPLAY=:4711 "
            + "'\(scene.program)' run --allow x11 \(app)")
          == "sandboxfs run: --allow x11: there is no X server at /tmp/.X11-unix/X4711\n")
      #expect(
        try line("DISPLAY=far:0 '\(scene.program)' run --allow x11 \(app)").contains(
          "DISPLAY is 'far:0'; expected a server of this machine"))
      let limited = try scene.perform([
        "unshare", "-Ur", "sh", "-ec", "echo 0 >/proc/sys/user/max_user_namespaces; \(command)",
      ])
      #expect(limited.status == 125)
      #expect(
        limited.errorText == "sandboxfs run: the kernel refuses user namespaces; allow them with: "
          + "sysctl -w user.max_user_namespaces=15000\n")
    }
  }
}

/// Waits a while until something is so.
private func waitUntil(_ isSo: () -> Bool) throws {
  for _ in 0..<500 {
    if isSo() { return }
    usleep(10_000)
  }
  throw Disappointment(description: "it has not come to that")
}

/// Whether a process has this word among its arguments.
private func isRunning(_ word: String) -> Bool {
  RunningProcess.all().contains { $0.arguments.contains(Array(word.utf8)) }
}
