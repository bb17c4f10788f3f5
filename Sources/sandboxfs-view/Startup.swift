// What the daemon is given at its start, by whoever mounts or by the program that it goes on for,
// and the one line that it answers.
import Containers
import LinuxKit

/// Why a daemon could not start, as one line for whoever asked for the mount.
struct StartError: Error {
  let line: String

  init(_ line: String) { self.line = line }

  /// What was tried, and what the kernel said.
  init(_ attempt: String, _ error: Errno) { line = "\(attempt): \(error.message)" }
}

/// The three descriptors of the daemon's start.
final class Startup: Sendable {
  static let container: CInt = 3
  private static let configuration: CInt = 4
  static let readiness: CInt = 5
  private static let messageLimit = 64 << 20

  /// The container's directory.
  let container = Descriptor(owning: Startup.container)
  /// What another program has left; nil for a view that begins.
  let handover: Handover?
  /// What is open at the start and not for the view's life, or what others speak for: the pipe for
  /// the answer, or all that was open at the start of a program that goes on.
  ///
  /// For such a program the pipe's number is like any other, and may be that of what it opens.
  let passing: [CInt]

  /// Whether someone who knows the protocol has started us.
  static var descriptorsAreOpen: Bool {
    let expected =
      Handover.number == nil ? [container, configuration, readiness] : [container]
    return expected.allSatisfy { (try? InodeStatus.of($0)) != nil }
  }

  /// Throws where what was handed over is nothing that this program can go on with.
  init() throws(StartError) {
    guard let number = Handover.number else {
      (handover, passing) = (nil, [Startup.readiness])
      return
    }
    // It was executed by a number.
    WatchedProcess.setName("sandboxfs-view")
    OpenDescriptors.closeOnExec()
    handover = try Handover.reading(number)
    passing = (try? OpenDescriptors.all()) ?? []
  }

  /// Reads the configuration to its end, and keeps it open for whoever goes on.
  func readConfiguration() throws(StartError) -> (view: ViewConfiguration, file: CInt) {
    let message: [UInt8]
    let file: CInt
    do throws(Errno) {
      if let handover {
        file = handover.configuration
        message = try OpenDescriptors.contents(of: file, atMost: Startup.messageLimit)
      } else {
        let pipe = Descriptor(owning: Startup.configuration)
        message = try pipe.readToEnd(atMost: Startup.messageLimit)
        file = try Descriptor.memory(holding: message).release()
      }
    } catch {
      throw StartError("cannot read the view's configuration", error)
    }
    guard let configuration = ViewConfiguration(decoding: message) else {
      throw StartError(
        "the view's configuration is of another version of sandboxfs: install all of its programs"
          + " from one release")
    }
    return (configuration, file)
  }

  /// Says one line and closes the pipe.
  ///
  /// Nobody may be there any more to read it.
  func answer(_ line: String) {
    if handover != nil { return DaemonProcess.complain("sandboxfs-view: \(line)") }
    write(line)
    closePipe()
  }

  /// Says that the view is served, by the pipe of the first program: once in a view's life.
  ///
  /// The pipe is closed when that is noted, and not before: who takes over from a process that dies
  /// between the two would take another file for the pipe.
  func announce(noted: () -> Void) {
    write("ready")
    noted()
    closePipe()
  }

  private func write(_ line: String) {
    let pipe = Descriptor(owning: Startup.readiness)
    try? pipe.writeAll(Array(line.utf8) + [UInt8(ascii: "\n")])
    _ = pipe.release()
  }

  private func closePipe() { _ = Descriptor(owning: Startup.readiness) }
}
