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
  @Test("the programs say what was recorded", arguments: ["errors.txt", "help.txt"])
  func transcript(_ name: String) throws {
    let file = directory.appending(path: name)
    let recorded = try String(contentsOf: file, encoding: .utf8)
    let commands = recorded.split(separator: "\n").filter { $0.hasPrefix("$ ") }
    let said = try withTemporaryDirectory { scratch in
      try commands.map { try entry(String($0.dropFirst(2)), scratch) }.joined()
    }
    if ProcessInfo.processInfo.environment["SANDBOXFS_RECORD"] != nil {
      try said.write(to: file, atomically: true, encoding: .utf8)
      return
    }
    for (said, recorded) in zip(entries(said), entries(recorded)) {
      #expect(said == recorded, "\(name); SANDBOXFS_RECORD=1 records what is said now")
    }
    #expect(entries(said).count == entries(recorded).count)
  }

  /// What one command line prints; each has a store of its own, which does not exist.
  private func entry(_ command: String, _ scratch: String) throws -> String {
    var environment = standardEnvironment
    environment["PATH"] = BuiltPrograms.directory + ":" + (environment["PATH"] ?? "")
    environment["SANDBOXFS_STORE"] = scratch + "/store"
    let outcome = try run("sh", ["-c", "exec 2>&1; " + command], environment: environment)
    let text = outcome.text.replacing(scratch, with: "SCRATCH")
    return "$ \(command)\n\(text)" + (outcome.status == 0 ? "" : "[\(outcome.status)]\n") + "\n"
  }

  private func entries(_ transcript: String) -> [String] {
    transcript.components(separatedBy: "\n$ ")
  }
}
