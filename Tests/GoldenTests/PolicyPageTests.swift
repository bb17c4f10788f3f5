// docs/policy.md shows commands with what they print: each is run, and must print that.
//
// A block ```profile FILE is written to that file first. To record what is printed now:
//
//     SANDBOXFS_RECORD=1 swift test --filter PolicyPageTests

import Foundation
import TestSupport
import Testing

private let file = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/policy.md")

@Suite struct PolicyPageTests {
  @Test("the page about rules shows what the commands print")
  func page() throws {
    let page = try String(contentsOf: file, encoding: .utf8)
    let shown = try withTemporaryDirectory { scratch in
      try makeContainer(in: scratch)
      return try blocks(of: page).map { try filled($0, in: scratch) }.joined()
    }
    if ProcessInfo.processInfo.environment["SANDBOXFS_RECORD"] != nil {
      try shown.write(to: file, atomically: true, encoding: .utf8)
      return
    }
    let lines = (shown: shown.split(separator: "\n"), page: page.split(separator: "\n"))
    for (shown, page) in zip(lines.shown, lines.page) { #expect(shown == page) }
    #expect(lines.shown.count == lines.page.count)
  }

  /// The page in pieces: text, and whole blocks between fences.
  private func blocks(of page: String) -> [String] {
    page.components(separatedBy: "```").enumerated().map { index, piece in
      index.isMultiple(of: 2) ? piece : "```\(piece)```"
    }
  }

  /// A piece with what its commands print.
  private func filled(_ block: String, in scratch: String) throws -> String {
    let lines = block.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if block.hasPrefix("```profile ") {
      let name = lines[0].dropFirst("```profile ".count)
      let text = lines.dropFirst().dropLast().map { $0 + "\n" }.joined()
      try text.write(toFile: "\(scratch)/\(name)", atomically: true, encoding: .utf8)
    }
    guard block.hasPrefix("```console\n") else { return block }
    let commands = lines.filter { $0.hasPrefix("$ ") }
    let parts = try commands.map { command in
      let outcome = try printed(by: String(command.dropFirst(2)), in: scratch)
      return "\(command)\n\(outcome)"
    }
    return "```console\n\(parts.joined(separator: "\n"))```"
  }

  private func printed(by command: String, in scratch: String) throws -> String {
    try run(
      "sh", ["-c", "exec 2>&1; cd \(scratch) && \(command)"], environment: environment(scratch)
    ).text.replacing(scratch, with: "SCRATCH")
  }

  private func environment(_ scratch: String) -> [String: String] {
    var environment = standardEnvironment
    environment["PATH"] = BuiltPrograms.directory + ":" + (environment["PATH"] ?? "")
    environment["SANDBOXFS_STORE"] = scratch + "/store"
    environment["SANDBOXFS_SETTINGS"] = scratch + "/settings"
    return environment
  }

  /// Installs an app; the host's register of uids is left alone.
  private func makeContainer(in scratch: String) throws {
    let script = """
      cd \(scratch) && mkdir -p Notes.app/Resources && cp /bin/true Notes.app/Notes &&
      cat > Notes.app/Resources/Info-gnustep.plist &&
      unshare --mount sh -c 'mount -t tmpfs none /var/lib && sandboxfs install Notes.app'
      """
    let plist = #"{ NSExecutable = Notes; CFBundleIdentifier = "com.example.Notes"; }"#
    let made = try run(
      "sh", ["-ec", script], environment: environment(scratch), input: Array(plist.utf8))
    #expect(made.status == 0, "\(made.errorText)")
  }
}
