// The program of POSIX cases: compiled once, run on directories, its lines put in order.

import Foundation
import TestSupport

/// The cases and what they say.
enum PosixCases {
  /// One line of a case: what was done, by whom, and what came of it.
  struct Line: Hashable, Sendable, CustomStringConvertible {
    /// Who acts in a case of several; empty in others.
    let actor: String
    let step: String
    let result: String

    var description: String { (actor.isEmpty ? "" : "[\(actor)] ") + "\(step) = \(result)" }
  }

  /// The path of the program.
  static let program: Result<String, any Error> = Result { try compile("posixcases") }

  /// What there is.
  static let names: [String] = {
    guard let program = try? program.get(), let outcome = try? run(program, ["--list"]) else {
      return []
    }
    return outcome.text.split(separator: "\n").map(String.init)
  }()

  /// Runs all cases in a directory; the lines of each.
  ///
  /// Root's cases act as several users; those of another `user` as that one alone.
  static func results(in directory: String, user: uid_t = 0) throws -> [String: [Line]] {
    let program = try program.get()
    let id = String(user)
    let words = ["--reuid", id, "--regid", id, "--clear-groups", program, directory]
    let outcome = try run(
      user == 0 ? program : "setpriv", user == 0 ? [directory] : words, timeoutSeconds: 400)
    guard outcome.status == 0 else {
      throw ProgramFailure(description: "posixcases: \(outcome.status) \(outcome.errorText)")
    }
    var results: [String: [Line]] = [:]
    for text in outcome.text.split(separator: "\n") {
      let (name, line) = try parse(String(text))
      results[name, default: []].append(line)
    }
    return results
  }

  /// `case: step = result`, or `case [actor]: step = result`.
  private static func parse(_ text: String) throws -> (name: String, line: Line) {
    guard let colon = text.range(of: ": "),
      let equals = text.range(of: " = ", range: colon.upperBound..<text.endIndex)
    else { throw ProgramFailure(description: "posixcases: not a line: \(text)") }
    let title = text[..<colon.lowerBound].components(separatedBy: " [")
    let line = Line(
      actor: title.count > 1 ? String(title[1].dropLast()) : "",
      step: String(text[colon.upperBound..<equals.lowerBound]),
      result: String(text[equals.upperBound...]))
    return (title[0], line)
  }
}

/// Compiles the C files of a directory in Tests/Programs; the program's path.
///
/// A warning is an error.
func compile(_ name: String, _ options: [String] = []) throws -> String {
  let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  let output = "\(BuiltPrograms.directory)/\(name)"
  let script = """
    cc -O1 -Wall -Wextra -Werror -std=gnu11 -D_GNU_SOURCE -pthread -o "$0.new" "$1"/*.c "${@:2}"
    mv "$0.new" "$0"
    """
  let outcome = try run(
    "bash", ["-ec", script, output, tests.appending(path: "Programs/\(name)").path] + options)
  guard outcome.status == 0 else {
    throw ProgramFailure(description: "cc: \(outcome.errorText)")
  }
  return output
}
