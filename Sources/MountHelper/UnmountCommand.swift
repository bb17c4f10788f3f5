// `umount.sandboxfs TARGET [-lfnrv] [-N NAMESPACE] [-t TYPE]`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths

private let lazy = Option("", "l", summary: "detach it now; it ends when its last user is gone")
private let force = Option(
  "", "f", summary: "cut it off from its daemon first; what is under way in it fails")
private let orReadOnly = Option("", "r", summary: "if it is in use, make it read-only instead")

private func command(called name: String) -> Command {
  Command(
    name: name, summary: "Unmounts the view of an app's container; umount(8) calls it.",
    examples: ["umount /srv/notes"],
    discussion: ["TARGET is where the view is, or where its bundle is inside of it."],
    positionals: [Positional("TARGET", .directory)],
    options: [
      lazy, force, orReadOnly, noTableOption, verboseOption, namespaceOption, typeOption,
    ],
    exitStatuses: statuses)
}

/// Unmounts.
func runUnmount(_ words: [[UInt8]], called name: String) throws {
  let command = command(called: name)
  guard let arguments = try command.parse(words) else {
    return try StandardStream.output.write(Array(command.help().utf8))
  }
  try checkType(arguments)
  try enterNamespace(arguments)
  let target = arguments.positionals[0]
  var settings: UnmountSettings = [.synchronized]
  if arguments.has(lazy) { settings.insert(.lazy) }
  if arguments.has(force) { settings.insert(.force) }
  if try isGone(target) { return }
  do throws(MountError) {
    try ViewMounts.unmount(target, settings)
  } catch {
    guard arguments.has(orReadOnly), error.kind == .failed else { throw error }
    try ViewMounts.remount(target, readOnly: true)
    throw MountError(error.kind, error.message + "; it is read-only now")
  }
  say("\(name): \(target.printable) is unmounted", arguments)
}

/// Whether umount(8) asks for what has gone already.
///
/// It looks at the mount table before it calls us. `umount -a` does so once for all, and a bundle
/// and its view go together.
private func isGone(_ target: [UInt8]) throws(MountError) -> Bool {
  guard RunningProcess.parent.name == Array("umount".utf8) else { return false }
  return try !ViewMounts.isMountPoint(target)
}
