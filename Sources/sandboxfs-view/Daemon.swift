// From a container's directory to a served view, in the only order that works: lock, privileges,
// policy, mount, INIT, control socket, threads.
import Containers
import FuseKit
import LinuxKit
import Policy
import Purging
import View

/// One view, mounted and ready to be served.
final class Daemon: Sendable {
  private let startup: Startup
  private let lock: Descriptor
  private let fileSystem: ViewFileSystem
  private let session: Session
  private let policy: LivePolicy
  private let control: ControlServer
  private let audit: AuditWriter
  private let notifier: Notifier
  private let loopThreads: UInt32
  private let pressure: PressureWatch?
  private let caller: Caller
  private let isSupervised: Bool
  private let handover: Handover

  /// Mounts the view and answers INIT, or goes on with one; on a process of one thread.
  init(_ startup: Startup) throws(StartError) {
    let (configuration, file) = try startup.readConfiguration()
    lock = try Daemon.lock(startup)
    let policy = try Daemon.policy(configuration)
    // What a crash or the end of the machine has kept from being removed at exit. Who goes on with
    // a view has its apps alive.
    if startup.handover == nil { Daemon.emptyAtExit(startup.container, policy) }
    let termination = try Daemon.blockSignals()
    let log = try Daemon.log(startup.container)
    caller = Caller(isPrivileged: configuration.transport == .kernel)
    let fileSystem = try Daemon.open(startup, configuration, policy, caller)
    // Who goes on with a view goes on with its books.
    let closedCount =
      startup.handover == nil ? try Daemon.count(fileSystem, configuration.limits) : 0
    DaemonProcess.leaveSession()
    session = try Daemon.session(startup, fileSystem, configuration)
    self.fileSystem = fileSystem
    notifier = Notifier(session)
    let systemLog = try Daemon.systemLog()
    self.policy = LivePolicy(fileSystem, session, notifier, configuration, policy)
    let writer = try Daemon.writer(
      fileSystem.audit, log, systemLog, configuration.identifier)
    audit = writer
    control = try ControlServer(
      startup, configuration, self.policy, systemLog, writer, termination: termination)
    pressure = configuration.pressure.map { PressureWatch(fileSystem, $0, writer) }
    self.startup = startup
    isSupervised = configuration.isSupervised
    handover = Handover(
      lock: lock.rawValue, control: control.descriptor, device: session.descriptor,
      state: fileSystem.stateFile, configuration: file, mounted: control.mounted,
      agreement: InitAgreement(fileSystem.journal))
    if closedCount > 0 {
      audit.note("\(closedCount) directories are closed to their owner, and not counted")
    }
    // The kernel wakes idle threads in turn, so that each further one makes every request meet a
    // colder one: with four on two processors a request took half as long again as with two or
    // three. One more than there are processors, since some wait for the disk.
    loopThreads = UInt32(min(max(2, Workers.processorCount) + 1, 16))
  }

  /// Says that the view is there, and has it served until the kernel ends the connection.
  func run() throws(StartError) {
    guard isSupervised else {
      serve()
      return emptyAtExit()
    }
    if !session.canResend { session.keepRequests() }
    guard case .failed(let reason) = try supervise() else {
      // The rules may have been changed by who has served.
      policy.restore()
      return emptyAtExit()
    }
    giveUp(reason)
  }

  /// Has other processes serve, for as long as the view lives.
  private func supervise() throws(StartError) -> Supervisor.End {
    let supervisor: Supervisor
    var worker: WatchedProcess?
    do throws(Errno) {
      supervisor = try Supervisor(
        fileSystem, session, handover, startup, prepare: policy.prepare
      ) { [self] ringer in
        policy.restore()
        control.supervise(handover, fileSystem, ringer)
        serve()
        fileSystem.noteEnd()
        DaemonProcess.exit(0)
      }
      if startup.handover == nil { worker = try supervisor.start() }
    } catch {
      throw StartError("cannot start the process that serves", error)
    }
    if let worker {
      DaemonProcess.leaveStartBehind()
      return supervisor.watch(worker, terminate: control.unmount)
    }
    fileSystem.noteUpgrade(nil)
    return supervisor.goOn(terminate: control.unmount)
  }

  /// Ends the view, since nobody can serve it: whoever waits for it is told so, and why is said.
  private func giveUp(_ reason: String) -> Never {
    DaemonProcess.complain("sandboxfs-view: the view has ended: \(reason)")
    control.unmount()
    let isSound = (try? fileSystem.recoverAudit()) != nil
    if isSound { audit.takeOver() }
    audit.note("the view has ended: \(reason)")
    if isSound { audit.finish() }
    DaemonProcess.exit(1)
  }

