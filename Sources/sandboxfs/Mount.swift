// `sandboxfs mount APP DIRECTORY`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let readOnly = Option("read-only", "r", summary: "refuse every change by this mount")
private let foreground = Option(
  "foreground",
  summary: "stay, say on standard error what is refused, and unmount at HUP, INT or TERM")

let mountSubcommand = Subcommand(
  command: Command(
    name: "mount", summary: "Mounts the view of an app at a directory.",
    examples: [
      "sandboxfs mount com.example.Notes /srv/notes",
      "sandboxfs mount --foreground com.example.Notes /srv/notes",
    ],
    discussion: [
      "The view answers when the command ends. A container has one view: if it is mounted already, "
        + "the directory shows the same one. mount(8) and fstab do the same with the type "
        + "sandboxfs, and know more options.",
      "With --foreground the command ends when the view is unmounted, by a signal to it or by "
        + "others. If the view is in use at the signal it stays mounted, and the exit status is 1.",
    ],
    positionals: [Positional("APP", .app), Positional("DIRECTORY", .directory)],
    options: [readOnly, foreground],
    exitStatuses: plainStatuses + [
      ExitStatus("16", "it is mounted, but umount(8) will not know how to unmount it")
    ])
) { arguments in
  let container = try container(arguments.positionals[0], arguments)
  var settings = MountSettings()
  settings.readOnly = arguments.has(readOnly)
  if arguments.has(foreground) {
    return try attendView(of: container, at: arguments.positionals[1], settings)
  }
  let view = try ViewMounts.mount(container, at: arguments.positionals[1], settings)
  if let warning = view.sealWarning { complain("sandboxfs mount: warning: \(warning)") }
  guard let remark = view.remark else { return 0 }
  complain("sandboxfs mount: \(remark.message)")
  return remark.exitStatus
}
