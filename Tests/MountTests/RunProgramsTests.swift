// Real programs leave their files where docs/programs.md says.

import Foundation
import TestSupport
import Testing

@Suite("Real programs", .enabled(if: geteuid() == 0, "needs root"))
struct RunProgramsTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path(percentEncoded: false)

  /// Those that are small, and are installed where the tests run; `RunPathsTests` has Foundation's.
  private static let names = [
    "SimpleAgenda", "TextEdit", "git", "gpg", "python", "sqlite3",
  ]

  private func rows(_ text: String) -> [String] {
    let lines = text.split(separator: "\n").map { String($0) }
    return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| program") }
  }

  @Test("leave their files where the page says")
  func places() throws {
    let programs = (BuiltPrograms.path("sandboxfs") as NSString).deletingLastPathComponent
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let outcome = try run(
      Self.repository + "scripts/programs", ["--installed"] + Self.names,
      environment: ["PATH": "\(programs):\(path)"], timeoutSeconds: 200)
    #expect(outcome.status == 0, "\(outcome.errorText)")
    let page = try String(contentsOfFile: Self.repository + "docs/programs.md", encoding: .utf8)
    let found = rows(outcome.text)
    #expect(found.count > 4, "\(outcome.text)")
    #expect(Set(found).subtracting(rows(page)) == [], "scripts/programs --write says what is so")
  }
}
