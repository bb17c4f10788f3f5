// The container's socket: one JSON object a line, from root or the store's owner only.
//
// Each client has a thread and a short time, and there may be only so many of them at once: one
// that is slow, silent or never reads keeps nobody waiting but itself. No request of the kernel's
// waits for any of them.
import Containers
import LinuxKit
import Synchronization
import View

final class ControlServer: Sendable {
  private static let lineLimit = 65_536
  private static let patienceMilliseconds: Int64 = 2000
  /// Those that come when so many are served wait in the socket's queue.
  private static let clientLimit = 32

  private let listener: UnixListener
  private let termination: Descriptor
  private let configuration: ViewConfiguration
  private let device: MountedDevice
  private let live: LivePolicy
  private let systemLog: SystemLog
  private let audit: AuditWriter
  /// What was purged since this process serves.
  private let purgedFileCount = Atomic<Int>(0)
  private let purgedByteCount = Atomic<Int>(0)
  private let clientCount = Atomic<Int>(0)
  /// Rung when a client's thread ends.
  private let departure = Doorbell()
  /// What watches over this process; nil if nothing does.
  private let supervision = Mutex<Supervision?>(nil)
  /// Held while another program is asked whether it can go on.
  private let upgrading = Mutex(())
  private let startup: Startup

  init(
    _ startup: Startup, _ configuration: ViewConfiguration, _ live: LivePolicy,
    _ systemLog: SystemLog, _ audit: AuditWriter, termination: consuming Descriptor
  ) throws(StartError) {
    if let handover = startup.handover {
      listener = UnixListener(owning: handover.control)
      device = MountedDevice(number: handover.mounted)
    } else {
      do throws(Errno) {
        listener = try UnixListener(ContainerLayout.control, in: startup.container)
        device = try MountedDevice(at: configuration.target)
      } catch {
        throw StartError("cannot open the control socket", error)
      }
    }
    self.startup = startup
    self.termination = termination
    self.configuration = configuration
    self.live = live
    self.systemLog = systemLog
    self.audit = audit
  }

  /// The socket.
  var descriptor: CInt { listener.descriptor.rawValue }

  /// The superblock that the view is.
  var mounted: DeviceNumber { device.number }

  /// From now on another process watches over this one, and is watched in turn.
  func supervise(
    _ handover: Handover, _ fileSystem: ViewFileSystem, _ ringer: ProcessWatch.Ringer
  ) {
    supervision.withLock { $0 = Supervision(handover, fileSystem, ringer, configuration) }
  }

  /// Serves on threads of its own for as long as the process lives.
  func start() throws(Errno) {
    try DaemonProcess.startThread { self.run() }
  }

  private func run() {
    supervision.withLock { $0?.begin() }
    while true {
      let watched = supervision.withLock { $0?.handle ?? -1 }
      let ready = try? DaemonProcess.waitForAny(listener.descriptor, termination, watched)
      guard let ready else { return }
      if ready.third { supervision.withLock { $0?.replaceSupervisor() } }
      if ready.second { return unmount() }
      if ready.first { acceptOne() }
    }
  }

  /// TERM: the view is taken down, and the loop ends as after any unmount.
  func unmount() {
    device.detach(from: configuration.target)
  }

  private func acceptOne() {
    while clientCount.load(ordering: .acquiring) >= ControlServer.clientLimit { departure.wait() }
    let connection: Descriptor?
    do throws(Errno) {
      connection = try listener.accept()
    } catch {
      // Where no descriptor is free, whoever waits goes on waiting, and we do not turn in circles.
      if error != .wouldBlock { Pause.microseconds(10_000) }
      return
    }
    guard let client = connection?.release() else { return }
    clientCount.add(1, ordering: .relaxed)
    do throws(Errno) {
      try DaemonProcess.startThread {
        self.serve(Descriptor(owning: client))
        self.clientCount.subtract(1, ordering: .releasing)
        self.departure.ring()
      }
    } catch {
      _ = Descriptor(owning: client)
      clientCount.subtract(1, ordering: .relaxed)
    }
  }

  private func serve(_ connection: consuming Descriptor) {
    let patience = ClientPatience(milliseconds: ControlServer.patienceMilliseconds)
    let answer: [UInt8]
    do throws(Errno) {
      // Who hangs up has nothing to hear.
      guard let line = try connection.readLine(limit: ControlServer.lineLimit, patience) else {
        return
      }
      let request = flatObject(line) ?? [:]
      if request["command"] == Array("learn".utf8) {
        return LearningSession(connection, live).run()
      }
      answer = self.answer(to: request, connection)
    } catch {
      answer = ControlAnswer.refusal(
        error == .messageTooLong
          ? "expected a line of at most \(ControlServer.lineLimit) bytes"
          : "expected a line within \(ControlServer.patienceMilliseconds / 1000) seconds")
    }
    // A client that is gone, or that does not read, has lost its answer and nothing else.
    try? connection.sendAll(
      answer, ClientPatience(milliseconds: ControlServer.patienceMilliseconds))
  }

