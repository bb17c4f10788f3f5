// `sandboxfs unmount (DIRECTORY | APP)...`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let lazy = Option(
  "lazy", "l", summary: "detach it now; it ends when its last user is gone")
private let force = Option(
  "force", "f", summary: "cut it off from its daemon first; what is under way in it fails")

let unmountSubcommand = Subcommand(
  command: Command(
    name: "unmount", summary: "Unmounts views, by directory or by app.",
    examples: ["sandboxfs unmount /srv/notes", "sandboxfs unmount com.example.Notes"],
    discussion: [
      "An argument that could be an identifier is an app, of which every view in the caller's "
        + "mount namespace is unmounted: of an app of the store, if it is in there, those of no "
        + "other store. Any other argument, such as one with a slash, is a directory."
    ],
    positionals: [Positional("DIRECTORY|APP", .app, .atLeastOne)], options: [lazy, force],
    exitStatuses: plainStatuses)
) { arguments in
  var settings: UnmountSettings = [.synchronized]
  if arguments.has(lazy) { settings.insert(.lazy) }
  if arguments.has(force) { settings.insert(.force) }
  let places = try arguments.positionals.flatMap { try targets($0, arguments) }
  // What is in a view keeps it from being unmounted.
  try leaveWorkingDirectory()
  for place in places {
    if place.mayBeGone, try !ViewMounts.isMounted(at: place.path) { continue }
    try ViewMounts.unmount(place.path, settings)
  }
  return 0
}

/// Where a view is to be unmounted.
private struct Place {
  let path: [UInt8]
  /// Whether it may have gone with another one.
  let mayBeGone: Bool
}

/// What an argument means, as absolute paths: the last mount of an app goes first, since the others
/// are binds of the first.
///
/// Where nobody serves them any more the first one does: no way leads through it to what is mounted
/// in it, which goes with it.
private func targets(_ argument: [UInt8], _ arguments: ParsedArguments) throws -> [Place] {
  guard let identifier = BundleIdentifier(bytes: argument) else {
    return [Place(path: try absolutePath(argument), mayBeGone: false)]
  }
  var views = try ViewMounts.list().filter { $0.identifier == argument }
  if let container = try? storeIfPresent(arguments)?.container(identifier) {
    let status = (try? DaemonStatus.ask(container.directory.descriptor)) ?? nil
    // Of a daemon that does not answer nobody knows which store it is of.
    views = views.filter { $0.daemon == nil || $0.device == status?.device }
  }
  guard !views.isEmpty else {
    throw Failure(
      "no view of '\(argument.printable)' is mounted; write a directory with a slash, "
        + "as in './\(argument.printable)'")
  }
  let dead = views.filter { $0.health == .dead }.map { Place(path: $0.target, mayBeGone: true) }
  let others = views.filter { $0.health != .dead }.map { Place(path: $0.target, mayBeGone: false) }
  return dead + others.reversed()
}
