// What `explain` says is what a program gets: random questions, each asked of the policy and then
// of a real mount, as root, whom modes do not stop.

import Glibc
import LinuxKit
import Paths
import Policy
import TestSupport
import Testing

private let rules = """
  @include ios
  /Documents/log       append
  /Documents/ro        -write
  /Documents/noread    -read -audit
  /Documents/hid       hidden
  /Documents/out       -hidden
  /Documents/kept      -backup purge=restore
  /Library/Caches      only=*.plist,?*.key
  /Notes.app/hid       hidden
  /Notes.app/noexec    -exec
  *.key                -read
  *.hidden             hidden
  /Documents/tool      exec
  /free                read write
  # What is put there before the mount stays.
  /tmp                 -purge
  """

private let directories = [
  [], ["Documents"], ["Documents", "log"], ["Documents", "ro"], ["Documents", "noread"],
  ["Documents", "hid"], ["Documents", "kept"], ["Documents", "tool"], ["Library", "Preferences"],
  ["Library", "Caches"], ["tmp"], ["Notes.app"], ["Notes.app", "sub"], ["Notes.app", "hid"],
  ["Notes.app", "noexec"], ["free"],
]

/// Numbers that are the same at each run.
private struct RandomSequence: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A question, and how it is put to the kernel.
private struct Trial {
  let question: Question
  /// What is at the second path.
  var hasTarget: Bool { question.operation == .exchange }

  /// A random question about entries that no other question is about.
  init(_ random: inout some RandomNumberGenerator, number: Int) {
    let endings = ["", "", "", ".key", ".hidden", ".plist"]
    func path(_ letter: String, _ isDirectory: Bool) -> ViewPath {
      let directory = directories.randomElement(using: &random) ?? []
      let name = "\(letter)\(number)" + (endings.randomElement(using: &random) ?? "")
      return ViewPath(
        components: (directory + [name]).map { Array($0.utf8) }, namesDirectory: isDirectory)
    }
    let operation = Policy.Operation.allCases.randomElement(using: &random) ?? .lookup
    let isDirectory =
      switch operation {
      case .list: true
      case .read, .write, .append, .exec, .link: false
      default: Bool.random(using: &random)
      }
    question = Question(
      operation, path("a", isDirectory),
      secondPath: operation.takesTwoPaths ? path("b", isDirectory) : nil,
      existing: operation == .exchange ? (isDirectory ? .directory : .file) : nil)
  }

  /// A question about an entry that always stays.
  init(_ operation: Policy.Operation, _ path: String, to second: String? = nil) {
    let paths = [path, second].compactMap(\.self).map { path in
      ViewPath(
        components: path.split(separator: "/").map { Array($0.utf8) }, namesDirectory: true)
    }
    question = Question(operation, paths[0], secondPath: paths.count > 1 ? paths[1] : nil)
  }

  var paths: [ViewPath] { [question.path] + (question.secondPath.map { [$0] } ?? []) }

  var label: String {
    let paths = paths.map { Presentation.path($0.components) }.joined(separator: " ")
    return "\(question.operation.name) \(question.path.namesDirectory ? "directory " : "")\(paths)"
  }

  // MARK: The answers

  /// What the policy says: an errno's name, or `ok`.
  func expected(_ engine: PolicyEngine) -> String {
    // A rule says `exec`, so the view is executable as far as its mounts go.
    engine.refusalByMount(of: question, isNoExec: false)?.errnoName
      ?? engine.explain(question).verdict.denial?.errnoName ?? "ok"
  }

  /// What the kernel says.
  func answer(below view: String) -> String {
    let paths = paths.map { view + Presentation.path($0.components) }
    errno = 0
    let result = call(paths[0], paths.last ?? "")
    guard result == -1 else { return "ok" }
    let names = [
      ENOENT: "ENOENT", EROFS: "EROFS", EACCES: "EACCES", EPERM: "EPERM", EXDEV: "EXDEV",
      EBUSY: "EBUSY",
    ]
    return names[errno] ?? Errno(errno).message
  }

