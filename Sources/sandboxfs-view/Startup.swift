// What the daemon is given at its start, and the one line that it answers.
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
final class Startup {
  private static let container: CInt = 3
  private static let configuration: CInt = 4
  static let readiness: CInt = 5
  private static let messageLimit = 64 << 20

  /// The container's directory.
  let container = Descriptor(owning: Startup.container)

  /// Whether someone who knows the protocol has started us.
  static var descriptorsAreOpen: Bool {
    [container, configuration, readiness].allSatisfy { (try? InodeStatus.of($0)) != nil }
  }

  /// Reads the configuration to its end.
  func readConfiguration() throws(StartError) -> ViewConfiguration {
    let pipe = Descriptor(owning: Startup.configuration)
    let message: [UInt8]
    do throws(Errno) {
      message = try pipe.readToEnd(atMost: Startup.messageLimit)
    } catch {
      throw StartError("cannot read the view's configuration", error)
    }
    guard let configuration = ViewConfiguration(decoding: message) else {
      throw StartError(
        "the view's configuration is of another version of sandboxfs: install all of its programs"
          + " from one release")
    }
    return configuration
  }

  /// Says one line and closes the pipe.
  ///
  /// Nobody may be there any more to read it.
  func answer(_ line: String) {
    let pipe = Descriptor(owning: Startup.readiness)
    try? pipe.writeAll(Array(line.utf8) + [UInt8(ascii: "\n")])
  }
}
