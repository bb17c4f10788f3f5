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
) { arguments in
  try mark(arguments) { file throws(Errno) in
    try file.setExtendedAttribute(ExclusionMark.name, to: ExclusionMark.value)
  }
}

let includeSubcommand = Subcommand(
  command: Command(
    name: "include", summary: "Takes back what 'sandboxfs exclude' has said.",
    examples: ["sandboxfs include com.example.Notes Documents/Downloads"],
    positionals: appAndPaths, exitStatuses: plainStatuses)
) { arguments in
  try mark(arguments) { file throws(Errno) in
    do throws(Errno) {
      try file.removeExtendedAttribute(ExclusionMark.name)
    } catch {
      if error != .noData { throw error }
    }
  }
}

/// Does the same to each path, of which none is followed where it is a link.
private func mark(
  _ arguments: ParsedArguments, _ change: (borrowing Descriptor) throws(Errno) -> Void
) throws -> Int32 {
  let container = try container(arguments.positionals[0], arguments)
  let slash = UInt8(ascii: "/")
  for path in arguments.positionals.dropFirst() {
    var names = path.split(separator: slash).map(Array.init)
    guard let last = names.popLast() else {
      throw Failure("'\(path.printable)' is the whole container; name what is below it")
    }
    names.insert(Array(ContainerLayout.data.utf8), at: 0)
    do throws(Errno) {
      let parent = try container.directory.enter(path: names)
      switch try parent.status(of: last).kind {
      case .directory: try change(parent.enter(last).descriptor)
      case .regular: try change(parent.openRegularFile(last))
      default: throw Errno.invalid
      }
    } catch {
      switch error {
      case .invalid:
        throw Failure("\(path.printable): only files and directories can be marked")
      case .notSupported:
        throw Failure("\(path.printable): the store's file system has no extended attributes")
      default: throw Failure("\(path.printable): \(error.message)")
      }
    }
  }
  // They were set behind the view, if there is one: what it has counted lacks them.
  _ = try ViewBooks.ask(.repair, of: container.directory.descriptor)
  return 0
}
