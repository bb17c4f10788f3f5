// Starting a container's daemon: three descriptors and one line of answer.
internal import Containers
internal import LinuxKit
internal import Paths
internal import Synchronization

/// The daemons that this process started and that have not been waited for.
///
/// A daemon outlives who started it; if it ends first it stays a zombie until someone asks.
enum StartedDaemons {
  private static let running = Mutex<[ChildProcess]>([])

  static func add(_ daemon: ChildProcess) { running.withLock { $0.append(daemon) } }

  /// Forgets those that have ended; whether `pid` was started here and still runs.
  @discardableResult
  static func reap(_ pid: Int32 = 0) -> Bool {
    // waitpid does not block here.
    running.withLock { daemons in
      daemons.removeAll { (try? $0.exitStatusIfEnded()) != .some(nil) }
      return daemons.contains { $0.pid == pid }
    }
  }
}

/// Starts the daemon for the container in `directory` and waits until it serves.
///
/// nil if another one has the container's lock. If it does not answer in time or a signal comes, it
/// is killed, and what it mounted is taken away.
func startDaemon(
  _ directory: borrowing Descriptor, _ configuration: ViewConfiguration, at target: MountTarget,
  _ settings: MountSettings, _ signals: borrowing BlockedSignals
) throws(MountError) -> ChildProcess? {
  StartedDaemons.reap()
  let program: [UInt8]
  if let given = settings.daemon { program = given } else { program = try installedDaemon() }
  let daemon = try StartingDaemon(program, directory, configuration)
  do throws(MountError) {
    let deadline = monotonicMilliseconds() + settings.patienceMilliseconds
    let line = try daemon.readLine(until: deadline, signals)
    if line == Array("ready".utf8) { return daemon.process }
    if line == Array("error busy".utf8) {
      end(daemon.process)
      return nil
    }
    throw daemon.refusal(line)
  } catch {
    stop(daemon.process, target, configuration)
    throw error
  }
}

/// Ends a daemon before it has said that it serves, and takes away what it may have mounted.
///
/// Who serves already lives on when the one that was started is killed, and ends with the mount;
/// fusermount3 may be about to mount.
private func stop(
  _ daemon: ChildProcess, _ target: MountTarget, _ configuration: ViewConfiguration
) {
  end(daemon)
  let survivors = RunningProcess.all().filter { $0.session == daemon.pid }
  // Otherwise what is there and answers is somebody else's.
  if !survivors.isEmpty { target.takeDown(configuration) }
  for process in survivors { _ = process.waitForEnd(milliseconds: 2000) }
  try? removeDeadView(at: target.path)
}

/// The daemon's program: beside ours, else where it is installed.
///
/// What is not beside the running program, found by the kernel's own link, is never looked for
/// along a path of the caller's.
func installedDaemon() throws(MountError) -> [UInt8] {
  let name = Array("/sandboxfs-view".utf8)
  if let program = try? canonicalPath(Array("/proc/self/exe".utf8)),
    let slash = program.lastIndex(of: UInt8(ascii: "/"))
  {
    let beside = program[..<slash] + name
    if (try? canonicalPath(Array(beside))) != nil { return Array(beside) }
  }
  let installed = Array("/usr/libexec/sandboxfs".utf8) + name
  guard (try? canonicalPath(installed)) != nil else {
    throw MountError(
      .system,
      "the daemon is neither beside this program nor at \(installed.printable); "
        + "install sandboxfs again"
    )
  }
  return installed
}

/// Nothing of the caller's: mount(8) may have an environment of a stranger, or none.
private let daemonEnvironment: [[UInt8]] = [
  // libfuse looks for fusermount3 along it.
  Array("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".utf8),
  // A crash must end the daemon at once: programs wait for its answers.
  Array("SWIFT_BACKTRACE=enable=no".utf8),
]

