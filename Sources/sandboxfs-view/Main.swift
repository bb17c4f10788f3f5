// sandboxfs-view: the daemon that serves one container's view.
//
// It is started by whoever mounts, never by hand: descriptor 3 is the container's directory, 4 a
// pipe with its configuration, 5 a pipe for the one line that says whether it serves.
import LinuxKit

@main
enum Main {
  static func main() {
    guard Startup.descriptorsAreOpen else {
      DaemonProcess.complain(
        "sandboxfs-view: is started by mount(8), 'sandboxfs mount' or 'sandboxfs run', not by hand")
      DaemonProcess.exit(2)
    }
    if Upgrade.isAsked { Upgrade.rehearseAndAnswer() }
    let startup: Startup
    do throws(StartError) {
      startup = try Startup()
    } catch {
      DaemonProcess.complain("sandboxfs-view: cannot go on with the view: \(error.line)")
      DaemonProcess.exit(1)
    }
    do throws(StartError) {
      let daemon = try Daemon(startup)
      try daemon.run()
    } catch {
      startup.answer("error \(error.line)")
      DaemonProcess.exit(1)
    }
    // The kernel has ended the connection: the last mount is gone. Nothing is left to clean up.
    DaemonProcess.exit(0)
  }
}
