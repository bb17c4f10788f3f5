// The completion scripts complete, tried in the shells that are there.

import TestSupport
import Testing

@Suite struct CompletionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let typed: String
    let want: String
    init(_ typed: String, _ want: String) {
      self.typed = typed
      self.want = want
    }
    var testDescription: String { typed }
  }

  @Test(
    "bash completes commands, options and values",
    arguments: [
      Row("sandboxfs vers", "version"), Row("sandboxfs --st", "--store"),
      Row("sandboxfs version --st", "--store"), Row("sandboxfs completion z", "zsh"),
      Row("sandboxfs polic", "policy"), Row("sandboxfs policy exp", "explain"),
      Row("sandboxfs policy check --js", "--json"), Row("sandboxfs policy --h", "--help"),
      Row("sandboxfs policy test --as lim", "limits"),
      Row("sandboxfs --store /tmp vers", "version"), Row("sandboxfs version -- --st", ""),
    ])
  func bash(_ row: Row) throws {
    let script = """
      . <(\(BuiltPrograms.path("sandboxfs")) completion bash)
      COMP_WORDS=(\(row.typed)) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _sandboxfs
      echo "${COMPREPLY[*]}"
      """
    let outcome = try run("bash", ["-euc", script])
    #expect(outcome.text == row.want + "\n", "\(outcome.errorText)")
  }

  @Test("every shell that is here can read its script", arguments: ["bash", "zsh", "fish"])
  func syntax(_ shell: String) throws {
    let script = try run(BuiltPrograms.path("sandboxfs"), ["completion", shell])
    #expect(script.status == 0 && !script.output.isEmpty)
    guard try run("sh", ["-c", "command -v \(shell)"]).status == 0 else { return }
    let reading = try run(shell, ["-n"], input: script.output)
    #expect(reading.status == 0, "\(reading.errorText)")
  }
}
