// An installed bundle that is changed in the store while a program of it runs and files of it are
// mapped, also after whoever served it was killed: what was read stays, and what was not is the
// original or a bus error.

import Containers
import Glibc
import LinuxKit
import Mounting
import Store
import TestSupport
import Testing

/// `Tests/Programs/FarPages.c`, running from a bundle.
private final class FarPages {
  private let child: ChildProcess
  private let commands: Descriptor
  private let answers: Descriptor
  private var rest: [UInt8] = []

  init(_ program: String) throws {
    var input = try Pipe()
    var output = try Pipe()
    child = try ChildProcess.spawn(
      ChildProcess.Start(path: Array(program.utf8), arguments: [Array(program.utf8)]),
      descriptors: [input.reading.rawValue, output.writing?.rawValue ?? -1, STDERR_FILENO])
    output.writing = nil
    guard let writing = input.writing.take() else { fatalError("a new pipe has both ends") }
    commands = writing
    answers = try output.reading.duplicate()
  }

  deinit {
    try? child.kill()
    _ = try? child.wait()
  }

  /// The program's answer to a command.
  func ask(_ command: String) throws -> String {
    try commands.writeAll(Array("\(command)\n".utf8))
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Array(rest[(end + 1)...]) }
        return String(decoding: rest[..<end], as: UTF8.self)
      }
      let more = try answers.readSome()
      if more.isEmpty { throw ProgramFailure(description: "\(command): the program has ended") }
      rest += more
    }
  }

  func call(_ function: Int) throws -> String { try ask("call \(function)") }
}

extension TamperScene {
  fileprivate var program: String { view + "/Notes.app/FarPages" }

  /// The error of opening a file of the bundle; 0 if it can be.
  fileprivate func errorOfOpening(_ name: String) -> Int32 {
    let file = open("\(view)/Notes.app/\(name)", O_RDONLY | O_CLOEXEC)
    defer { if file >= 0 { close(file) } }
    return file >= 0 ? 0 : errno
  }

  /// The error of executing the program anew; 0 if it can be.
  fileprivate func errorOfExecution() -> Int32 {
    do {
      _ = try FarPages(program)
      return 0
    } catch {
      return (error as? Errno)?.code ?? -1
    }
  }

  /// Kills who serves the view, and waits until somebody else does.
  fileprivate func killServer() throws {
    let directory = try Descriptor.open(container, O_RDONLY | O_DIRECTORY)
    let before = try #require(try DaemonStatus.ask(directory)).worker
    try #require(kill(before, SIGKILL) == 0)
    for _ in 0..<1000 {
      if let now = try DaemonStatus.ask(directory)?.worker, now != before { return }
      usleep(10_000)
    }
    throw ProgramFailure(description: "nobody serves the view")
  }
}

private func withRunningProgram(_ body: (TamperScene, FarPages) throws -> Void) throws {
  let changes = ["first", "second", "third"].map { Change($0, "true", finds: []) }
  let prepare: (SampleBundle) throws -> Void = { bundle in
    let made = try run(
      "gcc",
      [
        "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-z,max-page-size=65536",
        source("FarPages.c"), "-o", bundle.path + "/FarPages",
      ])
    try #require(made.status == 0, "\(made.errorText)")
  }
  try withTamperScene(changes: changes, prepare: prepare) { scene in
    try scene.mount()
    let program = try FarPages(scene.program)
    // Functions that are far from each other, as the kernel reads some of what lies around.
    #expect(try program.call(10) == "1010")
    #expect(try program.ask("map \(scene.view)/Notes.app/first/a") == "229376")
    #expect(try program.ask("look 0") == "\(UInt8(ascii: "f"))")
    try body(scene, program)
  }
}