/// A daemon that has not answered yet.
private final class StartingDaemon {
  let process: ChildProcess
  private let answer: Descriptor
  private let complaints: Descriptor
  private static let complaintCapacity = 4096

  /// Starts it: its descriptors are nothing to read, nowhere to write, what it and fusermount3
  /// complain to, the container, what to serve, and the answer.
  init(
    _ program: [UInt8], _ directory: borrowing Descriptor, _ configuration: ViewConfiguration
  ) throws(MountError) {
    do throws(Errno) {
      var pipe = try Pipe()
      let nothing = try Descriptor.null()
      let message = try Descriptor.memory(holding: configuration.encoded())
      complaints = try Descriptor.memory(capacity: Self.complaintCapacity)
      let start = ChildProcess.Start(
        path: program, arguments: [Array("sandboxfs-view".utf8), configuration.identifier],
        environment: daemonEnvironment, newSession: true)
      process = try ChildProcess.spawn(
        start,
        descriptors: [
          nothing.rawValue, nothing.rawValue, complaints.rawValue, directory.rawValue,
          message.rawValue, pipe.writing?.rawValue ?? -1,
        ])
      // Its end is seen only if nobody else can write.
      pipe.writing = nil
      answer = try pipe.reading.duplicate()
    } catch {
      throw MountError(.system, "cannot start the daemon \(program.printable)", error)
    }
  }

  /// The line that the daemon writes; empty if it ends without a word.
  func readLine(
    until deadline: Int64, _ signals: borrowing BlockedSignals
  ) throws(MountError) -> [UInt8] {
    var line: [UInt8] = []
    while true {
      let rest = deadline - monotonicMilliseconds()
      if rest <= 0 { throw MountError(.failed, "the daemon has not answered in time") }
      let chunk = try readChunk(Int32(clamping: rest), signals)
      try signals.check()
      guard let chunk else { continue }
      line += chunk
      if let end = line.firstIndex(of: UInt8(ascii: "\n")) { return Array(line[..<end]) }
      if chunk.isEmpty { return [] }
    }
  }

  /// What has come; nil if nothing has.
  private func readChunk(
    _ milliseconds: Int32, _ signals: borrowing BlockedSignals
  ) throws(MountError) -> [UInt8]? {
    do throws(Errno) {
      let isReadable = try signals.wait(for: answer, milliseconds: milliseconds)
      return isReadable ? try answer.readSome() : nil
    } catch {
      throw MountError(.system, "cannot read the daemon's answer", error)
    }
  }

  /// What went wrong, in the daemon's words or by how it ended.
  func refusal(_ line: [UInt8]) -> MountError {
    let prefix = Array("error ".utf8)
    if line.starts(with: prefix) {
      return MountError(.failed, line.dropFirst(prefix.count).printable + complaint)
    }
    if !line.isEmpty {
      return MountError(
        .internalFault, "the daemon says what we do not know: \(line.printable)")
    }
    // It has closed its end, so it has ended, or is about to.
    let status = (try? process.wait()).map(String.init) ?? "unknown"
    return MountError(
      .system, "the daemon ended before it served, with status \(status)" + complaint)
  }

  /// The first line of what it or fusermount3 has written to standard error, in brackets.
  private var complaint: String {
    let text = (try? complaints.writtenText(capacity: Self.complaintCapacity)) ?? []
    let line = text.split(separator: UInt8(ascii: "\n")).first ?? []
    return line.isEmpty ? "" : " (\(line.printable))"
  }
}

/// Ends a daemon that we started; it has that number until it is waited for.
func end(_ daemon: ChildProcess) {
  guard (try? daemon.exitStatusIfEnded()) == .some(nil) else { return }
  try? daemon.kill()
  _ = try? daemon.wait()
}

extension BlockedSignals {
  /// Throws if a signal has come that asks us to stop.
  borrowing func check() throws(MountError) {
    guard let signal = take() else { return }
    throw MountError(.interrupted, "stopped by signal \(signal); nothing is mounted")
  }
}
