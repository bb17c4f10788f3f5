// The manual says what the program says: each command, each option, and no other.

import Foundation
import TestSupport
import Testing

private let pages = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().appending(path: "man")

private let pageNames = (try? FileManager.default.contentsOfDirectory(atPath: pages.path)) ?? []

@Suite struct ManualTests {
  private static func page(_ name: String) throws -> String {
    try String(contentsOf: pages.appending(path: name), encoding: .utf8)
      .replacing("\\-", with: "-")
  }

  private func help(_ arguments: String...) throws -> String { try help(arguments) }

  private func help(_ arguments: [some StringProtocol]) throws -> String {
    try run(BuiltPrograms.path("sandboxfs"), arguments.map { String($0) }).text
  }

  /// The options that a text names, such as `--json` and `-l`.
  private func options(_ text: String) -> Set<String> {
    let found = text.matches(of: /(^|[\s"(|,])(--[a-z][a-z-]*|-[A-Za-z](?=[\s,"]|$))/)
    return Set(found.map { String($0.2) })
  }

  /// Every command, by its one word or its two.
  private func commands() throws -> [String] {
    try words(help("--help")).flatMap { word in
      let words = try words(help(word, "--help"))
      return words.isEmpty ? [word] : words.map { "\(word) \($0)" }
    }
  }

  /// The commands that a help text lists.
  private func words(_ help: String) -> [String] {
    let lines = help.components(separatedBy: "\n")
    guard let heading = lines.firstIndex(of: "Commands:") else { return [] }
    return lines[(heading + 1)...].prefix { !$0.isEmpty }.compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
  }

  @Test("sandboxfs(1) has a section for each command, with its options and no other")
  func sections() throws {
    let page = try Self.page("sandboxfs.1")
    let sections = page.components(separatedBy: "\n.S")
      .filter { $0.hasPrefix("S ") }.map { $0.dropFirst(2) }
    let common: Set = ["--store", "--help", "-h"]
    for command in try commands() {
      let section = sections.first { $0.hasPrefix(command + " ") || $0.hasPrefix(command + "\n") }
      guard let section else {
        Issue.record("sandboxfs(1) has no section about '\(command)'")
        continue
      }
      let lines = try help((command + " --help").split(separator: " "))
        .split(separator: "\n").filter {
          $0.hasPrefix("  -") || $0.hasPrefix("      --")
        }
      let known = options(lines.map { $0.prefix(40) }.joined(separator: "\n"))
      let told = options(
        section.split(separator: "\n").filter { $0.hasPrefix(".B") }.joined(separator: "\n"))
      #expect(known.subtracting(common) == told.subtracting(common), "\(command)")
    }
    #expect(try sections.count == commands().count, "a section is about no command")
  }

  @Test(
    "groff finds nothing wrong with a page",
    .enabled(if: (try? run("sh", ["-c", "command -v groff"]).status) == 0, "groff is not here"),
    arguments: pageNames.sorted())
  func markup(_ name: String) throws {
    let outcome = try run(
      "groff", ["-man", "-Tutf8", "-ww", "-z", pages.appending(path: name).path])
    #expect(outcome.status == 0 && outcome.errorText.isEmpty, "\(outcome.errorText)")
  }
}
