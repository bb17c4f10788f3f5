// What a hostile program finds and changes: nothing.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A hostile program", .enabled(if: geteuid() == 0, "needs root"))
struct RunHostileTests {
  /// What it tried, with what came of it.
  private struct Attempts {
    let outcomes: [(name: String, result: String)]
    let traces: [String]

    init(_ text: String) {
      let lines = text.split(separator: "\n").map(String.init)
      traces = lines.filter { $0.hasPrefix("found: ") }
      outcomes = lines.filter { !$0.hasPrefix("found: ") }.map { line in
        let end = line.range(of: ": ", options: .backwards)?.lowerBound ?? line.endIndex
        return (String(line[..<end]), String(line[end...].dropFirst(2)))
      }
    }

    /// What came of those whose names begin so, by the rest of the name.
    func table(_ prefix: String) -> [String: String] {
      let chosen = outcomes.filter { $0.name.hasPrefix(prefix) }
      return Dictionary(
        chosen.map { (String($0.name.dropFirst(prefix.count)), $0.result) }, uniquingKeysWith: +)
    }

    /// Those that were not refused.
    var done: Set<String> { Set(outcomes.filter { $0.result == "done" }.map(\.name)) }

    /// The results of those whose names begin so.
    func results(_ prefix: String) -> Set<String> {
      Set(outcomes.filter { $0.name.hasPrefix(prefix) }.map(\.result))
    }
  }

  @Test(
    "finds no trace of another app, changes nothing of its bundle and executes nothing it wrote",
    .enabled(if: isInstalled("gcc"), "needs gcc"), arguments: RunScene.Person.allCases)
  func asTheApp(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let attempts = try attempts(scene, "user")
      #expect(attempts.traces.isEmpty)
      #expect(attempts.done == ["code: the bundle's own"])
      #expect(attempts.outcomes.count > 70)
      #expect(attempts.results("bundle: ").isSubset(of: Self.bundleRefusals))
      #expect(attempts.results("code: execute by loader") == ["EACCES"])
      #expect(attempts.results("code: map") == ["EPERM"])
      #expect(attempts.results("code: protect") == ["EACCES"])
      #expect(attempts.results("path") == ["ENOENT"])
      #expect(attempts.results("door: user namespace") == ["EPERM"])
      let calls = Self.namespaceCalls.merging(Self.calls) { $1 }
      #expect(attempts.table("call: ") == calls)
    }
  }

  @Test(
    "does no better beside a run of its app, started by exec",
    .enabled(if: isInstalled("gcc"), "needs gcc"), arguments: RunScene.Person.allCases)
  func byExec(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let attempts = try attempts(scene, "user", byExec: true)
      #expect(attempts.traces.isEmpty)
      #expect(attempts.done == ["code: the bundle's own"])
      #expect(attempts.results("path") == ["ENOENT"])
      #expect(attempts.table("call: ") == Self.namespaceCalls.merging(Self.calls) { $1 })
    }
  }

  @Test(
    "does no better as root of its own user namespace, where that is allowed",
    .enabled(if: isInstalled("gcc"), "needs gcc"), arguments: RunScene.Person.allCases)
  func asRootOfItsOwn(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let attempts = try attempts(scene, "root")
      #expect(attempts.traces.isEmpty)
      // All of these reach only the mounts of that namespace.
      #expect(
        attempts.done == [
          "becoming root", "code: the bundle's own", "door: chroot", "door: fsopen",
          "door: mount tmpfs", "door: open_tree", "call: clone", "call: clone3",
        ])
      #expect(attempts.results("bundle: ").isSubset(of: Self.bundleRefusals))
      #expect(attempts.results("code: map") == ["EPERM"])
      let calls = attempts.table("call: ").filter { Self.namespaceCalls[$0.key] == nil }
      #expect(calls == Self.calls)
    }
  }

  /// What the filter of system calls refuses, with which errno.
  private static let calls: [String: String] = {
    var calls = [
      "vsock": "EAFNOSUPPORT", "vsock with high bits": "EAFNOSUPPORT",
      "packet socket": "EAFNOSUPPORT", "kernel crypto": "EAFNOSUPPORT",
      "bluetooth": "EAFNOSUPPORT",
    ]
    for name in [
      "TIOCSTI", "TIOCSTI with high bits", "TIOCLINUX", "TIOCSETD", "ptrace attach",
      "ptrace seize", "process_vm_readv", "pidfd_getfd", "keyctl", "add_key", "request_key",
      "personality", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
      "open_by_handle_at", "syslog", "init_module", "reboot",
    ] {
      calls[name] = "EPERM"
    }
    #if arch(x86_64)
      calls["x32"] = "SIGSYS"
      calls["i386"] = "SIGSYS"
    #endif
    return calls
  }()

  /// What it refuses besides, unless user namespaces are allowed.
  private static let namespaceCalls = ["clone": "EPERM", "clone3": "ENOSYS", "setns": "EPERM"]

  /// ETXTBSY: the program runs; EBUSY, EXDEV: the bundle is a mount; EINVAL: it is a locked one.
  private static let bundleRefusals: Set = [
    "EROFS", "EXDEV", "EBUSY", "ETXTBSY", "EPERM", "EINVAL",
  ]

  private func attempts(_ scene: RunScene, _ kind: String, byExec: Bool = false) throws -> Attempts
  {
    let (secret, word) = ("org.example.Secret", "a word that nobody else knows")
    try scene.install(scene.makeBundle("Secret"))
    try scene.install(
      scene.makeBundle("Hostile") { executable in
        try compileC("Hostile", to: executable)
      })
    // The other app runs meanwhile, so its view is mounted too.
    let other = try scene.start(
      secret, ["sh", "-c", "echo '\(word)' >Documents/s; touch tmp/ready; sleep 60"])
    defer { other.end() }
    try other.wait { FileManager.default.fileExists(atPath: scene.data(secret, "tmp/ready")) }
    let app = "org.example.Hostile"
    let words = [
      "/home/app/Hostile.app/Hostile", kind, secret, word, scene.store, "/run/sandboxfs",
    ]
    let beside = byExec ? try scene.startSleeping(app) : nil
    defer { beside?.end() }
    let outcome =
      byExec
      ? try scene.perform([scene.program, "exec", app, "--"] + words)
      : try scene.run(app, options: kind == "root" ? ["--allow", "userns"] : [], words)
    #expect(outcome.status == 0, "\(outcome.errorText)")
    let word2 = try String(contentsOfFile: scene.data(secret, "Documents/s"), encoding: .utf8)
    #expect(word2 == word + "\n")
    return Attempts(outcome.text)
  }
}
