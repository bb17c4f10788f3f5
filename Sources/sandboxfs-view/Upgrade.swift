// Another program goes on with a view: the one that lies now where ours did when it was started.
//
// Before anything is done it is asked whether it could: it builds all that a view needs, without
// the mount, and compares what it would agree on with the kernel.
import Containers
import FuseKit
import LinuxKit
import Paths
import View

/// Asks the program that is to go on, and is that program while it is asked.
enum Upgrade {
  private static let word = "--rehearse"
  /// Where the program that is asked finds what it needs, behind the container's directory.
  private static let (handover, answer, configuration): (CInt, CInt, CInt) = (4, 5, 6)
  private static let patienceMilliseconds: Int64 = 10_000

  // MARK: Asking

  /// Opens the program, once it has said that it can go on; its release.
  static func prepare(
    _ handover: Handover, _ identifier: [UInt8], _ container: borrowing Descriptor
  ) throws(StartError) -> (program: CInt, release: String) {
    let path = DaemonProcess.program
    let program: CInt
    let line: [UInt8]?
    do throws(Errno) {
      (program, line) = try open(asking: handover, identifier, container)
    } catch {
      throw StartError("\(path.printable) cannot be executed", error)
    }
    let answer = String(decoding: line ?? [], as: UTF8.self)
    if answer.hasPrefix("ok ") { return (program, String(answer.dropFirst(3))) }
    _ = Descriptor(owning: program)
    let reason = answer.hasPrefix("error ") ? answer.dropFirst(6) : "it does not answer"
    throw StartError("\(path.printable) cannot go on with the view: \(reason)")
  }

  private static func open(
    asking handover: Handover, _ identifier: [UInt8], _ container: borrowing Descriptor
  ) throws(Errno) -> (program: CInt, answer: [UInt8]?) {
    let program = try DaemonProcess.openProgram()
    guard try DaemonProcess.trusts(program.rawValue) else { throw .notPermitted }
    let answer = try ask(program, handover, identifier, container)
    return (program.release(), answer)
  }

  private static func ask(
    _ program: borrowing Descriptor, _ handover: Handover, _ identifier: [UInt8],
    _ container: borrowing Descriptor
  ) throws(Errno) -> [UInt8]? {
    let file = try handover.file()
    let nothing = try Descriptor.null()
    var pipe = try Pipe()
    let process = try ChildProcess.spawn(
      ChildProcess.Start(
        // By the descriptor: what is asked is what will be executed.
        path: Array("/proc/\(DaemonProcess.number)/fd/\(program.rawValue)".utf8),
        arguments: [Array("sandboxfs-view".utf8), identifier, Array(word.utf8)]),
      descriptors: [
        nothing.rawValue, nothing.rawValue, nothing.rawValue, container.rawValue, file.rawValue,
        pipe.writing?.rawValue ?? -1, handover.configuration,
      ])
    pipe.writing = nil
    defer {
      try? process.kill()
      _ = try? process.wait()
    }
    return try pipe.reading.readLine(
      limit: 4096, ClientPatience(milliseconds: patienceMilliseconds))
  }

  // MARK: Being asked

  /// Whether this process is only asked.
  static var isAsked: Bool { CommandLine.arguments.dropFirst(2).first == word }

  /// Answers whether this program could go on with the view.
  static func rehearseAndAnswer() -> Never {
    let pipe = Descriptor(owning: answer)
    let line: String
    do throws(StartError) {
      try rehearse()
      line = "ok \(Release.number)"
    } catch {
      line = "error \(error.line)"
    }
    try? pipe.writeAll(Array("\(line)\n".utf8))
    DaemonProcess.exit(0)
  }

  private static func rehearse() throws(StartError) {
    let handover = try Handover.reading(Upgrade.handover)
    guard let message = try? OpenDescriptors.contents(of: configuration, atMost: 64 << 20),
      let configuration = ViewConfiguration(decoding: message)
    else { throw StartError("it reads no configuration of the release that has mounted it") }
    let policy = try Daemon.policy(configuration)
    do throws(Errno) {
      let fileSystem = try ViewFileSystem(
        configuration, policy, container: Descriptor(owning: Startup.container),
        caller: Caller(isPrivileged: configuration.transport == .kernel), descriptorLimit: 64,
        .rehearsed)
      let session = Daemon.session(fileSystem, configuration)
      try session.repeatInit(handover.agreement)
    } catch {
      if error == .protocolMismatch {
        throw StartError("it would agree on other features with the kernel")
      }
      throw StartError("it cannot open the container", error)
    }
  }
}
