// The process that serves, and the one that watches over it: each sees to it that the other one is
// there.
import Containers
import LinuxKit
import View

/// What watches over this process.
struct Supervision {
  /// Can be read when what watches has ended; -1 for nothing.
  private(set) var handle: CInt
  private let handover: Handover
  private let fileSystem: ViewFileSystem
  private let ringer: ProcessWatch.Ringer
  private let identifier: [UInt8]
  /// The guardian that this process has started; 0 for none.
  private var guardian: CInt = 0

  init(
    _ handover: Handover, _ fileSystem: ViewFileSystem, _ ringer: ProcessWatch.Ringer,
    _ configuration: ViewConfiguration
  ) {
    self.handover = handover
    self.fileSystem = fileSystem
    self.ringer = ringer
    identifier = configuration.identifier
    handle = Supervision.watch(fileSystem.supervision.supervisor)
  }

  private static func watch(_ process: CInt) -> CInt {
    // The number may be another's already, where the one that had it has died.
    guard let handle = ProcessHandle(pid: process) else { return -1 }
    return handle.release()
  }

  /// Asks the program that lies now where ours did, and has it go on in a moment; its release.
  func upgrade(_ container: borrowing Descriptor) throws(StartError) -> String {
    let (program, release) = try Upgrade.prepare(handover, identifier, container)
    fileSystem.nextProgram = program
    // After the answer to whoever asked for it was sent.
    try? DaemonProcess.startThread { [ringer] in
      Pause.microseconds(5000)
      ringer.ring()
    }
    return release
  }

  /// Has another process watch if the one that should has died before it was watched.
  mutating func begin() {
    if handle < 0 { replaceSupervisor() }
  }

  /// Has another process watch, since the one that did has died.
  mutating func replaceSupervisor() {
    if handle >= 0 { _ = Descriptor(owning: handle) }
    handle = -1
    if guardian > 0 { DaemonProcess.reap(guardian) }
    guard let file = try? handover.file() else { return }
    let guarded = fileSystem.guarded
    let started = try? Guardian.start(
      arguments: [Array("sandboxfs-view".utf8), identifier],
      environment: Handover.environment(file), ended: guarded.ended, death: guarded.death)
    // It is read by the program that the guardian becomes.
    _ = file.release()
    guard let started else { return }
    guardian = started
    fileSystem.setSupervisor(started)
    handle = Supervision.watch(started)
  }
}
