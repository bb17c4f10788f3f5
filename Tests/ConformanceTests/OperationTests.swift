// The differential fuzzer of operations: random sequences on a plain directory and on a view, and
// those that once differed. `scripts/fuzz-ops` runs it for long.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

private let variables = ProcessInfo.processInfo.environment

/// How long each ground is fuzzed.
private let seconds = variables["SANDBOXFS_FUZZ_SECONDS"].flatMap(Int.init) ?? 6
/// The first seed: always the same in a test that says nothing else.
private let seed = variables["SANDBOXFS_FUZZ_SEED"] ?? "1"

/// All of them, the one that is asked for, or those that have the words in their names.
private let grounds: [Ground] = {
  guard let words = variables["SANDBOXFS_FUZZ_KIND"] else { return Ground.fuzzed }
  let exact = Ground.fuzzed.filter { $0.rawValue == words }
  return exact.isEmpty ? Ground.fuzzed.filter { $0.rawValue.contains(words) } : exact
}()

/// What once differed, each a file of operations; or the one that is asked for.
private let sequences: [String] = {
  if let file = variables["SANDBOXFS_FUZZ_REPLAY"] { return [file] }
  let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  let directory = tests.appending(path: "Fuzz/Operations").path
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  return names.sorted().map { directory + "/" + $0 }
}()

/// Runs the fuzzer on a ground, on two directories that are mounted alike.
private func fuzz(on ground: Ground, _ words: [String], seconds: Int) throws -> Outcome {
  let program = try compile("fuzzops")
  let id = String(ground.owner)
  let actor = ["setpriv", "--reuid", id, "--regid", id, "--clear-groups"]
  let command = (ground.isOfUser ? actor : []) + [program] + ground.fuzzOptions
  return try withGround(ground) { directory in
    let plain = try makePlain(in: directory, ground.owner)
    defer { try? LinuxKit.unmount(Array(plain.utf8), .detach) }
    let view = try mountedView(in: directory, ground)
    let options = words.prefix { $0.hasPrefix("--") }
    let files = words.dropFirst(options.count)
    let all = command + options + [plain, view.path + "/Documents"] + files
    let outcome = try run(all[0], Array(all.dropFirst()), timeoutSeconds: seconds + 300)
    try view.unmount()
    return outcome
  }
}

private func mountedView(in directory: String, _ ground: Ground) throws -> TestView {
  var settings = TestView.Settings(owner: ground.owner)
  if ground == .userUnkept { settings.without = .writeback }
  if ground == .limited {
    settings.profile = "/ read write exec backup\n/Documents quota=1000G,1000000\n"
    settings.limits = ContainerLimits(byteCount: 1 << 42, entryCount: 1 << 30)
  }
  guard ground.isOfUser else { return try TestView(in: directory, settings) }
  return try FuseDevice.withOpenToUsers { try TestView(in: directory, settings) }
}

extension Ground {
  fileprivate static var fuzzed: [Ground] {
    let users = possible.contains(.user) ? [userUnkept] : []
    return possible + users + [limited] + stores
  }

  fileprivate var fuzzOptions: [String] {
    switch self {
    case .disk, .xfs, .btrfs, .overlay: []
    case .limited: ["--limited"]
    case .memory: ["--blocks"]
    case .user: ["--user", "--cached", "--kept"]
    case .userUnkept: ["--user", "--cached"]
    case .stacked: ["--cached"]
    }
  }
}

@Suite(.serialized) struct OperationTests {
  @Test("random sequences of operations do the same to a view", arguments: grounds)
  func random(_ ground: Ground) throws {
    let words = ["--seed=\(seed)", "--seconds=\(seconds)"]
    let outcome = try fuzz(on: ground, words, seconds: seconds)
    #expect(outcome.status == 0, "\(outcome.text)\(outcome.errorText)")
    #expect(outcome.text.contains(" 0 differences"))
    if variables["SANDBOXFS_FUZZ_SECONDS"] != nil { print("\(ground.rawValue): \(outcome.text)") }
  }

  @Test("what once differed does no longer", arguments: grounds)
  func replayed(_ ground: Ground) throws {
    #expect(!sequences.isEmpty)
    let outcome = try fuzz(on: ground, sequences, seconds: 60)
    #expect(outcome.status == 0, "\(outcome.text)\(outcome.errorText)")
  }

  @Test("a difference is found, and told as the shortest sequence")
  func found() throws {
    let program = try compile("fuzzops")
    try withTemporaryDirectory { directory in
      let plain = try makePlain(in: directory, 0)
      defer { try? LinuxKit.unmount(Array(plain.utf8), .detach) }
      // Nothing can be executed in the one: access(2) says so.
      let other = directory + "/other"
      #expect(mkdir(other, 0o755) == 0)
      let sequence = directory + "/sequence"
      try """
      0 mkdir d 0755
      2 open 0 a 0102 0777
      0 look 1
      2 write 0 100 1
      2 access a 1
      2 stat a
      """.write(toFile: sequence, atomically: true, encoding: .utf8)
      let outcome = try run(program, ["--strict", plain, other, sequence])
      #expect(outcome.status == 1, "\(outcome.errorText)")
      let shortest = """
        the shortest that differs:
        2 open 0 a 0102 0777
        2 access a 1

        """
      #expect(outcome.text.contains(shortest), "\(outcome.text)")
    }
  }
}
