// Having a living view served by the program that is installed now.
internal import Containers
public import LinuxKit
internal import Paths

/// What has come of an upgrade.
public struct ViewUpgrade: Sendable {
  /// The release that served before.
  public let before: [UInt8]
  /// The release that serves now.
  public let now: [UInt8]
  /// For how long nobody served, in microseconds.
  public let pauseMicroseconds: Int
}

extension ViewMounts {
  /// Has the program go on with a view that lies now where its daemon's did, and waits for it.
  ///
  /// Throws, with the daemon's reason, where that can't be; the view goes on as it was.
  public static func upgrade(
    _ device: DeviceNumber, milliseconds: Int64 = 20_000
  ) throws(MountError) -> ViewUpgrade {
    guard let daemon = RunningDaemon.find(serving: device), let before = daemon.status,
      let directory = daemon.process.directory(descriptor: 3)
    else { throw MountError(.failed, "its daemon does not answer") }
    try order(directory)
    let deadline = monotonicMilliseconds() + milliseconds
    while monotonicMilliseconds() < deadline {
      pauseMilliseconds(5)
      guard let now = try DaemonStatus.ask(directory) else { continue }
      if now.upgrades > before.upgrades {
        return ViewUpgrade(
          before: before.release, now: now.release, pauseMicroseconds: now.pauseMicroseconds)
      }
      if now.restarts > before.restarts, let error = now.upgradeError {
        throw MountError(.failed, "the new program cannot be executed", error)
      }
    }
    throw MountError(.failed, "the new program has not gone on within \(milliseconds / 1000) s")
  }

  private static func order(_ directory: borrowing Descriptor) throws(MountError) {
    let answer: [UInt8]
    do throws(Errno) {
      answer = try DaemonStatus.exchange(directory, 15_000, command: "upgrade")
    } catch {
      throw MountError(.failed, "the container's daemon does not answer", error)
    }
    let fields = flatObject(answer) ?? [:]
    guard fields["status"] == Array("ok".utf8) else {
      let reason = fields["message"] ?? Array("its daemon does not say why".utf8)
      throw MountError(.failed, reason.printable)
    }
  }
}
