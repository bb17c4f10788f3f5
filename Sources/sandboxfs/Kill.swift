// `sandboxfs kill APP...`.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Mounting
internal import Paths
internal import Store

private let now = Option("now", summary: "kill at once, without asking the processes to end")

private let patienceMilliseconds: Int32 = 5000

let killSubcommand = Subcommand(
  command: Command(
    name: "kill", summary: "Ends all processes of an app.",
    examples: ["sandboxfs kill com.example.Notes"],
    discussion: [
      "The processes get SIGTERM, and after five seconds those that are left are killed. An app "
        + "that does not run is no error."
    ],
    positionals: [Positional("APP", .app, .atLeastOne)], options: [now],
    exitStatuses: [
      ExitStatus("0", "no process of the apps runs"),
      ExitStatus("1", "one could not be ended; a line says which"),
      ExitStatus("2", "the command line was not understood"),
    ])
) { arguments in
  var status: Int32 = 0
  for word in arguments.positionals {
    let container = try container(word, arguments)
    guard let daemon = try DaemonStatus.ask(container.directory.descriptor) else { continue }
    for run in RunningApp.all(device: daemon.device)
    where !run.end(patienceMilliseconds: arguments.has(now) ? 0 : patienceMilliseconds) {
      complain("sandboxfs kill: \(word.printable): process \(run.first) does not end")
      status = 1
    }
  }
  return status
}
