// `sandboxfs log APP --suggest`: the smallest change of rules that would have allowed what the log
// tells of.

internal import Arguments
internal import Containers
internal import Paths
internal import Policy

/// What a log tells, as the policy is asked about it.
struct LogSuggestion {
  private let app: String
  private let suggestion: Suggestion
  /// Refusals of which the log does not say where they were.
  private var withoutPath = 0
  /// Lines that can't be read.
  private(set) var unreadableCount = 0

  /// Asks the rules as they are now about what `entries` tell was refused.
  init(_ entries: [AuditEntry?], _ subject: PolicySubject) {
    app = subject.name
    var refusals: [ToldRefusal: Int] = [:]
    for entry in entries {
      switch entry {
      case nil: unreadableCount += 1
      case .event: break
      case .lost(_, let count): withoutPath += count
      case .more(_, let kind, let count): withoutPath += kind.result == "OK" ? 0 : count
      case .request(let request) where request.isRefused:
        if let refusal = ToldRefusal(request) {
          refusals[refusal, default: 0] += request.count
        } else {
          withoutPath += request.count
        }
      case .request: break
      }
    }
    suggestion = subject.engine.suggestion(
      for: refusals, layers: subject.layers, bundleName: subject.bundleName)
  }

  // MARK: For people

  /// Lines of a profile, and what else there is to say as comments between them.
  var text: String {
    var lines: [String] = []
    if !suggestion.lines.isEmpty {
      lines.append("# for the end of the rules of \(app): see 'sandboxfs policy set'")
      let width = suggestion.lines.map(\.text.count).max() ?? 0
      for line in suggestion.lines {
        let padding = String(repeating: " ", count: width - line.text.count)
        lines.append("\(line.text)\(padding)  # \(summary(line))")
      }
    }
    if !suggestion.hopeless.isEmpty {
      lines.append("# refused whatever that profile says; what would help instead:")
      lines += suggestion.hopeless.map { "#   \(words($0)): \($0.reason)" }
    }
    lines += [
      (suggestion.allowedCount, "allowed by the rules as they are now"),
      (suggestion.omittedCount, "left out, for there are lines enough"),
      (withoutPath, "the log does not tell where they were"),
    ].filter { $0.0 > 0 }.map { "# \(refusals($0.0)): \($0.1)" }
    return lines.map { $0 + "\n" }.joined()
  }

  private func summary(_ line: Suggestion.Line) -> String {
    let operations = line.operations.map(\.name).joined(separator: ", ")
    let paths = line.pathCount > 1 ? " at \(line.pathCount) paths" : ""
    return "\(refusals(line.refusalCount)): \(operations)\(paths)"
  }

  private func words(_ hopeless: Suggestion.Hopeless) -> String {
    let paths = hopeless.paths.map { Presentation.path($0.components) }.joined(separator: " -> ")
    return "\(hopeless.operation.name) \(paths) (\(refusals(hopeless.refusalCount)), "
      + "by \(hopeless.rule))"
  }

  private func refusals(_ count: Int) -> String { count == 1 ? "1 refusal" : "\(count) refusals" }

  // MARK: For programs

  var json: JSON {
    .object([
      ("lines", .array(suggestion.lines.map(object))),
      ("notByRules", .array(suggestion.hopeless.map(object))),
      ("allowedByNow", .integer(Int64(suggestion.allowedCount))),
      ("leftOut", .integer(Int64(suggestion.omittedCount))),
      ("withoutPath", .integer(Int64(withoutPath))),
    ])
  }

  private func object(_ line: Suggestion.Line) -> JSON {
    .object([
      ("line", .string(line.text)), ("refusals", .integer(Int64(line.refusalCount))),
      ("paths", .integer(Int64(line.pathCount))),
      ("operations", .array(line.operations.map { .string($0.name) })),
    ])
  }

  private func object(_ hopeless: Suggestion.Hopeless) -> JSON {
    .object([
      ("operation", .string(hopeless.operation.name)),
      ("paths", .array(hopeless.paths.map { .string(Presentation.escaped($0.bytes)) })),
      ("rule", .string(hopeless.rule)), ("instead", .string(hopeless.reason)),
      ("refusals", .integer(Int64(hopeless.refusalCount))),
    ])
  }
}

extension ToldRefusal {
  /// nil for what names no path, such as the end of one that was too long to be kept.
  fileprivate init?(_ request: AuditedRequest) {
    guard let operation = Policy.Operation(name: request.operation),
      let path = try? ViewPath(request.path)
    else { return nil }
    let second = request.secondPath.flatMap { try? ViewPath($0) }
    guard (second != nil) == operation.takesTwoPaths else { return nil }
    self.init(
      operation, path, secondPath: second, errnoName: request.result,
      rule: request.rule.printable)
  }
}

extension ViewPath {
  fileprivate var bytes: [UInt8] {
    components.isEmpty ? Array("/".utf8) : components.flatMap { [UInt8(ascii: "/")] + $0 }
  }
}
