// The daemons that run on this machine, as far as the caller may look at them.
internal import LinuxKit

/// A daemon that was found among the processes.
struct RunningDaemon {
  /// Which process it is.
  let process: RunningProcess
  /// The container that it was started for.
  let identifier: [UInt8]
  /// What it says about itself; nil if it does not answer.
  let status: DaemonStatus?

  /// The one that serves a file system; nil if the caller can see none.
  static func find(serving device: DeviceNumber) -> RunningDaemon? {
    all().first { $0.status?.device == device }
  }

  /// All that the caller may ask.
  static func all() -> [RunningDaemon] {
    let name = Array("sandboxfs-view".utf8)
    return RunningProcess.all().filter { $0.name == name }.compactMap { process in
      // Its third descriptor is its container, as whoever started it has given it.
      guard let container = process.directory(descriptor: 3),
        let identifier = process.arguments.dropFirst().first
      else { return nil }
      let status = (try? DaemonStatus.ask(container, milliseconds: 1000)) ?? nil
      return RunningDaemon(process: process, identifier: identifier, status: status)
    }
  }
}
