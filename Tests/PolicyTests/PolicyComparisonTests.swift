// Two policies are compared question by question, and a difference is told where it begins.

import Paths
import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let one: String
  let other: String
  let want: [String]

  init(_ what: String, _ one: String, _ other: String, _ want: String...) {
    testDescription = what
    self.one = one
    self.other = other
    self.want = want
  }
}

private let rows = [
  Row("the same rules in other words", "/a read write", "/a read\n/a write"),
  Row(
    "one path", "/ read write", "/ read write\n/a -write",
    "/a: write append create remove setattr: allowed EACCES"),
  Row(
    "told once, not again below", "/a read", "/a write\n/a/b write",
    "/a: list read: allowed EACCES", "/a: write append create remove setattr: EACCES allowed"),
  Row(
    "below it both answer alike again", "/a read\n/a/b read", "/a -read\n/a/b read",
    "/a: list read: allowed EACCES", "/a/b: list read: allowed allowed"),
  Row(
    "a glob", "/ read", "/ read\n*.log -read", "/*.log: list read: allowed EACCES",
    "/Documents/*.log: list read: allowed EACCES", "/Library/*.log: list read: allowed EACCES",
    "/*/*.log: list read: allowed EACCES"),
  Row(
    "what is hidden, and nothing below it", "/a read", "/a hidden",
    "/a: lookup stat: allowed ENOENT", "/a: list read: allowed ENOENT",
    "/a: write append remove setattr exec: EACCES ENOENT"),
  Row("names", "/a only=*.c", "/a only=*.h", "/a: only?: *.c *.h"),
  Row("attributes", "/a backup", "/a purge=exit", "/a: backup?: yes no", "/a: purge?: - exit"),
  Row("a quota", "/a quota=4096,3", "/a quota=5000", "/a: quota?: 4K,3 5000"),
]

struct PolicyComparisonTests {
  private func compare(_ one: String, _ other: String) throws -> PolicyComparison {
    let layers = [one, other].map { [profile(.shipped, $0)] }
    return try PolicyComparison(
      PolicyEngine(layers: layers[0], bundleName: []),
      PolicyEngine(layers: layers[1], bundleName: []))
  }

  @Test(arguments: rows)
  private func `what is different is told where it begins`(_ row: Row) throws {
    let comparison = try compare(row.one, row.other)
    let told = comparison.differences.map {
      "\($0.pattern): \($0.questions.joined(separator: " ")): "
        + $0.answers.joined(separator: " ")
    }
    #expect(told == row.want)
    #expect(comparison.isComplete)
  }

  @Test func `random policies are like themselves, and a difference is one both confirm`() throws {
    var count = 0
    for seed in UInt64(1)...30 {
      let one = RandomPolicy(seed: seed, ruleCount: 3)
      let other = RandomPolicy(seed: seed + 1000, ruleCount: 3)
      let engines = [try PolicyEngine(one.layers), try PolicyEngine(other.layers)]
      #expect(PolicyComparison(engines[0], engines[0]).differences.isEmpty)
      for difference in PolicyComparison(engines[0], engines[1]).differences {
        guard let operation = Operation(name: difference.questions[0]), operation != .create
        else { continue }
        count += 1
        for (engine, answer) in zip(engines, difference.answers) {
          let verdict = engine.explain(Question(operation, difference.path)).verdict
          #expect(verdict.denial?.errnoName ?? "allowed" == answer, "\(difference)")
        }
      }
    }
    #expect(count > 50)
  }
}
