// An app that stands still while its files are looked at.
public import LinuxKit

extension RunningApp {
  /// Stops all processes that `sandboxfs run` and `exec` have started for the containers whose
  /// views are these, until what is returned is let go, or the caller ends in whatever way.
  public static func freeze(_ device: DeviceNumber) throws(Errno) -> FrozenProcesses {
    try FrozenProcesses { all(device: device).flatMap { $0.processes.map(\.pid) } }
  }
}