  /// Counts what there is where a process has died over a change of limits; where that fails, what
  /// is limited is compared with what was known before.
  private func settleBooks() {
    do throws(Errno) {
      try fileSystem.settleDoubt()
    } catch {
      audit.note("what the container holds can't be counted after a death: \(error.message)")
    }
  }

  /// Serves until the kernel ends the connection.
  private func serve() {
    do throws(Errno) {
      if fileSystem.supervision.restarts > 0 {
        audit.takeOver()
        settleBooks()
      }
      // Before whoever is refused hears of it, and may end this process too.
      fileSystem.report = { [audit] event in audit.note(event) }
      // Apps wait for nothing but the loop.
      try DaemonProcess.startThread { [self] in serveBeside() }
      if fileSystem.supervision.restarts > 0 {
        fileSystem.notePause(until: monotonicMicroseconds())
      }
      announce()
      try caller.serving { () throws(Errno) in try session.serve(threads: loopThreads) }
    } catch {
      fail(error)
    }
    audit.finish()
  }

  /// Says that the view is served, if nobody has.
  ///
  /// Only who serves says so: whoever watches may be dead by now, and another one in its place.
  private func announce() {
    guard !fileSystem.isAnnounced else { return }
    startup.announce { fileSystem.noteAnnouncement() }
  }

  /// Starts all that is there beside the requests of the kernel's, and becomes a part of it.
  private func serveBeside() {
    do throws(Errno) {
      try control.start()
      try audit.start()
      try notifier.start()
      try pressure?.start()
      try DaemonProcess.startThread { [fileSystem] in fileSystem.closeRemoved() }
    } catch {
      fail(error)
    }
    fileSystem.reportHangs()
    if fileSystem.supervision.restarts == 0 {
      // Whoever takes over has none of it.
      DaemonProcess.leaveStartBehind()
    } else {
      try? DaemonProcess.startThread { [self] in settleLost() }
    }
    fileSystem.watchPropertyLists()
  }

  /// Settles what was lost with processes that died, now and, since what can be seen of it may come
  /// late, again.
  private func settleLost() {
    for seconds: UInt32 in [0, 10, 100, 1000] {
      Pause.microseconds(seconds * 1_000_000)
      fileSystem.doubtLost(session)
      // What was known by a name when it was lost may lose the name later.
      fileSystem.forgetLost()
    }
  }

  private func fail(_ error: Errno) -> Never {
    DaemonProcess.complain("sandboxfs-view: the connection has failed: \(error.message)")
    audit.finish()
    DaemonProcess.exit(WorkerStatus.failed)
  }

  /// Removes what goes at exit, when the last mount of the view is gone.
  private func emptyAtExit() { Self.emptyAtExit(startup.container, policy.rules) }

  /// Removes what goes at exit, of a container that is not mounted and that we have locked.
  private static func emptyAtExit(_ container: borrowing Descriptor, _ policy: PolicyEngine) {
    do throws(Errno) {
      let data = try Walker(container.open(ContainerLayout.data, Flags.directory))
      try data.removeWhatGoes(on: .exit, policy)
    } catch {
      DaemonProcess.complain(
        "sandboxfs-view: cannot remove what goes at exit: \(error.message)")
    }
  }

  private static func log(_ container: borrowing Descriptor) throws(StartError) -> AuditLogFile {
    let log: AuditLogFile
    let defect: String?
    do throws(Errno) {
      log = try AuditLogFile(container)
      defect = try log.defect()
    } catch {
      throw StartError("cannot open the audit log", error)
    }
    // Nothing would be noted of what is refused.
    if let defect { throw StartError(defect) }
    return log
  }

  private static func writer(
    _ ring: AuditRing, _ log: AuditLogFile, _ systemLog: SystemLog, _ identifier: [UInt8]
  ) throws(StartError) -> AuditWriter {
    do throws(Errno) {
      return try AuditWriter(ring, log, systemLog, identifier: identifier)
    } catch {
      throw StartError("cannot read the audit log", error)
    }
  }

  private static func systemLog() throws(StartError) -> SystemLog {
    do throws(Errno) {
      return try SystemLog()
    } catch {
      throw StartError("cannot make a socket for the system's log", error)
    }
  }

  private static func blockSignals() throws(StartError) -> Descriptor {
    do throws(Errno) {
      return try DaemonProcess.blockSignals()
    } catch {
      throw StartError("cannot block signals", error)
    }
  }

