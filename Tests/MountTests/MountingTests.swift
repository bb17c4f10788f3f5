// Mounting as its callers see it: the view is there, whole, or nothing is.

import Glibc
import LinuxKit
import Mounting
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct MountingTests {
  @Test("the first mount shows the view noexec, and its bundle read-only and executable")
  func firstMount() throws {
    try withMountingScene { scene in
      let view = try scene.mount()
      #expect(view.isFirst)
      #expect(try scene.mounted() == ["/a view", "/a view/Notes.app"])
      #expect(
        try scene.options("/a view").isSuperset(of: ["rw", "nosuid", "nodev", "noexec", "relatime"])
      )
      let bundle = try scene.options("/a view/Notes.app")
      #expect(bundle.isSuperset(of: ["ro", "nosuid", "nodev"]) && !bundle.contains("noexec"))
      #expect(try scene.entry("/a view")?.source == Array(MountingScene.identifier.utf8))
      #expect(try run(scene.target + "/Notes.app/Notes", [String]()).status == 0)
      let copied = try run(
        "sh", ["-c", "cp /bin/true Documents/x && ./Documents/x"], in: scene.target)
      #expect(copied.status == 126)
      try scene.unmount()
      #expect(try scene.mounted() == [])
      #expect(RunningProcess.all().allSatisfy { $0.pid != view.daemon })
    }
  }

  struct Row: CustomTestStringConvertible {
    let label: String
    let change: @Sendable (inout MountSettings) -> Void
    var view: Set<String> = []
    var bundle: Set<String> = ["ro"]
    var system: Set<String> = []
    var testDescription: String { label }
  }

  @Test(
    "a mount has what was asked for",
    arguments: [
      Row(label: "read-only", change: { $0.readOnly = true }, view: ["ro"]),
      Row(
        label: "noexec, the bundle too", change: { $0.noExecution = true },
        bundle: ["ro", "noexec"]),
      Row(label: "noatime", change: { $0.noAccessTime = true }, view: ["noatime"]),
      Row(label: "nodiratime", change: { $0.noDirectoryAccessTime = true }, view: ["nodiratime"]),
      Row(label: "nosymfollow", change: { $0.noSymlinkFollowing = true }, view: ["nosymfollow"]),
      Row(
        label: "sync and dirsync",
        change: {
          $0.synchronous = true
          $0.synchronousDirectories = true
        }, system: ["sync", "dirsync"]),
    ])
  func attributes(_ row: Row) throws {
    try withMountingScene { scene in
      try scene.mount(at: nil, row.change)
      #expect(try scene.options("/a view").isSuperset(of: row.view))
      #expect(try scene.options("/a view/Notes.app").isSuperset(of: row.bundle))
      let system = try scene.entry("/a view")?.superOptions ?? []
      #expect(Set(system.map { String(decoding: $0, as: UTF8.self) }).isSuperset(of: row.system))
      try scene.unmount()
    }
  }

  @Test("a second mount is the same view with attributes of its own, and outlives the first")
  func secondMount() throws {
    try withMountingScene { scene in
      let first = try scene.mount { $0.readOnly = true }
      let second = try scene.mount(at: scene.other)
      #expect(!second.isFirst && second.device == first.device && second.daemon == first.daemon)
      #expect(try scene.options("/a view").contains("ro"))
      #expect(try scene.options("/other").isSuperset(of: ["rw", "noexec"]))
      #expect(try run("sh", ["-c", "echo new > Documents/x"], in: scene.other).status == 0)
      #expect(try run("cat", ["Documents/x"], in: scene.target).text == "new\n")
      try scene.unmount()
      #expect(try scene.mounted() == ["/other", "/other/Notes.app"])
      #expect(try run(scene.other + "/Notes.app/Notes", [String]()).status == 0)
      try scene.unmount(scene.other)
      #expect(try scene.mounted() == [])
    }
  }

  @Test("on a shared mount two views stay two: what is unmounted in one stays in the other")
  func sharedParent() throws {
    try withMountingScene { scene in
      let parent = scene.path + "/parent"
      let made = try run(
        "sh",
        [
          "-c",
          "mkdir '\(parent)' && mount -t tmpfs t '\(parent)' && mount --make-shared '\(parent)' "
            + "&& mkdir '\(parent)/a' '\(parent)/b'",
        ])
      try #require(made.status == 0, "\(made.errorText)")
      try scene.mount(at: parent + "/a")
      try scene.mount(at: parent + "/b")
      try scene.unmount(parent + "/a")
      #expect(try scene.mounted() == ["/parent", "/parent/b", "/parent/b/Notes.app"])
      try scene.unmount(parent + "/b")
      #expect(try scene.mounted() == ["/parent"])
    }
  }

  @Test("a view in another mount namespace is fetched from there")
  func otherNamespace() throws {
    try withMountingScene { scene in
      let sleeper = try sleeperInOwnNamespace()
      defer { end(sleeper) }
      nonisolated(unsafe) var outcome: Result<MountedView, any Error>?
      try withMountNamespace(of: sleeper.pid) { () throws(Errno) in
        outcome = Result { try scene.mount() }
      }
      let first = try #require(outcome).get()
      #expect(try scene.mounted() == [])
      let second = try scene.mount(at: scene.other)
      #expect(!second.isFirst && second.device == first.device)
      #expect(try run(scene.other + "/Notes.app/Notes", [String]()).status == 0)
      try scene.unmount(scene.other)
      #expect(RunningProcess.all().contains { $0.pid == first.daemon })
      try withMountNamespace(of: sleeper.pid) { () throws(Errno) in
        outcome = Result {
          try scene.unmount()
          return first
        }
      }
      _ = try outcome?.get()
    }
  }

  @Test("a view in use stays as it was, and the error names who uses it; lazily it goes")
  func busy() throws {
    try withMountingScene { scene in
      let view = try scene.mount()
      var holder: Descriptor? = try Descriptor.open(
        scene.target + "/Notes.app/Info.plist", O_RDONLY)
      let inBundle = scene.failure { try scene.unmount() }
      #expect(inBundle?.kind == .failed)
      #expect(inBundle?.message.contains("in use by \(getpid()) (") == true, "\(inBundle as Any)")
      holder = try Descriptor.open(scene.target + "/Documents", O_RDONLY)
      let inView = scene.failure { try scene.unmount() }
      #expect(inView?.message.contains("in use by \(getpid()) (") == true, "\(inView as Any)")
      #expect(try scene.mounted() == ["/a view", "/a view/Notes.app"])
      #expect(try run(scene.target + "/Notes.app/Notes", [String]()).status == 0)
      try scene.unmount(nil, .lazy)
      #expect(try scene.mounted() == [])
      let again = scene.failure { try scene.mount { $0.patienceMilliseconds = 300 } }
      #expect(again?.message.contains("\(view.daemon)") == true, "\(again as Any)")
      #expect(again?.message.contains("in use by \(getpid())") == true, "\(again as Any)")
      withExtendedLifetime(holder.take()) {}
      try scene.mount()
      try scene.unmount()
    }
  }

  @Test("a view of which a part is still mounted elsewhere can't begin anew, and says where")
  func partElsewhere() throws {
    try withMountingScene { scene in
      let view = try scene.mount()
      let place = scene.path + "/part"
      #expect(mkdir(place, 0o755) == 0)
      #expect(try run("mount", ["--bind", scene.target + "/Documents", place]).status == 0)
      try scene.unmount()
      let again = scene.failure { try scene.mount { $0.patienceMilliseconds = 300 } }
      #expect(
        again?.message.contains("/Documents of it is still mounted at \(place); ") == true,
        "\(again as Any)")
      #expect(again?.message.contains("\(view.daemon)") == true, "\(again as Any)")
      #expect(try run("umount", [place]).status == 0)
      try scene.mount()
      try scene.unmount()
    }
  }

  @Test("a view that something is mounted in is not unmounted, and says what it is")
  func mountInside() throws {
    try withMountingScene { scene in
      try scene.mount()
      let inside = scene.target + "/Documents"
      #expect(try run("mount", ["-t", "tmpfs", "t", inside]).status == 0)
      let failure = scene.failure { try scene.unmount() }
      #expect(failure?.message.contains("/Documents is mounted in it") == true, "\(failure as Any)")
      #expect(try scene.mounted().count == 3)
      try scene.unmount(nil, .lazy)
      #expect(try scene.mounted() == [])
    }
  }

  @Test("by force a view goes even if it is in use, and its daemon with it")
  func force() throws {
    try withMountingScene { scene in
      let view = try scene.mount()
      let holder = try Descriptor.open(scene.target + "/Documents", O_RDONLY)
      try scene.unmount(nil, .force)
      #expect(try scene.mounted() == [])
      #expect(RunningProcess(pid: view.daemon).waitForEnd(milliseconds: 5000))
      _ = holder.rawValue
    }
  }

  @Test("a dead view is shown as dead, and mounting replaces it")
  func dead() throws {
    try withMountingScene { scene in
      let view = try scene.mount { $0.unsupervised = true }
      kill(view.daemon, SIGKILL)
      #expect(RunningProcess(pid: view.daemon).waitForEnd(milliseconds: 5000))
      let report = try ViewMounts.list().first { $0.target == Array(scene.target.utf8) }
      #expect(report?.health == .dead)
      let again = try scene.mount()
      #expect(again.isFirst && again.daemon != view.daemon)
      #expect(try scene.mounted() == ["/a view", "/a view/Notes.app"])
      try scene.unmount()
    }
  }

  @Test("a view whose daemon is stopped is shown as silent, and takes nobody along")
  func silent() throws {
    try withMountingScene { scene in
      let view = try scene.mount { $0.unsupervised = true }
      kill(view.daemon, SIGSTOP)
      // All its threads have to notice.
      let stopped =
        "until ! grep -h ^State: /proc/\(view.daemon)/task/*/status | grep -qv stopped; do :; done"
      _ = try run("bash", ["-c", stopped], timeoutSeconds: 10)
      defer { kill(view.daemon, SIGCONT) }
      let report = try ViewMounts.list().first { $0.target == Array(scene.target.utf8) }
      #expect(report?.health == .silent)
      let failure = scene.failure { try scene.mount(at: scene.other) }
      #expect(failure?.message.contains("does not answer") == true, "\(failure as Any)")
      let refusal = scene.failure { try scene.unmount() }
      #expect(refusal?.message.contains("--lazy") == true, "\(refusal as Any)")
      #expect(try scene.mounted() == ["/a view", "/a view/Notes.app"], "nothing has changed")
      try scene.unmount(nil, .lazy)
      #expect(try scene.mounted() == [])
      kill(view.daemon, SIGCONT)
      #expect(RunningProcess(pid: view.daemon).waitForEnd(milliseconds: 5000))
    }
  }

  @Test("a dead view can be unmounted")
  func unmountDead() throws {
    try withMountingScene { scene in
      let view = try scene.mount { $0.unsupervised = true }
      kill(view.daemon, SIGKILL)
      #expect(RunningProcess(pid: view.daemon).waitForEnd(milliseconds: 5000))
      try scene.unmount()
      #expect(try scene.mounted() == [])
    }
  }

  @Test("the list tells what is mounted, and that it answers")
  func list() throws {
    try withMountingScene { scene in
      let view = try scene.mount { $0.source = Array("a source".utf8) }
      try scene.mount(at: scene.other) { $0.readOnly = true }
      let reports = try ViewMounts.list().filter { $0.device == view.device }
      #expect(reports.map(\.target) == [scene.target, scene.other].map { Array($0.utf8) })
      #expect(reports.map(\.isReadOnly) == [false, true])
      #expect(reports.allSatisfy { $0.health == .answering && $0.daemon == view.daemon })
      #expect(reports.allSatisfy { $0.identifier == Array(MountingScene.identifier.utf8) })
      #expect(reports.first?.bundleTarget == Array((scene.target + "/Notes.app").utf8))
      try scene.unmount(scene.other)
      try scene.unmount()
    }
  }

  @Test("a remount makes a view read-only and writable again, unless it is written to")
  func remount() throws {
    try withMountingScene { scene in
      try scene.mount()
      let target = Array(scene.target.utf8)
      try ViewMounts.remount(target, readOnly: true)
      #expect(try scene.options("/a view").isSuperset(of: ["ro", "noexec", "nosuid", "nodev"]))
      #expect(try run("touch", ["Documents/x"], in: scene.target).status == 1)
      try ViewMounts.remount(target, readOnly: false)
      #expect(try run("touch", ["Documents/x"], in: scene.target).status == 0)
      let writer = try Descriptor.open(scene.target + "/Documents/x", O_WRONLY)
      let failure = scene.failure { try ViewMounts.remount(target, readOnly: true) }
      #expect(failure?.message.contains("open for writing") == true, "\(failure as Any)")
      _ = writer.rawValue
      _ = consume writer
      try scene.unmount()
    }
  }

  @Test("two who mount at once both get the one view")
  func race() throws {
    try withMountingScene { scene in
      let views = Mutex<[MountedView]>([])
      try concurrently(
        [scene.target, scene.other].map { target in
          {
            let view = try scene.mount(at: target)
            views.withLock { $0.append(view) }
          }
        })
      let both = views.withLock { $0 }
      #expect(both.count == 2 && both.count { $0.isFirst } == 1)
      #expect(Set(both.map(\.device)).count == 1)
      #expect(try scene.mounted().count == 4)
      try scene.unmount()
      try scene.unmount(scene.other)
    }
  }

  @Test("mounting and unmounting leave no descriptor, thread, process or mount behind")
  func nothingIsLeft() throws {
    try withMountingScene { scene in
      try scene.mount()
      try scene.unmount()
      let before = try resources(of: scene)
      for _ in 0..<rounds {
        try scene.mount()
        let work = "echo a > Documents/a && cat Documents/a Notes.app/Info.plist && rm Documents/a"
        #expect(try run("sh", ["-c", work], in: scene.target).text == "a\nhello\n")
        try scene.unmount()
      }
      let after = try resources(of: scene)
      #expect(after == before)
      #expect(try scene.mounted() == [])
    }
  }
}

