// What the kernel refuses before it asks: `explain` says so, and no rule can change it.

import Paths
import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let operation: Operation
  let paths: [String]
  let want: String

  init(_ operation: Operation, _ paths: String..., want: String) {
    self.operation = operation
    self.paths = paths
    self.want = want
  }

  var testDescription: String { "\(operation.name) \(paths.joined(separator: " "))" }
}

private let rows = [
  Row(.exec, "/Documents/a", want: "EACCES"), Row(.exec, "/Notes.app/Notes", want: "-"),
  Row(.exec, "/Documents/hidden", want: "-"), Row(.exec, "/Documents/hidden/a", want: "-"),
  Row(.read, "/Notes.app/Notes", want: "-"), Row(.lookup, "/Notes.app/a", want: "-"),
  Row(.write, "/Notes.app/a", want: "EROFS"), Row(.append, "/Notes.app/a", want: "EROFS"),
  Row(.write, "/Notes.app/hidden", want: "-"), Row(.write, "/Documents/a", want: "-"),
  Row(.setattr, "/Notes.app/", want: "EROFS"), Row(.setattr, "/Notes.app/hidden", want: "-"),
  Row(.create, "/Notes.app/a", want: "EROFS"), Row(.create, "/Notes.app/hidden", want: "EROFS"),
  Row(.create, "/Notes.app/hidden/a", want: "-"), Row(.create, "/Notes.app/", want: "-"),
  Row(.remove, "/Notes.app/a", want: "EROFS"), Row(.remove, "/Notes.app/", want: "EBUSY"),
  Row(.remove, "/Documents/", want: "-"),
  Row(.rename, "/Notes.app/a", "/Notes.app/b", want: "EROFS"),
  Row(.rename, "/Notes.app/a", "/tmp/b", want: "EXDEV"),
  Row(.rename, "/tmp/b", "/Notes.app/a", want: "EXDEV"),
  Row(.rename, "/Notes.app/", "/tmp/b", want: "EBUSY"),
  Row(.rename, "/tmp/b/", "/Notes.app/", want: "EBUSY"),
  Row(.rename, "/Documents/hidden/", "/Notes.app/", want: "-"),
  Row(.rename, "/tmp/a", "/tmp/b", want: "-"),
  Row(.exchange, "/Notes.app/a", "/tmp/b", want: "EXDEV"),
  Row(.exchange, "/Notes.app/", "/tmp/b/", want: "EBUSY"),
  Row(.link, "/Notes.app/a", "/tmp/b", want: "EXDEV"),
  Row(.link, "/tmp/b", "/Notes.app/a", want: "EROFS"),
  Row(.link, "/Notes.app/a", "/Notes.app/b", want: "EROFS"),
  Row(.link, "/Notes.app/hidden", "/tmp/b", want: "-"),
]

struct MountRefusalTests {
  private func engine() throws -> PolicyEngine {
    try PolicyEngine([ShippedProfiles.ios, profile(.container, "hidden hidden")])
  }

  private func question(_ row: Row) throws -> Question {
    let paths = try row.paths.map { try ViewPath($0.utf8) }
    return Question(row.operation, paths[0], secondPath: paths.count > 1 ? paths[1] : nil)
  }

  @Test(arguments: rows)
  private func `the kernel's own refusals are known`(_ row: Row) throws {
    let refusal = try engine().refusalByMount(of: question(row), isNoExec: true)
    #expect(refusal?.errnoName ?? "-" == row.want)
  }

  @Test(arguments: rows.filter { $0.operation == .exec })
  private func `a view that is not noexec leaves it to the rules`(_ row: Row) throws {
    #expect(try engine().refusalByMount(of: question(row), isNoExec: false) == nil)
  }

  @Test(arguments: rows.filter { $0.want != "-" })
  private func `without a bundle only noexec refuses`(_ row: Row) throws {
    let engine = try PolicyEngine(layers: [ShippedProfiles.ios], bundleName: [])
    let refusal = try engine.refusalByMount(of: question(row), isNoExec: true)
    #expect(refusal == (row.operation == .exec ? .noExecution : nil))
  }
}
