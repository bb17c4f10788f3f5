// From a container's directory to a served view, in the only order that works: lock, privileges,
// policy, mount, INIT, control socket, threads.
import Containers
import FuseKit
import LinuxKit
import Policy
import Purging
import View

/// One view, mounted and ready to be served.
final class Daemon {
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

  /// Mounts the view and answers INIT, on a process of one thread.
  init(_ startup: Startup) throws(StartError) {
    let configuration = try startup.readConfiguration()
    lock = try Daemon.lock(startup.container)
    let policy = try Daemon.policy(configuration)
    // What a crash has kept from being removed at exit.
    Daemon.emptyAtExit(startup.container, policy)
    let termination = try Daemon.blockSignals()
    let log = try Daemon.log(startup.container)
    caller = Caller(isPrivileged: configuration.transport == .kernel)
    let fileSystem = try Daemon.open(startup.container, configuration, policy, caller)
    let closedCount = try Daemon.count(fileSystem, configuration.limits)
    DaemonProcess.leaveSession()
    session = try Daemon.mount(fileSystem, configuration)
    self.fileSystem = fileSystem
    notifier = Notifier(session)
    let systemLog = try Daemon.systemLog()
    self.policy = LivePolicy(fileSystem, session, notifier, configuration, policy)
    let writer = try Daemon.writer(
      fileSystem.audit, log, systemLog, configuration.identifier)
    audit = writer
    control = try ControlServer(
      startup.container, configuration, self.policy, systemLog, writer, termination: termination)
    pressure = configuration.pressure.map { PressureWatch(fileSystem, $0, writer) }
    self.startup = startup
    isSupervised = configuration.isSupervised
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
    // Where the kernel can't repeat what was asked, nobody could take over.
    guard isSupervised, session.canResend else {
      startup.answer("ready")
      serve()
      return emptyAtExit()
    }
    let supervisor: Supervisor
    let worker: WatchedProcess
    do throws(Errno) {
      supervisor = try Supervisor(fileSystem, session, passing: [Startup.readiness]) { [self] in
        policy.restore()
        serve()
        DaemonProcess.exit(0)
      }
      worker = try supervisor.start()
    } catch {
      throw StartError("cannot start the process that serves", error)
    }
    startup.answer("ready")
    DaemonProcess.leaveStartBehind()
    guard case .failed(let reason) = supervisor.watch(worker, terminate: control.unmount) else {
      // The rules may have been changed by who has served.
      policy.restore()
      return emptyAtExit()
    }
    giveUp(reason)
  }

  /// Ends the view, since nobody can serve it: whoever waits for it is told so, and why is said.
  private func giveUp(_ reason: String) -> Never {
    DaemonProcess.complain("sandboxfs-view: the view has ended: \(reason)")
    control.unmount()
    let isSound = (try? fileSystem.recoverAudit()) != nil
    if isSound { try? audit.takeOver() }
    audit.note("the view has ended: \(reason)")
    if isSound { audit.finish() }
    DaemonProcess.exit(1)
  }

  /// Serves until the kernel ends the connection.
  private func serve() {
    do throws(Errno) {
      if fileSystem.supervision.restarts > 0 { try audit.takeOver() }
      // The thread that serves does not wait for the log.
      fileSystem.report = { [audit] event in
        try? DaemonProcess.startThread { audit.note(event) }
      }
      try control.start()
      try audit.start()
      try notifier.start()
      try pressure?.start()
      DaemonProcess.leaveStartBehind()
      // All of them stay: making and ending threads with the load costs more than it saves.
      try caller.serving { () throws(Errno) in
        try session.serve(threads: loopThreads, idle: loopThreads)
      }
    } catch {
      DaemonProcess.complain("sandboxfs-view: the connection has failed: \(error.message)")
      audit.finish()
      DaemonProcess.exit(WorkerStatus.failed)
    }
    audit.finish()
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
    _ container: borrowing Descriptor, _ configuration: ViewConfiguration,
    _ policy: PolicyEngine, _ caller: Caller
  ) throws(StartError) -> ViewFileSystem {
    do throws(Errno) {
      let limit = try DaemonProcess.raiseOpenFileLimit()
      if caller.isPrivileged { try Caller.prepareProcess() }
      return try ViewFileSystem(
        configuration, policy, container: container, caller: caller,
        // The other half is for open files, the kernel's device, the listings under way.
        descriptorLimit: max(16, limit / 2), isSupervised: configuration.isSupervised)
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

  private static func lock(_ container: borrowing Descriptor) throws(StartError) -> Descriptor {
    do throws(Errno) {
      let lock = try container.openForOwner(ContainerLayout.lock, Flags.lockFile, mode: 0o600)
      try lock.lockWithoutWaiting()
      return lock
    } catch {
      if error == .wouldBlock { throw StartError("busy") }
      throw StartError("cannot lock the container", error)
    }
  }

  private static func policy(
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

  private static func mount(
    _ fileSystem: ViewFileSystem, _ configuration: ViewConfiguration
  ) throws(StartError) -> Session {
    do throws(Errno) {
      let session: Session
      switch configuration.transport {
      case .kernel:
        session = try Session(
          fileSystem, options: "", journal: fileSystem.journal,
          passthrough: fileSystem.isOnOverlay ? .overOverlay : .direct)
        let device = try KernelMount.mount(
          source: configuration.source, target: configuration.target,
          flags: configuration.mountFlags)
        // libfuse keeps the number, and the kernel the connection while it is open.
        try session.adopt(device.release())
      case .fusermount:
        session = try Session(
          fileSystem, options: MountOptions.helper(configuration), journal: fileSystem.journal)
        try session.mountByHelper(at: configuration.target.map { CChar(bitPattern: $0) } + [0])
      }
      try session.answerInit()
      fileSystem.backingFiles = session.backingFiles
      fileSystem.kernelNodes = session.kernelNodes
      return session
    } catch {
      throw StartError("cannot mount the view", error)
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
