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
  private let state: Mutex<State>
  /// Apart from the state, which is locked for as long as a change takes.
  private let executes: Atomic<Bool>

  private struct State {
    /// The rules, without what is lent while somebody learns.
    var rules: PolicyEngine
    var layers: [ProfileSource]
    var lesson: Lesson?
    /// The policy that was kept and that `rules` are; nil if they are others.
    var prepared: ViewFileSystem.KeptPolicy?
    /// Policies that requests under way may still use.
    ///
    /// Emptied when none is.
    var retired: [ViewFileSystem.PolicyChange] = []
  }

  init(
    _ fileSystem: ViewFileSystem, _ session: Session, _ notifier: Notifier,
    _ configuration: ViewConfiguration, _ rules: PolicyEngine
  ) {
    state = Mutex(State(rules: rules, layers: configuration.layers))
    executes = Atomic(rules.executesBesidesBundles)
    self.fileSystem = fileSystem
    self.session = session
    self.notifier = notifier
    identifier = configuration.identifier
    bundleName = configuration.bundleName
  }

  /// How the view has been watched over.
  var supervision: ViewFileSystem.Supervision { fileSystem.supervision }

  /// Reads the policy that was set last, so that whoever takes over has it.
  ///
  /// In the process that watches: only a process of one thread can be copied with it.
  func prepare() {
    guard let kept = fileSystem.keptPolicyIdentity else { return }
    state.withLock { state in
      guard state.prepared != kept, let message = try? fileSystem.keptPolicy(),
        let configuration = ViewConfiguration(decoding: message),
        let engine = try? PolicyEngine(layers: configuration.layers, bundleName: bundleName)
      else { return }
      state.rules = engine
      state.layers = configuration.layers
      state.prepared = kept
      executes.store(engine.executesBesidesBundles, ordering: .relaxed)
    }
  }

  /// Judges by the policy that was set last, in a process that has taken over.
  func restore() {
    prepare()
    state.withLock { state in
      if state.prepared != nil { fileSystem.restorePolicy(state.rules) }
    }
  }

  /// The rules, without what is lent while somebody learns.
  var rules: PolicyEngine { state.withLock { $0.rules } }

  /// Whether rules let something be executed besides bundles.
  var executesByRules: Bool { executes.load(ordering: .relaxed) }

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

  /// Who does the I/O of files outside of the bundle.
  var transfer: String {
    if fileSystem.backingFiles != nil { return "passthrough" }
    return fileSystem.cachesWrites ? "writeback" : "daemon"
  }

  /// What the view does without, as mount options.
  var omissions: String { fileSystem.hasExtendedAttributes ? "" : "xattr=off" }

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
    return set(configuration.layers, payload)
  }

  private func set(_ layers: [ProfileSource], _ payload: [UInt8]) -> [UInt8] {
    let engine: PolicyEngine
    do throws(ProfileErrors) {
      engine = try PolicyEngine(layers: layers, bundleName: bundleName)
    } catch {
      return refusal(error)
    }
    // One change after the other; no request of the kernel's waits for its turn. Whoever is
    // learning has learned about other rules, and is told so.
    return state.withLock { state in
      do throws(Errno) {
        try fileSystem.keepPolicy(payload)
      } catch {
        return ControlAnswer.refusal("the policy cannot be kept: \(error.message)")
      }
      var next = State(rules: engine, layers: layers, retired: state.retired)
      do throws(Errno) {
        let change = follow(try fileSystem.setPolicy(engine, quiesce: quiesce), &next)
        fileSystem.settlePolicy()
        state = next
        executes.store(engine.executesBesidesBundles, ordering: .relaxed)
        // Who watches has it then before anybody dies.
        session.ringBell()
        return report(change, notes: tellKernel(change) + keptWrites(engine))
      } catch {
        fileSystem.keepFormerPolicy()
        return ControlAnswer.refusal("what the container holds can't be counted: \(error.message)")
      }
    }
  }

  private func follow(
    _ change: ViewFileSystem.PolicyChange, _ state: inout State
  ) -> ViewFileSystem.PolicyChange {
    state.retired.append(change)
    // Those that began under the old policy end by it; then nobody uses it.
    if quiesce() { state.retired.removeAll() }
    return change
  }

  private func quiesce() -> Bool {
    session.quiesce(milliseconds: UInt32(LivePolicy.patienceMilliseconds))
  }

  // MARK: Limits

  /// Sets what the container may hold in all.
  func setLimits(_ limits: ContainerLimits) throws(Errno) {
    let result = state.withLock { _ in
      Result { () throws(Errno) in try fileSystem.setLimits(limits, quiesce: quiesce) }
    }
    try result.get()
  }

  /// What the books say.
  func reports(counting: Bool, repairing: Bool) throws(Errno) -> [BookReport] {
    let result = state.withLock { _ in
      Result { () throws(Errno) in
        try fileSystem.bookReports(counting: counting, repairing: repairing)
      }
    }
    return try result.get()
  }

  // MARK: Learning

  /// Lends what the rules refuse, as far as may be, from now on; nil while somebody else learns.
  func beginLesson() -> Lesson? {
    state.withLock { state in
      guard state.lesson == nil,
        let lending = try? PolicyEngine(
          layers: state.layers, bundleName: bundleName, isLearning: true)
      else { return nil }
      let lesson = Lesson(about: state.rules)
      state.lesson = lesson
      _ = follow(fileSystem.lend(lending, lesson), &state)
      return lesson
    }
  }

  /// Puts the rules back; false if other rules have taken their place meanwhile.
  @discardableResult
  func end(_ lesson: Lesson) -> Bool {
    state.withLock { state in
      guard state.lesson === lesson else { return false }
      state.lesson = nil
      _ = tellKernel(follow(fileSystem.lend(state.rules, nil), &state))
      return true
    }
  }

  /// What waits for the next mount, after the kernel was told what it can be told.
  private func tellKernel(_ change: ViewFileSystem.PolicyChange) -> [String] {
    var notes: [String] = []
    if change.changesExecution {
      notes.append("what may be executed outside of the bundle changes at the next mount")
    }
    // Where a link points is kept like the bytes of a file, and read without a message.
    var notices = fileSystem.closedLinks().map { Notifier.Notice.listing($0) }
    if change.changesNames {
      notices += fileSystem.hiddenNames().map { .name($0.name, $0.parent) }
      notices += fileSystem.knownDirectories().map { .listing($0) }
    }
    guard !notices.isEmpty else { return notes }
    let isDone = notifier.send(notices, milliseconds: LivePolicy.patienceMilliseconds)
    if !isDone { notes.append("listings of directories that are busy are corrected later") }
    return notes
  }

  /// What writes wait for the next mount that the rules would judge when they are made.
  private func keptWrites(_ engine: PolicyEngine) -> [String] {
    guard fileSystem.cachesWrites && engine.judgesWrites else { return [] }
    return [
      "the kernel keeps what is written until the next mount: a quota holds from then on, and so "
        + "do times of modification in an append zone"
    ]
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
    for note in notes { lines += ControlAnswer.note(note) }
    return lines + ControlAnswer.done
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