  private func answer(
    to request: [String: [UInt8]], _ connection: borrowing Descriptor
  ) -> [UInt8] {
    guard let command = request["command"] else {
      return ControlAnswer.refusal("expected one JSON object with a member \"command\"")
    }
    if command == Array("status".utf8) { return status() }
    if command == Array("purged".utf8) { return notePurge(request) }
    if command == Array("policy".utf8) { return live.answer(to: request, connection) }
    if command == Array("quota".utf8) { return live.answerAboutLimits(request) }
    if command == Array("upgrade".utf8) { return upgrade() }
    return ControlAnswer.refusal(
      "unknown command: this daemon knows \"status\", \"policy\", \"learn\", \"quota\", "
        + "\"purged\" and \"upgrade\"")
  }

  /// What was removed beside the app goes into its log, and is counted.
  private func notePurge(_ request: [String: [UInt8]]) -> [UInt8] {
    func number(_ name: String) -> Int? {
      request[name].flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
    guard let files = number("files"), let bytes = number("bytes"), files >= 0, bytes >= 0 else {
      return ControlAnswer.refusal("expected the numbers \"files\" and \"bytes\"")
    }
    purgedFileCount.add(files, ordering: .relaxed)
    purgedByteCount.add(bytes, ordering: .relaxed)
    audit.note("a purge has removed \(files) file\(files == 1 ? "" : "s"), \(bytes) bytes")
    return ControlAnswer.done
  }

  /// One after the other, while all others are answered: a program that is asked may take long.
  private func upgrade() -> [UInt8] {
    guard let supervision = supervision.withLock({ $0 }) else {
      return ControlAnswer.refusal("nobody watches over the daemon, which could go on with it")
    }
    return upgrading.withLock { _ in
      do throws(StartError) {
        let release = try supervision.upgrade(startup.container)
        var object = FlatObjectWriter()
        object.add("status", "ok".utf8)
        object.add("release", release.utf8)
        return object.line + [UInt8(ascii: "\n")]
      } catch {
        return ControlAnswer.refusal(error.line)
      }
    }
  }

  private func status() -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("status", "ok".utf8)
    object.add("identifier", configuration.identifier)
    object.add("release", Release.number.utf8)
    let supervision = live.supervision
    let worker = Int(DaemonProcess.number)
    object.add("pid", supervision.supervisor == 0 ? worker : Int(supervision.supervisor))
    object.add("worker", worker)
    object.add("supervisor", Int(supervision.supervisor))
    object.add("restarts", Int(supervision.restarts))
    object.add("pause", Int(supervision.pauseMicroseconds))
    object.add("upgrades", Int(supervision.upgrades))
    object.add("upgradeError", Int(supervision.upgradeError))
    object.add("device", device.number.description.utf8)
    object.add("target", configuration.target)
    object.add("transport", configuration.transport == .kernel ? "kernel".utf8 : "fusermount".utf8)
    object.add("executable", (live.executesByRules ? "rules" : "bundle").utf8)
    object.add("requests", live.requestCount)
    object.add("unsent", systemLog.droppedCount)
    object.add("seal", live.sealState.utf8)
    object.add("io", live.transfer.utf8)
    object.add("without", live.omissions.utf8)
    object.add("purgedFiles", purgedFileCount.load(ordering: .relaxed))
    object.add("purgedBytes", purgedByteCount.load(ordering: .relaxed))
    return object.line + [UInt8(ascii: "\n")]
  }
}

/// Lines that end an answer.
enum ControlAnswer {
  /// It is done.
  static var done: [UInt8] {
    var object = FlatObjectWriter()
    object.add("status", "ok".utf8)
    return object.line + [UInt8(ascii: "\n")]
  }

  /// What the caller is to know besides.
  static func note(_ text: String) -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("note", text.utf8)
    return object.line + [UInt8(ascii: "\n")]
  }

  /// Nothing was done, and why.
  static func refusal(_ message: String) -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("status", "error".utf8)
    object.add("message", message.utf8)
    return object.line + [UInt8(ascii: "\n")]
  }
}