  private func call(_ path: String, _ second: String) -> CInt {
    let isDirectory = question.path.namesDirectory
    switch question.operation {
    case .lookup, .readAttributes:
      var status = stat()
      return lstat(path, &status)
    case .list: return listing(path)
    case .read: return opening(path, O_RDONLY)
    case .write: return writing(path)
    case .append: return opening(path, O_WRONLY | O_APPEND)
    case .create:
      return isDirectory ? mkdir(path, 0o755) : opening(path, O_CREAT | O_EXCL | O_WRONLY)
    case .remove: return isDirectory ? rmdir(path) : unlink(path)
    case .setattr: return chmod(path, 0o750)
    case .exec: return executing(path)
    case .rename: return Glibc.rename(path, second)
    case .link: return Glibc.link(path, second)
    case .exchange: return renameat2(AT_FDCWD, path, AT_FDCWD, second, UInt32(RENAME_EXCHANGE))
    }
  }

  private func opening(_ path: String, _ flags: CInt) -> CInt {
    let descriptor = open(path, flags, 0o755)
    if descriptor >= 0 { close(descriptor) }
    return descriptor
  }

  /// Opens a file and writes over its first byte.
  private func writing(_ path: String) -> CInt {
    let descriptor = open(path, O_WRONLY)
    guard descriptor >= 0 else { return -1 }
    let count = pwrite(descriptor, "#", 1, 0)
    let code = errno
    close(descriptor)
    errno = code
    return count == 1 ? 0 : -1
  }

  private func listing(_ path: String) -> CInt {
    guard let directory = opendir(path) else { return -1 }
    defer { closedir(directory) }
    errno = 0
    let entry = readdir(directory)
    return entry == nil && errno != 0 ? -1 : 0
  }

  private func executing(_ path: String) -> CInt {
    var pid: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
    defer { free(words[0]) }
    let code = posix_spawn(&pid, path, nil, nil, &words, nil)
    guard code == 0 else {
      errno = code
      return -1
    }
    var status: CInt = 0
    waitpid(pid, &status, 0)
    return 0
  }
}

@Suite(.serialized) struct ExplanationTests {
  private static let fixed: [Trial] =
    ["/Documents", "/Library", "/Library/Caches", "/tmp", "/Notes.app"].flatMap { path in
      [
        Trial(.lookup, path), Trial(.list, path), Trial(.setattr, path), Trial(.remove, path),
        Trial(.rename, path, to: "/free/moved"), Trial(.exchange, path, to: "/free/there"),
        Trial(.rename, "/free/there", to: path),
      ]
    }

  @Test func whatIsExplainedIsWhatAProgramGets() throws {
    try withMountingScene { scene in
      var random = RandomSequence(state: 1)
      let trials = Self.fixed + (0..<700).map { Trial(&random, number: $0) }
      try make(trials, in: scene)
      try scene.mount(rules: rules)
      let source = ProfileSource(
        rank: .shipped, name: Array("test.profile".utf8), text: Array(rules.utf8))
      let engine = try PolicyEngine(layers: [source], bundleName: Array("Notes.app".utf8))
      var answers: Set<String> = []
      for trial in trials {
        let expected = trial.expected(engine)
        let answer = trial.answer(below: scene.target)
        answers.insert("\(trial.question.operation.name) \(answer)")
        #expect(answer == expected, "\(trial.label)")
      }
      // Not all that is random was refused, or allowed.
      #expect(answers.count > 30)
      try scene.unmount()
    }
  }

  /// Makes what the questions are about, beside the view.
  private func make(_ trials: [Trial], in scene: MountingScene) throws {
    var script = "umask 022; exec 3>/dev/null\n"
    func place(_ components: [[UInt8]]) -> String {
      let path = components.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
      let base = path.hasPrefix("Notes.app/") ? "bundle" : "data"
      return "'\(scene.container)/\(base)/\(path)'"
    }
    for directory in directories where !directory.isEmpty {
      script += "mkdir -p \(place(directory.map { Array($0.utf8) }))\n"
    }
    script += "mkdir -p \(place([Array("free".utf8), Array("there".utf8)]))\n"
    for trial in trials {
      let made = trial.hasTarget ? trial.paths : [trial.question.path]
      for path in made where trial.question.operation != .create {
        let place = place(path.components)
        script +=
          path.namesDirectory
          ? "mkdir -p \(place)\n" : "echo '#!/bin/true' > \(place); chmod 755 \(place)\n"
      }
    }
    let made = try run("sh", ["-e"], input: Array(script.utf8))
    try #require(made.status == 0, "\(made.errorText)")
  }
}