/// 20, or as many as SANDBOXFS_ROUNDS says.
private let rounds = getenv("SANDBOXFS_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 20

/// How many descriptors and children this process has, and what libmount has noted.
private func resources(of scene: MountingScene) throws -> [String] {
  let script =
    "ls /proc/$PPID/fd | wc -l; cat /proc/$PPID/task/*/children | wc -w; "
    + "grep -c '\(scene.path)/' /run/mount/utab || true"
  return try run("sh", ["-c", script]).text.split(separator: "\n").map(String.init)
}

private func sleeperInOwnNamespace() throws -> ChildProcess {
  let sleeper = try ChildProcess.spawn(
    ChildProcess.Start(
      path: Array("/usr/bin/unshare".utf8),
      arguments: ["unshare", "--mount", "--propagation", "private", "sleep", "120"].map {
        Array($0.utf8)
      }),
    descriptors: [0, 1, 2])
  // It is in its namespace once it is sleep.
  for _ in 0..<1000 where RunningProcess(pid: sleeper.pid).name != Array("sleep".utf8) {
    usleep(5000)
  }
  return sleeper
}

private func end(_ child: ChildProcess) {
  try? child.kill()
  _ = try? child.wait()
}

/// Runs a program in a directory.
private func run(_ program: String, _ arguments: [String], in directory: String) throws -> Outcome {
  try run("env", (["-C", directory, program] + arguments).map { Array($0.utf8) })
}
