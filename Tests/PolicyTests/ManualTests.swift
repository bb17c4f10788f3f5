// sandboxfs.profile(5) is the specification: what it shows is taken, and it names all there is.

import Foundation
import Policy
import Testing

struct ManualTests {
  private let page: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    page = try String(
      contentsOf: root.appending(path: "man/sandboxfs.profile.5"), encoding: .utf8
    ).replacing("\\-", with: "-")
  }

  /// The profiles that a section shows.
  private func examples(in section: String) -> [String] {
    let sections = page.components(separatedBy: "\n.SH ")
    let text = sections.first { $0.hasPrefix(section) } ?? ""
    return text.components(separatedBy: "\n.nf\n").dropFirst().map {
      $0.components(separatedBy: "\n.fi")[0] + "\n"
    }
  }

  @Test func `the shipped profiles are shown as they are`() {
    let shown = examples(in: "EXAMPLES").prefix(2)
    #expect(Array(shown) == ShippedProfiles.all.map { String(decoding: $0.text, as: UTF8.self) })
  }

  @Test func `every example is a profile that keeps its own expectations`() throws {
    let examples = examples(in: "EXAMPLES")
    #expect(examples.count == 4)
    for example in examples {
      let rank: ProfileSource.Rank = example.contains("# limits.profile") ? .limits : .shipped
      let engine = try PolicyEngine([profile(rank, example)])
      #expect(engine.unmetExpectations().isEmpty, "\(example)")
    }
  }

  @Test func `every attribute, operation, errno and built-in rule is named`() throws {
    let engine = try PolicyEngine("")
    let builtIn: [RuleID] = [.unset, .structural, .bundle, .device, .zones, .zoneLimit]
    let words =
      Attribute.allCases.map { $0.hasValue ? "\n.BI \($0.name)=" : "\n.TP\n.B \($0.name)\n" }
      + Operation.allCases.map(\.name) + Denial.allCases.map { "\n.B \($0.errnoName)\n" }
      + builtIn.map { "\n.B \(engine.describe($0))\n" }
    for word in words { #expect(page.contains(word), "\(word)") }
  }
}
