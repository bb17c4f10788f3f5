// `sandboxfs mount APP DIRECTORY`.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let readOnly = Option("read-only", "r", summary: "refuse every change by this mount")

let mountSubcommand = Subcommand(
  command: Command(
    name: "mount", summary: "Mounts the view of an app at a directory.",
    examples: ["sandboxfs mount com.example.Notes /srv/notes"],
    discussion: [
      "The view answers when the command ends. A container has one view: if it is mounted already, "
        + "the directory shows the same one. mount(8) and fstab do the same with the type "
        + "sandboxfs, and know more options."
    ],
    positionals: [Positional("APP", .app), Positional("DIRECTORY", .directory)],
    options: [readOnly],
    exitStatuses: plainStatuses + [
      ExitStatus("16", "it is mounted, but umount(8) will not know how to unmount it")
    ])
) { arguments in
  let container = try container(arguments.positionals[0], arguments)
  var settings = MountSettings()
  settings.readOnly = arguments.has(readOnly)
  let view = try ViewMounts.mount(container, at: arguments.positionals[1], settings)
  if let warning = container.sealWarning() { complain("sandboxfs mount: warning: \(warning)") }
  guard let remark = view.remark else { return 0 }
  complain("sandboxfs mount: \(remark.message)")
  return remark.exitStatus
}
