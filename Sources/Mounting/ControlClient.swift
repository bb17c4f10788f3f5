// What a container's daemon says about itself over its control socket.
internal import Containers
public import LinuxKit
internal import Paths

/// What a daemon that serves a container says about itself.
public struct DaemonStatus: Equatable, Sendable {
  /// The container's identifier.
  public let identifier: [UInt8]
  /// The daemon's number.
  public let pid: Int32
  /// The view's file system: all its mounts have this number.
  public let device: DeviceNumber
  /// How many requests the kernel has sent it.
  public let requestCount: Int
  /// How many messages the system's log did not take from it.
  public let unsentCount: Int
  /// The process that serves now.
  public let worker: Int32
  /// Whether the daemon has others serve, and starts another one where one dies.
  public let isSupervised: Bool
  /// How often it has started another one.
  public let restarts: Int
  /// For how long nobody served when it did so last, in microseconds.
  public let pauseMicroseconds: Int
  /// The daemon's release.
  public let release: [UInt8]
  /// How often another program has gone on with the view.
  public let upgrades: Int
  /// Why the last one that was to could not; nil if it has.
  public let upgradeError: Errno?
  /// Whether the view was mounted by fusermount3, for an ordinary user.
  public let isUsers: Bool
  /// `intact` or `modified`, as far as anyone has looked; `absent` if the bundle has no seal.
  public let seal: [UInt8]
  /// Who does the I/O of files outside of the bundle: `passthrough`, the kernel; `writeback`, the
  /// daemon, whom the kernel brings what is written when it has time; or else `daemon`.
  public let transfer: [UInt8]
  /// Whether the view has extended attributes.
  public let hasExtendedAttributes: Bool
  /// How many files were purged since the process that serves began.
  public let purgedFileCount: Int
  /// How many bytes the disk got back by that.
  public let purgedByteCount: Int
  /// Whether its rules let something be executed besides the bundle.
  public let executesByRules: Bool

  /// Asks the daemon that serves the container in `directory`; nil if none listens.
  ///
  /// Throws if one listens and does not answer within `milliseconds`.
  public static func ask(
    _ directory: borrowing Descriptor, milliseconds: Int32 = 5000
  ) throws(MountError) -> DaemonStatus? {
    let answer: [UInt8]
    do throws(Errno) {
      answer = try exchange(directory, milliseconds)
    } catch {
      if nobodyListens.contains(error) { return nil }
      if error == .accessDenied {
        throw MountError(
          .failed, "the container is mounted by another user: only they and root can ask its daemon"
        )
      }
      throw silence(error)
    }
    guard let status = DaemonStatus(line: answer) else {
      throw MountError(
        .failed, "the container's daemon answers what we do not understand: \(answer.printable)")
    }
    return status
  }

  /// Asks, and asks again if whoever was about to answer has died over it: another one answers.
  static func exchange(
    _ directory: borrowing Descriptor, _ milliseconds: Int32, command: String = "status"
  ) throws(Errno) -> [UInt8] {
    var attempts = 0
    while true {
      do throws(Errno) {
        return try asked(directory, milliseconds, command: command).receiveLine()
      } catch {
        attempts += 1
        guard attempts < 5, error == .brokenPipe || error == .connectionReset else { throw error }
      }
      pauseMilliseconds(10)
    }
  }

  fileprivate static func silence(_ error: Errno) -> MountError {
    MountError(.failed, "the container's daemon does not answer", error)
  }

  /// Asks, and does not wait for the answer.
  fileprivate static func asked(
    _ directory: borrowing Descriptor, _ milliseconds: Int32, command: String
  ) throws(Errno) -> UnixConnection {
    let connection = try UnixConnection(
      to: ContainerLayout.control, in: directory, milliseconds: milliseconds)
    try connection.send(line: Array(#"{"command":"\#(command)"}"#.utf8))
    return connection
  }

  /// Reads the answer to `status`; nil if it is none.
  init?(line: [UInt8]) {
    guard let fields = flatObject(line), fields["status"] == Array("ok".utf8),
      let identifier = fields["identifier"],
      let pid = fields["pid"].flatMap({ Int32(String(decoding: $0, as: UTF8.self)) }),
      let device = fields["device"].flatMap({ DeviceNumber($0) }), pid > 0
    else { return nil }
    self.identifier = identifier
    self.pid = pid
    self.device = device
    func number(_ name: String) -> Int {
      fields[name].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
    requestCount = number("requests")
    unsentCount = number("unsent")
    worker = Int32(clamping: number("worker"))
    isSupervised = number("supervisor") > 0
    restarts = number("restarts")
    pauseMicroseconds = number("pause")
    purgedFileCount = number("purgedFiles")
    purgedByteCount = number("purgedBytes")
    release = fields["release"] ?? []
    upgrades = number("upgrades")
    let error = number("upgradeError")
    upgradeError = error == 0 ? nil : Errno(Int32(clamping: error))
    executesByRules = fields["executable"] == Array("rules".utf8)
    isUsers = fields["transport"] == Array("fusermount".utf8)
    seal = fields["seal"] ?? []
    transfer = fields["io"] ?? []
    hasExtendedAttributes = fields["without"] != Array("xattr=off".utf8)
  }

  /// What connecting says when there is no daemon, or when it ends in this moment.
  static let nobodyListens: Set<Errno> = [
    .noEntry, .connectionRefused, .brokenPipe, .connectionReset,
  ]
}

/// A question to the daemon of a container about itself, which it answers while the asker does
/// something else.
public struct DaemonQuestion: ~Copyable {
  /// Where the answer comes; nil if the question could not be asked.
  private let connection: UnixConnection?

  /// Asks the daemon that serves the container in `directory`, if one does.
  public init(_ directory: borrowing Descriptor) {
    connection = try? DaemonStatus.asked(directory, 5000, command: "status")
  }

  /// What it says; nil if none listens.
  ///
  /// Throws as `DaemonStatus.ask`, which is what is done if whoever was asked has died over it.
  public consuming func answer(
    _ directory: borrowing Descriptor
  ) throws(MountError) -> DaemonStatus? {
    do throws(Errno) {
      if let line = try connection?.receiveLine(), let status = DaemonStatus(line: line) {
        return status
      }
    } catch {
      // Who has not answered in all this time is not waited for again.
      if error == .wouldBlock { throw DaemonStatus.silence(error) }
    }
    return try DaemonStatus.ask(directory)
  }
}
