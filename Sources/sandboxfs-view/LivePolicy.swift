// The command that changes a mounted view's policy: all of it or nothing.
//
// {"command":"policy","bytes":N} and then N bytes, a view's configuration with the new layers. The
// answer is a line for each open file that keeps what the new policy would refuse, a line for each
// thing that waits for the next mount, and a last one with "status".
import Containers
import FuseKit
import LinuxKit
import Policy
import Synchronization
import View

final class LivePolicy: Sendable {
  private static let payloadLimit = 64 << 20
  private static let patienceMilliseconds: Int64 = 5000

  private let fileSystem: ViewFileSystem
  private let session: Session
  private let notifier: Notifier
  private let identifier: [UInt8]
  private let bundleName: [UInt8]
  private let turn = Mutex(())
  /// Policies that requests under way may still use.
  ///
  /// Emptied when none is.
  private let retired = Mutex<[ViewFileSystem.PolicyChange]>([])

  init(
    _ fileSystem: ViewFileSystem, _ session: Session, _ notifier: Notifier,
    _ configuration: ViewConfiguration
  ) {
    self.fileSystem = fileSystem
    self.session = session
    self.notifier = notifier
    identifier = configuration.identifier
    bundleName = configuration.bundleName
  }

  /// How the view has been watched over.
  var supervision: ViewFileSystem.Supervision { fileSystem.supervision }

  /// Judges by the policy that was set last, in a process that has taken over.
  func restore() {
    guard let message = try? fileSystem.keptPolicy(),
      let configuration = ViewConfiguration(decoding: message),
      let engine = try? PolicyEngine(layers: configuration.layers, bundleName: bundleName)
    else { return }
    fileSystem.restorePolicy(engine)
  }

  /// How many requests the kernel has sent.
  var requestCount: Int { session.requestCount }

  /// Whether the bundle is as its seal says, as far as anyone has looked.
  var sealState: String {
    switch fileSystem.isBundleModified {
    case nil: "absent"
    case true?: "modified"
    case false?: "intact"
    }
  }

  /// Answers the command, whose payload is still to be read from the connection.
  func answer(to request: [String: [UInt8]], _ connection: borrowing Descriptor) -> [UInt8] {
    guard let field = request["bytes"], let count = Int(String(decoding: field, as: UTF8.self)),
      count > 0, count <= LivePolicy.payloadLimit
    else { return ControlAnswer.refusal("expected \"bytes\", the length of what follows") }
    let patience = ClientPatience(milliseconds: LivePolicy.patienceMilliseconds)
    guard let payload = try? connection.readBytes(exactly: count, patience) else {
      return ControlAnswer.refusal("expected \(count) bytes of configuration behind the line")
    }
    guard let configuration = ViewConfiguration(decoding: payload),
      configuration.identifier == identifier
    else {
      return ControlAnswer.refusal(
        "the configuration is of another version or of another container")
    }
    // One change after the other; no request of the kernel's waits for its turn.
    return turn.withLock { _ in set(configuration.layers, payload) }
  }

  private func set(_ layers: [ProfileSource], _ payload: [UInt8]) -> [UInt8] {
    let engine: PolicyEngine
    do throws(ProfileErrors) {
      engine = try PolicyEngine(layers: layers, bundleName: bundleName)
    } catch {
      return refusal(error)
    }
    do throws(Errno) {
      try fileSystem.keepPolicy(payload)
    } catch {
      return ControlAnswer.refusal("the policy cannot be kept: \(error.message)")
    }
    let change = fileSystem.setPolicy(engine)
    retired.withLock { $0.append(change) }
    // Those that began under the old policy end by it; then nobody uses it.
    if session.quiesce(milliseconds: UInt32(LivePolicy.patienceMilliseconds)) {
      retired.withLock { $0.removeAll() }
    }
    return report(change, notes: tellKernel(change))
  }

  /// What waits for the next mount, after the kernel was told what it can be told.
  private func tellKernel(_ change: ViewFileSystem.PolicyChange) -> [String] {
    var notes: [String] = []
    if change.changesExecution {
      notes.append("what may be executed outside of the bundle changes at the next mount")
    }
    guard change.changesNames else { return notes }
    let notices =
      fileSystem.hiddenNames().map { Notifier.Notice.name($0.name, $0.parent) }
      + fileSystem.knownDirectories().map { .listing($0) }
    let isDone = notifier.send(notices, milliseconds: LivePolicy.patienceMilliseconds)
    if !isDone { notes.append("listings of directories that are busy are corrected later") }
    return notes
  }

  private func report(_ change: ViewFileSystem.PolicyChange, notes: [String]) -> [UInt8] {
    var lines: [UInt8] = []
    for kept in change.kept {
      var object = FlatObjectWriter()
      object.add("open", kept.path)
      object.add("pid", Int(kept.process))
      object.add("operation", kept.operation.name.utf8)
      lines += object.line + [UInt8(ascii: "\n")]
    }
    for note in notes {
      var object = FlatObjectWriter()
      object.add("note", note.utf8)
      lines += object.line + [UInt8(ascii: "\n")]
    }
    var object = FlatObjectWriter()
    object.add("status", "ok".utf8)
    return lines + object.line + [UInt8(ascii: "\n")]
  }

  private func refusal(_ errors: ProfileErrors) -> [UInt8] {
    var lines: [UInt8] = []
    for error in errors.errors {
      var object = FlatObjectWriter()
      object.add("error", error.description.utf8)
      lines += object.line + [UInt8(ascii: "\n")]
    }
    return lines
      + ControlAnswer.refusal("the policy has errors, and nothing was changed")
  }
}