  private static func open(
    _ startup: Startup, _ configuration: ViewConfiguration, _ policy: PolicyEngine,
    _ caller: Caller
  ) throws(StartError) -> ViewFileSystem {
    let origin: ViewFileSystem.Origin =
      startup.handover.map { .inherited($0.state) } ?? (configuration.isSupervised ? .shared : .own)
    do throws(Errno) {
      let limit = try DaemonProcess.raiseOpenFileLimit()
      if caller.isPrivileged { try Caller.prepareProcess() }
      return try ViewFileSystem(
        configuration, policy, container: startup.container, caller: caller,
        // The other half is for open files, the kernel's device, the listings under way.
        descriptorLimit: max(16, limit / 2), origin)
    } catch {
      throw StartError("cannot open the container", error)
    }
  }

  /// Counts what the container holds, if that is limited.
  private static func count(
    _ fileSystem: ViewFileSystem, _ limits: ContainerLimits
  ) throws(StartError) -> Int {
    do throws(Errno) {
      return try fileSystem.beginBooks(limits)
    } catch {
      throw StartError("cannot count what the container holds", error)
    }
  }

  private static func lock(_ startup: Startup) throws(StartError) -> Descriptor {
    if let handover = startup.handover { return Descriptor(owning: handover.lock) }
    do throws(Errno) {
      let lock = try startup.container.openForOwner(
        ContainerLayout.lock, Flags.lockFile, mode: 0o600)
      try lock.lockWithoutWaiting()
      return lock
    } catch {
      if error == .wouldBlock { throw StartError("busy") }
      throw StartError("cannot lock the container", error)
    }
  }

  static func policy(
    _ configuration: ViewConfiguration
  ) throws(StartError) -> PolicyEngine {
    do throws(ProfileErrors) {
      return try PolicyEngine(
        layers: configuration.layers, bundleName: configuration.bundleName)
    } catch {
      let first = error.errors.first?.description ?? error.description
      let more = error.errors.count > 1 ? " (and \(error.errors.count - 1) more)" : ""
      throw StartError("the policy has an error: \(first)\(more)")
    }
  }

  /// Whether the kernel is to be taken as one before 6.9: only in builds for tests.
  private static var isOldKernel: Bool {
    #if DEBUG
      FaultInjection.isOldKernel
    #else
      false
    #endif
  }

  /// A session that is mounted nowhere.
  static func session(
    _ fileSystem: ViewFileSystem, _ configuration: ViewConfiguration
  ) -> Session {
    let passthrough: Session.Passthrough =
      switch configuration.transport {
      case .kernel: fileSystem.isOnOverlay ? .overOverlay : .direct
      case .fusermount: .none
      }
    return Session(
      fileSystem, journal: fileSystem.journal, passthrough: passthrough, isOldKernel: isOldKernel)
  }

  /// The session of the view, mounted if it is not yet.
  private static func session(
    _ startup: Startup, _ fileSystem: ViewFileSystem, _ configuration: ViewConfiguration
  ) throws(StartError) -> Session {
    do throws(Errno) {
      let session = session(fileSystem, configuration)
      if let handover = startup.handover {
        session.adopt(Descriptor(owning: handover.device))
        try session.repeatInit()
      } else {
        try mount(session, configuration)
        try session.answerInit()
      }
      fileSystem.backingFiles = session.backingFiles
      fileSystem.kernelNodes = session.kernelNodes
      return session
    } catch {
      throw StartError("cannot mount the view", error)
    }
  }

  private static func mount(
    _ session: Session, _ configuration: ViewConfiguration
  ) throws(Errno) {
    switch configuration.transport {
    case .kernel:
      let device = try KernelMount.mount(
        source: configuration.source, target: configuration.target,
        flags: configuration.mountFlags)
      session.adopt(device)
    case .fusermount:
      try session.mountByHelper(
        at: configuration.target.map { CChar(bitPattern: $0) } + [0],
        options: MountOptions.helper(configuration))
    }
  }
}

/// The option string for fusermount3.
enum MountOptions {
  static func helper(_ configuration: ViewConfiguration) -> String {
    var options = "subtype=sandboxfs,default_permissions,nosuid,nodev"
    let flags = MountFlags(rawValue: configuration.mountFlags)
    for (flag, word) in words where flags.contains(flag) { options += "," + word }
    return options + ",fsname=" + escaped(configuration.source)
  }

  /// What fusermount3 can be asked for.
  private static let words: [(MountFlags, String)] = [
    (.readOnly, "ro"), (.noExecution, "noexec"), (.noAccessTime, "noatime"),
    (.synchronous, "sync"), (.synchronousDirectories, "dirsync"),
  ]

  /// libfuse takes a comma as the end of a value unless a backslash stands before it.
  private static func escaped(_ value: [UInt8]) -> String {
    var bytes: [UInt8] = []
    for byte in value {
      if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\\") {
        bytes.append(UInt8(ascii: "\\"))
      }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
