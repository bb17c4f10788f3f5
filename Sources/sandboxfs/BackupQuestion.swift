// `sandboxfs backup --dry-run`, `--explain` and `--exclude-list`: what would be backed up, and why
// the rest would not.

internal import BackupFormat
internal import Containers
internal import LinuxKit
internal import MobileBackup
internal import Paths
internal import Policy
internal import Store

/// Answers about a backup that is not made.
enum BackupQuestion {
  static func preview(_ subjects: [BackupSubject], isJSON: Bool) throws -> Int32 {
    var objects: [JSON] = []
    for subject in subjects {
      let selection = try subject.selection()
      if isJSON {
        objects.append(object(subject, selection))
        continue
      }
      var table = Table("LEFT OUT", "WHY")
      for omission in selection.omissions {
        table.add(Presentation.quoted(omission.path), reason(omission.why, subject))
      }
      try Output.write(
        "\(subject.container.identifier): \(selection.entries.count) entries, "
          + "\(size(selection.byteCount))\n")
      if !selection.omissions.isEmpty { try Output.write(table.text) }
    }
    if isJSON { try Output.write(JSON.array(objects).document) }
    return 0
  }

  private static func object(_ subject: BackupSubject, _ selection: BackupSelection) -> JSON {
    let omissions = selection.omissions.map { omission in
      JSON.object([
        ("path", .string(omission.path.printable)), ("why", .string(reason(omission.why, subject))),
      ])
    }
    return .object([
      ("app", .string("\(subject.container.identifier)")),
      ("entries", .integer(Int64(selection.entries.count))),
      ("bytes", .integer(selection.byteCount)), ("leftOut", .array(omissions)),
    ])
  }

  private static func reason(_ why: Omission, _ subject: BackupSubject) -> String {
    switch why {
    case .rule(let rule):
      rule == .unset ? "no rule says backup" : "\(subject.policy.describe(rule))"
    case .mark: "it carries the mark of 'sandboxfs exclude'"
    case .bundle: "the bundle is installed, not backed up"
    case .kind: "it is neither file, directory nor link"
    case .depth: "it lies too deep in other directories"
    }
  }

  /// Says of each app whether a path would be backed up; status 1 if none of them has it.
  static func explain(
    _ names: [[UInt8]], _ subjects: [BackupSubject], isJSON: Bool
  ) throws -> Int32 {
    let path = Array(names.joined(separator: [UInt8(ascii: "/")]))
    let answers = try subjects.map { subject in
      (app: "\(subject.container.identifier)", answer: try answer(about: path, subject))
    }
    if isJSON {
      let objects = answers.map { app, answer in
        JSON.object([
          ("app", .string(app)), ("path", .string(path.printable)),
          ("isThere", .boolean(answer.isThere)), ("isBackedUp", .boolean(answer.isBackedUp)),
          ("why", .text(answer.why)),
        ])
      }
      try Output.write(JSON.array(objects).document)
    }
    for (app, answer) in answers {
      let name = "\(app): \(Presentation.quoted(path))"
      switch answer {
      case .saved where !isJSON: try Output.write("\(name) is backed up\n")
      case .leftOut(let why) where !isJSON: try Output.write("\(name) is left out: \(why)\n")
      case .missing: complain("sandboxfs backup make: \(name) is not there")
      default: break
      }
    }
    return answers.contains { $0.answer.isThere } ? 0 : 1
  }

  private enum Answer {
    case saved
    case leftOut(String)
    case missing

    var isThere: Bool { if case .missing = self { false } else { true } }
    var isBackedUp: Bool { if case .saved = self { true } else { false } }
    var why: String? { if case .leftOut(let why) = self { why } else { nil } }
  }

  private static func answer(
    about path: [UInt8], _ subject: BackupSubject
  ) throws -> Answer {
    let selection = try subject.selection()
    if selection.entries.contains(where: { $0.path == path }) { return .saved }
    let omission = selection.omissions.last {
      path == $0.path || path.starts(with: $0.path + [UInt8(ascii: "/")])
    }
    guard let omission, try isThere(path, subject) else { return .missing }
    return .leftOut(reason(omission.why, subject))
  }

  /// What is left out as a whole was not looked into.
  private static func isThere(_ path: [UInt8], _ subject: BackupSubject) throws -> Bool {
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    guard let name = names.last else { return true }
    let data = try subject.container.data()
    do throws(Errno) {
      _ = try data.enter(path: names.dropLast()).status(of: name)
      return true
    } catch {
      if [.noEntry, .notDirectory, .tooManyLinks].contains(error) { return false }
      throw error
    }
  }

  /// Prints what other tools should leave out.
  static func printExclusions(_ subjects: [BackupSubject], isJSON: Bool) throws -> Int32 {
    var objects: [JSON] = []
    for subject in subjects {
      let data = subject.container.path + Array("/\(ContainerLayout.data)/".utf8)
      let paths = try subject.selection().omissions.filter { $0.why != .kind }
        .map { data + $0.path }
      if isJSON {
        objects.append(
          JSON.object([
            ("app", .string("\(subject.container.identifier)")),
            ("paths", .array(paths.map { .string($0.printable) })),
          ]))
      } else {
        try printLines(paths)
      }
    }
    if isJSON { try Output.write(JSON.array(objects).document) }
    return 0
  }

  /// One line each: a name with a line feed in it has no place in such a list.
  private static func printLines(_ paths: [[UInt8]]) throws {
    var text: [UInt8] = []
    for path in paths {
      if path.contains(UInt8(ascii: "\n")) {
        complain("sandboxfs backup make: \(path.printable) can't be told in a list")
      } else {
        text += path + [UInt8(ascii: "\n")]
      }
    }
    try StandardStream.output.write(text)
  }
}