@Suite("A bundle that is changed while it runs", .enabled(if: geteuid() == 0, "needs root"))
struct TamperRunningTests {
  /// A change of the program's file in the store; `$place` is where function 40 begins there.
  struct ProgramChange: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let script: String
    /// Whether what is open is still the original, so that nothing is noticed.
    let isServed: Bool
  }

  static let programChanges = [
    ProgramChange(
      testDescription: "a function that was not read, in place",
      script: "printf XXXX | dd of=FarPages bs=1 seek=$((place + 1)) conv=notrunc status=none",
      isServed: false),
    ProgramChange(
      testDescription: "all of it, in place",
      script: """
        size=$(stat -c %s FarPages)
        head -c $size /dev/zero | tr '\\0' X | dd of=FarPages conv=notrunc status=none
        """, isServed: false),
    ProgramChange(testDescription: "emptied", script: ": > FarPages", isServed: false),
    ProgramChange(
      testDescription: "a hole",
      script: "size=$(stat -c %s FarPages); truncate -s 0 FarPages; truncate -s $size FarPages",
      isServed: false),
    // The daemon reads what it has opened, which is still the original.
    ProgramChange(
      testDescription: "replaced by rename", script: "cp first/a t; mv t FarPages", isServed: true),
    ProgramChange(testDescription: "removed", script: "rm FarPages", isServed: true),
  ]

  @Test("the program goes on with what it is, and gets nothing else", arguments: programChanges)
  func program(_ change: ProgramChange) throws {
    try withRunningProgram { scene, program in
      let place = try program.ask("where 40")
      try scene.change("place=\(place)\n" + change.script, in: scene.bundle)
      #expect(try program.call(10) == "1010")
      #expect(try program.call(40) == (change.isServed ? "1040" : "SIGBUS"))
      #expect(try program.call(40) == (change.isServed ? "1040" : "SIGBUS"))
      // Whatever has been read and whatever has not, nothing but the original is ever executed.
      for function in 10...49 {
        #expect(["\(1000 + function)", "SIGBUS"].contains(try program.call(function)))
      }
      #expect(try program.call(10) == "1010")
      #expect(scene.errorOfExecution() == (change.isServed ? 0 : EACCES))
      #expect(scene.findings == (change.isServed ? "" : "Notes.app/FarPages has changed\n"))
    }
  }

  @Test("a mapped file keeps what was read of it, and gets nothing else")
  func mapped() throws {
    try withRunningProgram { scene, program in
      let bytes = contents(scene.original + "/first/a")
      try scene.change(
        "head -c 229376 /dev/zero | tr '\\0' X | dd of=a conv=notrunc status=none",
        in: scene.bundle + "/first")
      #expect(try program.ask("look 0") == "\(bytes[0])")
      #expect(try program.ask("look 229375") == "SIGBUS")
      for place in stride(from: 0, to: bytes.count, by: 4096) {
        #expect(["\(bytes[place])", "SIGBUS"].contains(try program.ask("look \(place)")))
      }
      #expect(scene.errorOfOpening("first/a") == EACCES)
    }
  }

  @Test("what was found before is counted once, whoever goes on")
  func counted() throws {
    let look = { (scene: TamperScene, names: ClosedRange<Int>) in
      for name in names { #expect(scene.errorOfOpening("first/n\(name)") == EACCES) }
    }
    try withTamperScene(changes: [Change("first", "true", finds: [])]) { scene in
      try scene.change("touch n{1..110}", in: scene.bundle + "/first")
      try scene.mount()
      look(scene, 1...60)
      try ViewMounts.unmount(Array(scene.view.utf8))
      try scene.mount()
      look(scene, 1...60)
      try scene.killServer()
      look(scene, 1...90)
      #expect(scene.findings.split(separator: "\n").count == 90)
      look(scene, 91...110)
      // As many as anybody would read.
      #expect(scene.findings.split(separator: "\n").count == 100)
    }
  }

  @Test("all of that holds for who goes on where the process that served was killed")
  func killed() throws {
    try withRunningProgram { scene, program in
      try scene.change(
        "printf X | dd of=a bs=1 conv=notrunc status=none", in: scene.bundle + "/second")
      try scene.change("rm a", in: scene.bundle + "/third")
      let file = SealedFile(path: "second/a", bytes: contents(scene.original + "/second/a"))
      #expect(!file.expectOriginalOrErrors(in: scene))
      #expect(scene.errorOfOpening("third/a") == EACCES)
      let found = scene.findings
      try scene.killServer()

      // What was found to be broken still is, and is not found again.
      #expect(scene.errorOfOpening("second/a") == EACCES)
      #expect(scene.errorOfOpening("third/a") == EACCES)
      #expect(scene.errorOfExecution() == EACCES)
      #expect(scene.findings == found)
      #expect(try scene.installed().sealStatus().state == .modified)
      // The program goes on, with pages that nobody had asked for before.
      #expect(try program.call(10) == "1010")
      #expect(try program.call(30) == "1030")
      #expect(try program.ask("look 229375") == "\(contents(scene.original + "/first/a")[229375])")
      // What is read from now on is compared, whether it was open before or not.
      let place = try program.ask("where 40")
      try scene.change(
        """
        printf XXXX | dd of=FarPages bs=1 seek=$((\(place) + 1)) conv=notrunc status=none
        printf X | dd of=second/b bs=1 conv=notrunc status=none
        """, in: scene.bundle)
      #expect(try program.call(40) == "SIGBUS")
      let other = SealedFile(path: "second/b", bytes: contents(scene.original + "/second/b"))
      #expect(!other.expectOriginalOrErrors(in: scene))
      #expect(
        scene.findings == found + "Notes.app/FarPages has changed\nNotes.app/second/b has changed\n"
      )
      try scene.killServer()
      #expect(scene.errorOfOpening("second/b") == EACCES)
      #expect(try program.call(20) == "1020")
    }
  }
}
