// `sandboxfs exclude APP PATH...` and `sandboxfs include APP PATH...`.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import MobileBackup
internal import Mounting
internal import Paths
internal import Store

private let appAndPaths = [Positional("APP", .app), Positional("PATH", .free, .atLeastOne)]

let excludeSubcommand = Subcommand(
  command: Command(
    name: "exclude", summary: "Keeps files or directories of an app out of backups.",
    examples: ["sandboxfs exclude com.example.Notes Documents/Downloads"],
    discussion: [
      "A mark is set on the file or directory, the one that iOS sets: "
        + "'com.apple.metadata:com_apple_backup_excludeItem'. What is below a marked directory is "
        + "left out too. The app can set it itself; rules say the same by '-backup'."
    ],
    positionals: appAndPaths, exitStatuses: plainStatuses)
) { arguments in try mark(arguments, "exclude", isMarked: true) }

let includeSubcommand = Subcommand(
  command: Command(
    name: "include", summary: "Takes back what 'sandboxfs exclude' has said.",
    examples: ["sandboxfs include com.example.Notes Documents/Downloads"],
    positionals: appAndPaths, exitStatuses: plainStatuses)
) { arguments in try mark(arguments, "include", isMarked: false) }

/// Marks each path, or takes its mark away; all of them or none.
private func mark(
  _ arguments: ParsedArguments, _ command: String, isMarked: Bool
) throws -> Int32 {
  let paths = try arguments.positionals.dropFirst().map { path in
    (names: try namesBelowData(path, command), shown: path.printable)
  }
  let container = try container(arguments.positionals[0], arguments)
  let bundleName = container.record.bundleName
  for path in paths where !bundleName.isEmpty && path.names[0] == bundleName {
    throw UsageError(
      "sandboxfs \(command)",
      "\(path.shown) is the bundle, which no backup has: it is installed again")
  }
  let files = try paths.map { path in
    try MarkedFile(path.names, shown: path.shown, in: container)
  }
  var done: [MarkedFile] = []
  do {
    for file in files {
      try file.set(isMarked)
      done.append(file)
    }
  } catch {
    for file in done { try? file.set(file.wasMarked) }
    throw error
  }
  // They were set behind the view, if there is one: what it has counted lacks them.
  _ = try ViewBooks.ask(.repair, of: container.directory.descriptor)
  return 0
}

/// A file or directory of an app, open; none of its path is followed where it is a link.
private final class MarkedFile {
  private let file: Descriptor
  private let shown: String
  /// Whether it carried the mark when it was opened.
  let wasMarked: Bool

  init(_ names: [[UInt8]], shown: String, in container: Container) throws {
    self.shown = shown
    let data = try container.data()
    do throws(Errno) {
      let parent = try data.enter(path: names.dropLast())
      let last = names[names.count - 1]
      switch try parent.status(of: last).kind {
      case .directory: file = try parent.open(last, Opening.directory)
      case .regular: file = try parent.openRegularFile(last)
      default: throw Errno.invalid
      }
    } catch {
      throw Self.failure(error, shown)
    }
    wasMarked = (try? file.extendedAttribute(ExclusionMark.name)) != nil
  }

  func set(_ isMarked: Bool) throws(Failure) {
    do throws(Errno) {
      if isMarked {
        try file.setExtendedAttribute(ExclusionMark.name, to: ExclusionMark.value)
      } else if (try? file.extendedAttribute(ExclusionMark.name)) != nil {
        try file.removeExtendedAttribute(ExclusionMark.name)
      }
    } catch {
      throw Self.failure(error, shown)
    }
  }

  private static func failure(_ error: Errno, _ shown: String) -> Failure {
    switch error {
    case .invalid: Failure("\(shown): only files and directories can be marked")
    case .notSupported: Failure("\(shown): the store's file system has no extended attributes")
    case .tooManyLinks: Failure("\(shown): a symbolic link is in the way, which is not followed")
    default: Failure("\(shown): \(error.message)")
    }
  }
}
