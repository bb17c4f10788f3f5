// Every word that the programs say is recorded in Tests/Golden, and read like code when it changes.
//
// A transcript holds command lines behind `$ `, each followed by what it printed and, where it is
// not 0, by its exit status in brackets. To add a case, add its line and record:
//
//     SANDBOXFS_RECORD=1 swift test --filter TranscriptTests

import Foundation
import TestSupport
import Testing

private let directory = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().appending(path: "Golden")

@Suite struct TranscriptTests {
  @Test("what is said about a command line is what was recorded", arguments: ["errors", "help"])
  func lines(_ name: String) throws {
    try compare(name) { commands, scratch in
      try commands.enumerated().map { number, command in
        let place = "\(scratch)/\(number)"
        _ = try run("mkdir", [place])
        return try said(script([command]), in: place).replacing(place, with: "SCRATCH")
      }.joined()
    }
  }

  @Test(
    "what is told of an app's life, its rules and its seal is what was recorded",
    arguments: ["session", "policy", "seal"])
  func session(_ name: String) throws {
    try compare(name) { commands, scratch in
      try makeBundles(in: scratch)
      return try said(script(commands), in: scratch, apart: true)
    }
  }

  private func compare(
    _ name: String, _ body: (_ commands: [String], _ scratch: String) throws -> String
  ) throws {
    let file = directory.appending(path: "\(name).txt")
    let recorded = try String(contentsOf: file, encoding: .utf8)
    let commands = recorded.split(separator: "\n").filter { $0.hasPrefix("$ ") }
      .map { String($0.dropFirst(2)) }
    let said = try withTemporaryDirectory { try withoutPlaces(body(commands, $0), $0) }
    if ProcessInfo.processInfo.environment["SANDBOXFS_RECORD"] != nil {
      try said.write(to: file, atomically: true, encoding: .utf8)
      return
    }
    let entries = (said: entries(said), recorded: entries(recorded))
    for (said, recorded) in zip(entries.said, entries.recorded) {
      #expect(said == recorded, "\(name).txt; SANDBOXFS_RECORD=1 records what is said now")
    }
    #expect(entries.said.count == entries.recorded.count)
  }

  private func entries(_ transcript: String) -> [String] {
    transcript.components(separatedBy: "\n$ ")
  }

  /// The text without what differs from one run to the next.
  private func withoutPlaces(_ text: String, _ scratch: String) -> String {
    text.replacing(scratch, with: "SCRATCH")
      .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, with: "TIME")
      .replacing(/"device": "[0-9:]+"/, with: #""device": "DEVICE""#)
      .replacing(/"(daemon|worker|supervisor)": \d+/) { "\"\($0.1)\": PID" }
      .replacing(/(r[ow]) +\d+ +/) { "\($0.1)      PID     " }
  }

  /// A shell script that runs each command and says what it runs.
  private func script(_ commands: [String]) -> String {
    commands.map { command in
      let shown = command.replacing("'", with: #"'\''"#)
      return """
        printf '%s\\n' '$ \(shown)'
        \(command)
        status=$?; [ $status = 0 ] || printf '[%d]\\n' $status
        echo

        """
    }.joined()
  }

  /// What a script prints, its errors in between.
  ///
  /// `apart`, it has mounts, processes and a register of uids of its own, and all of them end with
  /// it.
  private func said(_ script: String, in scratch: String, apart: Bool = false) throws -> String {
    var environment = standardEnvironment
    environment["PATH"] = BuiltPrograms.directory + ":" + (environment["PATH"] ?? "")
    environment["SANDBOXFS_STORE"] = scratch + "/store"
    environment["SANDBOXFS_SETTINGS"] = scratch + "/settings"
    let shell = ["sh", "-c", "exec 2>&1; cd \(scratch); \(script)"]
    if !apart { return try run("env", shell, environment: environment).text }
    let setUp = """
      umount --all --lazy --internal-only --types fuse.sandboxfs 2> /dev/null
      mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit
      exec "$@"
      """
    let options = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return try run(
      "unshare", options + ["sh", "-c", setUp, "sh"] + shell, environment: environment
    ).text
  }

  private func makeBundles(in scratch: String) throws {
    let plist = """
      { NSExecutable = Notes; CFBundleIdentifier = "com.example.Notes"; ApplicationName = Notes;
        ApplicationRelease = "1.2"; }
      """
    let script = """
      cd \(scratch) && mkdir Notes.app Notes.app/Resources Empty.app view second &&
      printf '%s\\n' '#!/bin/sh' 'echo "this is Notes in $PWD"' > Notes.app/Notes &&
      chmod 755 Notes.app/Notes && cat > Notes.app/Resources/Info-gnustep.plist
      """
    let made = try run("sh", ["-c", script], input: Array(plist.utf8))
    #expect(made.status == 0, "\(made.errorText)")
  }
}
