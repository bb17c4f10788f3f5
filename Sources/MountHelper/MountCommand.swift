// `mount.sandboxfs SOURCE TARGET [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let options = Option(
  "", "o", value: "OPTIONS", summary: "mount options; mount.sandboxfs(8) lists them")
private let sloppy = Option("", "s", summary: "pass over options that are not known")
private let fake = Option("", "f", summary: "check everything, and do not mount")

private func command(called name: String) -> Command {
  Command(
    name: name, summary: "Mounts the view of an app's container; mount(8) calls it.",
    examples: ["mount -t sandboxfs com.example.Notes /srv/notes"],
    discussion: [
      "SOURCE is the identifier of an app that was installed, or the path of a container's "
        + "directory."
    ],
    positionals: [Positional("SOURCE", .app), Positional("TARGET", .directory)],
    options: [
      options, sloppy, fake, noTableOption, verboseOption, namespaceOption, typeOption,
    ],
    exitStatuses: statuses)
}

/// Mounts, or changes a mount that is there.
func runMount(_ words: [[UInt8]], called name: String) throws {
  let command = command(called: name)
  guard let arguments = try command.parse(words) else {
    return try StandardStream.output.write(Array(command.help().utf8))
  }
  try checkType(arguments)
  let wanted = try mountOptions(arguments)
  try enterNamespace(arguments)
  let (source, target) = (arguments.positionals[0], arguments.positionals[1])
  if wanted.isRemount {
    try remount(target, wanted, isFake: arguments.has(fake))
    return say("\(name): \(target.printable) is remounted", arguments)
  }
  let container = try ViewMounts.container(source, in: wanted.store)
  var settings = MountSettings()
  for thing in wanted.switches { settings[keyPath: thing.setting] = true }
  settings.source = source
  if arguments.has(fake) {
    return try ViewMounts.check(container, at: target, settings)
  }
  let view = try ViewMounts.mount(container, at: target, settings)
  if let warning = view.sealWarning {
    try? StandardStream.error.write(Array("\(name): warning: \(warning)\n".utf8))
  }
  if let remark = view.remark { throw remark }
  say("\(name): \(source.printable) is mounted on \(target.printable)", arguments)
}

private func mountOptions(_ arguments: ParsedArguments) throws(MountError) -> MountOptions {
  do throws(MountOptionError) {
    return try MountOptions(
      arguments.values(options), by: isPrivileged() ? .root : .user,
      isSloppy: arguments.has(sloppy))
  } catch {
    throw MountError(.usage, error.message)
  }
}

extension MountSwitch {
  /// What it means for a mount.
  fileprivate var setting: WritableKeyPath<MountSettings, Bool> {
    switch self {
    case .readOnly: \.readOnly
    case .noExec: \.noExecution
    case .noAccessTime: \.noAccessTime
    case .noDirectoryAccessTime: \.noDirectoryAccessTime
    case .strictAccessTime: \.strictAccessTime
    case .noSymlinkFollowing: \.noSymlinkFollowing
    case .synchronous: \.synchronous
    case .synchronousDirectories: \.synchronousDirectories
    case .lazyTimes: \.lazyTimes
    case .unsupervised: \.unsupervised
    case .noExtendedAttributes: \.noExtendedAttributes
    case .noWriteback: \.noWriteback
    }
  }
}

/// Changes a view to read-only or writable; nothing else of a mount can be changed.
private func remount(
  _ target: [UInt8], _ wanted: MountOptions, isFake: Bool
) throws(MountError) {
  if let word = wanted.change(from: try ViewMounts.options(at: target)) {
    throw MountError(
      .usage,
      "option '\(word)': a remount changes 'ro' and 'rw' only; unmount the view, and mount it again"
    )
  }
  if isFake { return }
  try ViewMounts.remount(target, readOnly: wanted.switches.contains(.readOnly))
}
