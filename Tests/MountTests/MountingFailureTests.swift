// What is said when a view cannot be mounted, and that nothing of it is left.

import Glibc
import LinuxKit
import Mounting
import TestSupport
import Testing

@Suite(.serialized) struct MountingFailureTests {
  struct Row: CustomTestStringConvertible {
    let label: String
    let script: String
    let kind: MountError.Kind
    let message: String
    var testDescription: String { label }
  }

  @Test(
    "a daemon that does not serve is an error in its words, and does not go on",
    arguments: [
      Row(
        label: "says why", script: "echo 'error the policy has an error: line 7' >&5",
        kind: .failed, message: "the policy has an error: line 7"),
      Row(
        label: "says what would steer a terminal", script: #"printf 'error \033[2Jx\n' >&5"#,
        kind: .failed, message: #"\033[2Jx"#),
      Row(
        label: "ends without a word", script: "exit 3", kind: .system,
        message: "the daemon ended before it served, with status 3"),
      Row(
        label: "is refused by fusermount3",
        script: "echo 'fusermount3: not yours' >&2; echo 'error cannot mount the view' >&5",
        kind: .failed, message: "cannot mount the view (fusermount3: not yours)"),
      Row(
        label: "complains without end",
        script: "dd if=/dev/zero bs=1M count=9 2> /dev/null | tr '\\0' a >&2; exit 3",
        kind: .system,
        message: "the daemon ended before it served, with status 3 ("
          + String(repeating: "a", count: 4096) + ")"),
      Row(
        label: "says something else", script: "echo hello >&5; exec sleep 60", kind: .internalFault,
        message: "the daemon says what we do not know: hello"),
      Row(
        label: "says nothing", script: "exec sleep 60", kind: .failed,
        message: "the daemon has not answered in time"),
      Row(
        label: "has the lock and does not answer", script: "echo 'error busy' >&5", kind: .failed,
        message: "the container is locked by a daemon that does not answer"),
      Row(
        label: "says that it serves, and does not", script: "echo ready >&5", kind: .failed,
        message: "the container's daemon ended as soon as it served"),
    ])
  func daemons(_ row: Row) throws {
    try withMountingScene { (scene) throws in
      let daemon = scene.path + "/daemon"
      let made = try run(
        "sh", ["-c", "cat > \"$0\" && chmod 755 \"$0\"", daemon],
        input: Array("#!/bin/sh\necho $$ > '\(daemon).pid'\n\(row.script)\n".utf8))
      try #require(made.status == 0)
      let failure = scene.failure {
        try scene.mount {
          $0.daemon = Array(daemon.utf8)
          $0.patienceMilliseconds = 400
        }
      }
      #expect(failure?.kind == row.kind)
      #expect(failure?.message == row.message)
      #expect(try scene.mounted() == [])
      let pid = try run("cat", [daemon + ".pid"]).text.dropLast()
      #expect(access("/proc/\(pid)", F_OK) != 0, "the daemon \(pid) goes on")
    }
  }

  @Test("a signal while the daemon starts takes it down and is told")
  func interrupted() throws {
    try withMountingScene { (scene) throws in
      try interruptMount(scene, starting: "exec sleep 60") { true }
    }
  }

  @Test("a signal takes away what is served by who goes on for the daemon that was started")
  func interruptedBehind() throws {
    try withMountingScene { (scene) throws in
      let program = BuiltPrograms.path("sandboxfs-view")
      // What keeps the pipe open makes it seem not to serve yet.
      let script = "sleep 3 &\nexec '\(program)' \(MountingScene.identifier) 5> /dev/null"
      try interruptMount(scene, starting: script) { (try? scene.mounted().isEmpty) == false }
      // The container's lock is free, so that whoever had it has ended.
      try scene.mount()
      try scene.unmount()
    }
  }

  /// Sends a signal to a mount whose daemon is a script, once that has started and `isTime`.
  private func interruptMount(
    _ scene: MountingScene, starting script: String, when isTime: @escaping @Sendable () -> Bool
  ) throws {
    let daemon = scene.path + "/daemon"
    let made = try run(
      "sh", ["-c", "cat > \"$0\" && chmod 755 \"$0\"", daemon],
      input: Array("#!/bin/sh\n: > '\(daemon).started'\n\(script)\n".utf8))
    try #require(made.status == 0)
    let waiting = pthread_self()
    let signalling = try startThread {
      while access(daemon + ".started", F_OK) != 0 || !isTime() { usleep(1000) }
      pthread_kill(waiting, SIGTERM)
    }
    let failure = scene.failure { try scene.mount { $0.daemon = Array(daemon.utf8) } }
    pthread_join(signalling, nil)
    #expect(failure?.kind == .interrupted)
    #expect(failure?.exitStatus == 8)
    #expect(try scene.mounted() == [])
  }

  @Test("a target that cannot be one is refused by name, and nothing is started")
  func targets() throws {
    try withMountingScene { (scene) throws in
      let rows: [(target: String, kind: MountError.Kind, message: String)] = [
        ("/missing", .failed, "No such file or directory"),
        ("/file", .failed, "Not a directory"),
        ("/store", .usage, "lies in the store itself"),
        ("/store/containers", .usage, "lies in the store itself"),
        ("/store/containers/\(MountingScene.identifier)/data/tmp", .usage, "lies in the store"),
        ("/link/containers", .usage, "lies in the store itself"),
      ]
      #expect(
        try run("sh", ["-c", "cd \"$0\" && touch file && ln -s store link", scene.path]).status == 0
      )
      for row in rows {
        let failure = scene.failure {
          try scene.mount(at: scene.path + row.target) { $0.daemon = Array("/bin/false".utf8) }
        }
        #expect(failure?.kind == row.kind, "\(row.target): \(failure as Any)")
        #expect(failure?.message.contains(row.message) == true, "\(row.target): \(failure as Any)")
        #expect(failure?.message.contains(scene.path) == true)
      }
    }
  }

  @Test("what is no view is not unmounted")
  func notAView() throws {
    try withMountingScene { (scene) throws in
      let failure = scene.failure { try scene.unmount() }
      #expect(failure?.message == "no view is mounted at \(scene.target)")
      #expect(try run("mount", ["-t", "tmpfs", "t", scene.target]).status == 0)
      #expect(scene.failure { try scene.unmount(nil, .lazy) } != nil)
      #expect(scene.failure { try scene.unmount(nil, .force) } != nil)
      #expect(try scene.mounted() == ["/a view"])
    }
  }

  @Test("a container is mounted once at one place")
  func samePlace() throws {
    try withMountingScene { (scene) throws in
      try scene.mount()
      let failure = scene.failure { try scene.mount() }
      #expect(
        failure?.message == "\(MountingScene.identifier) is already mounted at \(scene.target)")
      #expect(try scene.mounted().count == 2)
      let asked = scene.failure {
        let directory = try scene.directory()
        try ViewMounts.check(directory, scene.configuration, at: Array(scene.target.utf8))
      }
      #expect(asked == failure)
      try scene.unmount()
    }
  }

  @Test("what holds for a whole file system cannot differ in a second mount")
  func fileSystemOptions() throws {
    try withMountingScene { (scene) throws in
      try scene.mount()
      let failure = scene.failure { try scene.mount(at: scene.other) { $0.synchronous = true } }
      #expect(failure?.message.contains("'sync' holds for all mounts") == true)
      try scene.unmount()
    }
  }
}
