// A child that takes steps before it executes: what it keeps, what it loses, and how it fails.

import Glibc
import LinuxKit
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Runs a shell script behind steps; its status and what it wrote to descriptor 3.
private func run(
  _ script: String, steps: [NamespaceStep] = [], environment: [String] = []
) throws -> (status: Int32, output: String) {
  var ends: [CInt] = [-1, -1]
  try #require(pipe2(&ends, O_CLOEXEC) == 0)
  let reading = Descriptor(owning: ends[0])
  var writing: Descriptor? = Descriptor(owning: ends[1])
  let process = try ConfinedProcess(
    program: bytes("/bin/sh"), arguments: ["sh", "-c", script].map(bytes),
    environment: environment.map(bytes), steps: steps, descriptors: [ends[1]])
  writing = nil
  _ = consume writing
  var output: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while case let count = read(reading.rawValue, &chunk, chunk.count), count > 0 {
    output += chunk.prefix(count)
  }
  return (try process.wait(), String(decoding: output, as: UTF8.self))
}

@Suite("A confined process")
struct ConfinedProcessTests {
  @Test(
    "ends with its own status, or 128 and its signal",
    arguments: [
      ("exit 7", Int32(7)), ("exit 0", 0), ("kill -TERM $$", 143), ("kill -KILL $$", 137),
    ])
  func status(_ row: (script: String, want: Int32)) throws {
    #expect(try run(row.script).status == row.want)
  }

  @Test("has the descriptors that it was given and no other, whatever is open here")
  func descriptors() throws {
    let stray = open("/dev/null", O_RDONLY)  // Without O_CLOEXEC, as a careless library has it.
    defer { close(stray) }
    // ls has one more, for the directory that it lists.
    #expect(try run("ls -m /proc/self/fd >&3").output == "0, 1, 2, 3, 4\n")
  }

  @Test("has the environment that it was given and no other")
  func environment() throws {
    let output = try run("/usr/bin/env >&3", environment: ["A=1"]).output
    #expect(output.split(separator: "\n").filter { !$0.hasPrefix("PWD=") } == ["A=1"])
  }

  @Test("leads its own session with no signal blocked or ignored")
  func signals() throws {
    let output = try run("grep Sig /proc/self/status >&3; ps -o sid= -p $$ >&3; echo $$ >&3").output
    for field in ["SigBlk", "SigIgn"] {
      #expect(output.contains("\(field):\t0000000000000000\n"))
    }
    let last = output.split(separator: "\n").suffix(2).map { $0.filter(\.isNumber) }
    #expect(last[0] == last[1])
  }

  @Test("mounts where nobody else sees it", .enabled(if: getuid() == 0))
  func mounts() throws {
    let stage = "/tmp/stage-\(getpid())"
    try #require(mkdir(stage, 0o700) == 0)
    defer { rmdir(stage) }
    let steps: [NamespaceStep] = [
      .leave(user: false), .keepMountsInside,
      .mount(
        type: "tmpfs", onto: bytes(stage), options: "mode=0755", attributes: [.noExec, .noSetID]),
      .directory(bytes(stage + "/a"), mode: 0o700), .file(bytes(stage + "/null")),
      .bind(bytes("/dev/null"), onto: bytes(stage + "/null"), adding: .noExec, recursive: false),
      .link(bytes(stage + "/l"), target: bytes("a")), .restrict(bytes(stage), .readOnly),
    ]
    let output = try run(
      "grep ' \(stage)' /proc/self/mountinfo | cut -d' ' -f5,6 >&3; ls \(stage) >&3", steps: steps
    ).output
    #expect(
      output == """
        \(stage) ro,nosuid,noexec,relatime
        \(stage)/null rw,noexec,relatime
        a
        l
        null

        """)
    #expect(access(stage + "/null", F_OK) != 0)
  }

  @Test("becomes another user, without groups and capabilities", .enabled(if: getuid() == 0))
  func identity() throws {
    let output = try run(
      "id -u >&3; id -G >&3; grep -E '^Cap(Prm|Eff)' /proc/self/status >&3",
      steps: [.become(uid: 0x7000_0123, gid: 0x7000_0124)]
    ).output
    #expect(
      output == """
        1879048483
        1879048484
        CapPrm:\t0000000000000000
        CapEff:\t0000000000000000

        """)
  }

  @Test("says which step failed, and leaves no child behind")
  func failures() throws {
    let step = NamespaceStep.directory(bytes("/proc/none/here"), mode: 0o700)
    #expect(throws: SpawnFailure(step: step, errno: .noEntry)) {
      try run(
        "true", steps: [.directoryBeneath(bytes("/proc"), path: bytes("x"), mode: 0o700), step])
    }
  }

  @Test("follows no link on its way to a directory that an app can write")
  func planted() throws {
    let base = "/tmp/confined-\(getpid())"
    defer {
      for name in ["/out/run", "/out", "/tmp", "/real/run", "/real", ""]
      where unlink(base + name) != 0 {
        rmdir(base + name)
      }
    }
    for name in ["", "/out", "/real"] { try #require(mkdir(base + name, 0o700) == 0) }
    try #require(symlink("out", base + "/tmp") == 0)
    let steps = ["tmp/run", "real/run", "real/run", "none/run", "../run"].map {
      NamespaceStep.directoryBeneath(bytes(base), path: bytes($0), mode: 0o700)
    }
    #expect(try run("true", steps: steps).status == 0)
    #expect(access(base + "/out/run", F_OK) != 0)
    #expect(access(base + "/real/run", F_OK) == 0)
    #expect(access("/tmp/run", F_OK) != 0)
  }
}
