// The container's socket: one JSON object a line, from root or the store's owner only.
//
// It is served by one thread, one client at a time and each for a short time: it serves people, and
// no request of the kernel's waits for it.
import Containers
import LinuxKit
import Synchronization

final class ControlServer: Sendable {
  private static let lineLimit = 65_536
  private static let patienceMilliseconds: CInt = 2000

  private let listener: UnixListener
  private let termination: Descriptor
  private let configuration: ViewConfiguration
  private let device: MountedDevice
  private let live: LivePolicy

  init(
    _ container: borrowing Descriptor, _ configuration: ViewConfiguration,
    _ live: LivePolicy, termination: consuming Descriptor
  ) throws(StartError) {
    do throws(Errno) {
      listener = try UnixListener(ContainerLayout.control, in: container)
      device = try MountedDevice(at: configuration.target)
    } catch {
      throw StartError("cannot open the control socket", error)
    }
    self.termination = termination
    self.configuration = configuration
    self.live = live
  }

  /// Serves on a thread of its own for as long as the process lives.
  func start() throws(Errno) {
    try DaemonProcess.startThread { self.run() }
  }

  private func run() {
    while true {
      let ready = try? DaemonProcess.waitForEither(listener.descriptor, termination)
      guard let ready else { return }
      if ready.second { return unmount() }
      if ready.first { serveOne() }
    }
  }

  /// TERM: the view is taken down, and the loop ends as after any unmount.
  private func unmount() {
    device.detach(from: configuration.target)
  }

  private func serveOne() {
    guard
      let connection = try? listener.accept(
        timeoutMilliseconds: ControlServer.patienceMilliseconds),
      let line = try? connection.readLine(
        limit: ControlServer.lineLimit,
        ClientPatience(milliseconds: Int64(ControlServer.patienceMilliseconds)))
    else { return }
    // A client that is gone has lost its answer and nothing else.
    try? connection.writeAll(answer(to: line, connection))
  }

  private func answer(to line: [UInt8], _ connection: borrowing Descriptor) -> [UInt8] {
    guard let request = flatObject(line), let command = request["command"] else {
      return ControlAnswer.refusal("expected one JSON object with a member \"command\"")
    }
    if command == Array("status".utf8) { return status() }
    if command == Array("policy".utf8) { return live.answer(to: request, connection) }
    return ControlAnswer.refusal(
      "unknown command: this daemon knows \"status\" and \"policy\"")
  }

  private func status() -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("status", "ok".utf8)
    object.add("identifier", configuration.identifier)
    object.add("pid", Int(DaemonProcess.number))
    object.add("device", device.number.description.utf8)
    object.add("target", configuration.target)
    object.add("transport", configuration.transport == .kernel ? "kernel".utf8 : "fusermount".utf8)
    object.add("requests", live.requestCount)
    return object.line + [UInt8(ascii: "\n")]
  }
}

/// Lines that end an answer.
enum ControlAnswer {
  /// Nothing was done, and why.
  static func refusal(_ message: String) -> [UInt8] {
    var object = FlatObjectWriter()
    object.add("status", "error".utf8)
    object.add("message", message.utf8)
    return object.line + [UInt8(ascii: "\n")]
  }
}
