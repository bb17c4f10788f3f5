// Programs that many trust, while those who serve them die, and what a crash of the machine leaves.

import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// Whether this is the long run: `scripts/soak`.
private let isSoak = ProcessInfo.processInfo.environment["SANDBOXFS_SOAK_KILLS"] != nil

@Suite(.serialized) struct WorkloadTests {
  /// Runs a program in a view, as its user, while its server is killed again and again; how often.
  private func killing(
    _ view: TestView, on ground: Ground, _ words: [String]
  ) throws -> (count: Int, status: Int32, text: String) {
    let user = String(ground.owner)
    let actor = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    let command = (ground == .user ? actor : []) + words
    let output = try Descriptor.memory(holding: [])
    let environment = standardEnvironment.merging(["HOME": view.path + "/Documents"]) { $1 }
    let app = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array("/usr/bin/env".utf8), arguments: (["env"] + command).map { Array($0.utf8) },
        environment: environment.map { Array("\($0)=\($1)".utf8) }),
      descriptors: [STDIN_FILENO, output.rawValue, STDERR_FILENO])
    var (killed, last, status): (Int, pid_t, Int32?) = (0, 0, nil)
    while status == nil {
      usleep(50_000)
      status = try app.exitStatusIfEnded()
      guard let worker = RunningProcess(pid: view.daemon.pid).children.first, worker != last,
        kill(worker, SIGKILL) == 0
      else { continue }
      (killed, last) = (killed + 1, worker)
    }
    try output.rewind()
    let text = String(decoding: try output.readToEnd(atMost: 64 << 20), as: UTF8.self)
    return (killed, status ?? -1, text)
  }

  @Test(
    "git, sqlite, rsync and tar say the same as without deaths",
    .enabled(if: isSoak && FuseDevice.obstacle == nil, "takes minutes"))
  func everydayTools() throws {
    let tools = programSource("everyday-tools.sh")
    try withSurvivingView(on: .user) { view in
      let plain = view.container + "/../plain"
      let owner = String(Ground.user.owner)
      let made = try run("sh", ["-ec", "mkdir \"$0\"; chown \"$1:$1\" \"$0\"", plain, owner])
      #expect(made.status == 0)
      let expected = try run(
        "setpriv", ["--reuid", owner, "--regid", owner, "--clear-groups", "sh", tools, plain],
        environment: standardEnvironment.merging(["HOME": plain]) { $1 }, timeoutSeconds: 600)
      #expect(expected.status == 0, "\(expected.errorText)")
      let seen = try killing(view, on: .user, ["sh", tools, view.path + "/Documents"])
      #expect(seen.status == 0)
      #expect(seen.text == expected.text)
      #expect(seen.count > 10)
      try view.unmount()
    }
  }

  @Test(
    "what fio has written is there, whoever dies", .enabled(if: isSoak, "takes minutes"),
    arguments: [Ground.disk, .user].filter(Ground.possible.contains))
  func verification(ground: Ground) throws {
    try withSurvivingView(on: ground) { view in
      let words = [
        "fio", "--name=verify", "--directory=" + view.path + "/Documents", "--rw=randwrite",
        "--bs=4k", "--size=16m", "--numjobs=2", "--loops=3", "--verify=crc32c", "--fsync=64",
        "--verify_fatal=1", "--verify_state_save=0", "--output-format=terse",
      ]
      let seen = try killing(view, on: ground, words)
      #expect(seen.status == 0, "\(seen.text)")
      #expect(seen.count > 10)
      try view.unmount()
    }
  }

  /// A file system in a file, and how it is made.
  struct Disk: CustomTestStringConvertible, Sendable {
    let type: String
    let make: String

    var testDescription: String { type }

    static let all = [
      Disk(type: "ext4", make: "mkfs.ext4 -q -F"), Disk(type: "xfs", make: "mkfs.xfs -q"),
    ]
  }

  @Test(
    "what fsync has answered is there after a crash of the machine",
    .enabled(if: geteuid() == 0 && access("/dev/loop-control", F_OK) == 0, "needs loop devices"),
    arguments: Disk.all)
  func crash(disk: Disk) throws {
    try withTemporaryDirectory { directory in
      let base = directory + "/base"
      let make = "cd \"$0\"; truncate -s 512M image; \(disk.make) image; mkdir base"
      let mount = "mount -o loop \"$0/image\" \"$0/base\""
      let made = try run("sh", ["-ec", make + "; " + mount, directory])
      try #require(made.status == 0, "\(made.errorText)")
      defer { try? LinuxKit.unmount(Array(base.utf8), .detach) }
      let said = try promises(in: base, shutDownAfter: 500_000, said: directory + "/said")
      #expect(said > 5)
      try unmountPatiently(base)
      try #require(run("sh", ["-ec", mount, directory]).status == 0)
      // The store as it is, and as a view shows it.
      let documents = base + "/container/data/Documents"
      #expect(try kept(documents) >= said)
      let view = try TestView(in: base)
      #expect(try kept(view.path + "/Documents") >= said)
      try view.unmount()
    }
  }

  /// Runs the program that promises in a view, and cuts the store off from its disk; what it said
  /// last.
  private func promises(in base: String, shutDownAfter microseconds: UInt32, said: String) throws
    -> Int
  {
    let view = try TestView(in: base)
    let program = try compile("durable")
    let output = try Descriptor.open(said, O_WRONLY | O_CREAT, mode: 0o600)
    let app = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array(program.utf8),
        arguments: [program, view.path + "/Documents"].map { Array($0.utf8) }),
      descriptors: [STDIN_FILENO, output.rawValue, STDERR_FILENO])
    usleep(microseconds)
    // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number: nothing more reaches the disk, the
    // journal neither.
    let place = try Descriptor.open(base, O_RDONLY | O_DIRECTORY)
    var flags: UInt32 = 2
    #expect(ioctl(place.rawValue, 0x8004_587D, &flags) == 0)
    #expect(try app.wait() == 0)
    try? LinuxKit.unmount(Array(view.path.utf8), .detach)
    _ = try view.daemon.wait()
    let lines = try String(contentsOfFile: said, encoding: .utf8).split(separator: "\n")
    return lines.last.flatMap { Int($0) } ?? 0
  }

  /// The last round of which everything is in a directory.
  private func kept(_ directory: String) throws -> Int {
    let lines = try String(contentsOfFile: directory + "/lines", encoding: .utf8)
      .split(separator: "\n")
    var round = 0
    while round < lines.count, Int(lines[round]) == round + 1,
      let text = try? String(contentsOfFile: "\(directory)/file-\(round + 1)", encoding: .utf8),
      Int(text.dropLast()) == round + 1
    {
      round += 1
    }
    return round
  }
}
