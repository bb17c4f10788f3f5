// The apps that run, as the kernel shows them: nothing that a program could forge is believed.
//
// A run is a pid namespace right below ours whose first process has a container's view mounted on
// the home directory: that is bubblewrap's, and the app can't change what it sees. Its processes
// are all in there, and in the namespaces that these have made. No file of ours says so, and none
// of the app's.
internal import Glibc
public import LinuxKit

/// One run of an app: the processes that came from one `sandboxfs run`.
public struct RunningApp: Sendable {
  /// The view's file system.
  public let device: DeviceNumber
  /// What the view was mounted as: the container's identifier.
  public let identifier: [UInt8]
  /// The first process inside, which started all others and ends after them.
  public let first: Int32
  /// The processes inside but the first, in the order of their numbers.
  public let processes: [RunningProcess]

  /// All that run, as far as the caller may look: the views of `device` only, if it is not nil.
  public static func all(device: DeviceNumber? = nil) -> [RunningApp] {
    let own = RunningProcess.current
    let depth = own.numbers.count
    guard let ownProcesses = own.namespace(.processes) else { return [] }
    var firsts: [(process: RunningProcess, processes: [UInt8])] = []
    var members: [[UInt8]: [RunningProcess]] = [:]
    for process in RunningProcess.all() {
      guard let processes = process.namespace(.processes), processes != ownProcesses else {
        continue
      }
      let numbers = process.numbers
      // Whose namespace is not below ours is nobody's.
      guard numbers.count > depth,
        let run = process.processNamespace(above: numbers.count - depth - 1)
      else { continue }
      if numbers.count == depth + 1, numbers.last == 1 {
        firsts.append((process, run))
      } else {
        members[run, default: []].append(process)
      }
    }
    return firsts.compactMap { first in
      guard first.process.namespace(.mounts) != own.namespace(.mounts),
        let entry = view(of: first.process), device == nil || entry.device == device
      else { return nil }
      return RunningApp(
        device: entry.device, identifier: entry.source, first: first.process.pid,
        processes: (members[first.processes] ?? []).sorted { $0.pid < $1.pid })
    }
  }

  /// The view that is a process's home directory; nil if none is.
  private static func view(of process: RunningProcess) -> MountEntry? {
    guard let table = try? MountTable.read(of: process.pid),
      let entry = table.topmost(at: Sandbox.home), entry.type.elementsEqual(viewType)
    else { return nil }
    return entry
  }

  private static let viewType = Array("fuse.sandboxfs".utf8)
}

extension RunningApp {
  /// Ends all of it: asks first, and kills after so many milliseconds what is left.
  ///
  /// Whether it has ended.
  public func end(patienceMilliseconds: Int32) -> Bool {
    // It stays the one that was meant only if it is still the first of such a namespace.
    guard let handle = ProcessHandle(pid: first), isStillThere else { return true }
    if patienceMilliseconds > 0 {
      for process in processes { try? process.send(SIGTERM) }
      if handle.waitForEnd(milliseconds: patienceMilliseconds) { return true }
    }
    try? handle.send(SIGKILL)
    return handle.waitForEnd(milliseconds: 10_000)
  }

  /// Whether the first process is the one that was found.
  var isStillThere: Bool {
    let process = RunningProcess(pid: first)
    return Self.view(of: process)?.device == device && process.numbers.last == 1
  }
}

extension RunningProcess {
  /// The number by which the processes of its run know it; nil if it has ended.
  public var numberInside: Int32? {
    numbers.dropFirst(RunningProcess.current.numbers.count).first
  }
}
