// The apps that run, as the kernel shows them: nothing that a program could forge is believed.
//
// A process belongs to a container if the container's view is mounted on the home directory of its
// mount namespace, and its pid namespace is not ours. No file of ours says so, and none of the
// app's.
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
    var places: [[UInt8]: MountEntry?] = [:]
    var runs: [(entry: MountEntry, first: Int32, processes: [UInt8])] = []
    var members: [[UInt8]: [RunningProcess]] = [:]
    let own = RunningProcess.current
    guard let ownProcesses = own.namespace(.processes) else { return [] }
    for process in RunningProcess.all() {
      guard let mounts = process.namespace(.mounts), mounts != own.namespace(.mounts),
        let processes = process.namespace(.processes), processes != ownProcesses
      else { continue }
      let entry = places[mounts] ?? view(of: process)
      places[mounts] = .some(entry)
      guard let entry, device == nil || entry.device == device else { continue }
      let numbers = process.numbers
      if numbers.count == own.numbers.count + 1, numbers.last == 1 {
        runs.append((entry, process.pid, processes))
      } else {
        members[processes, default: []].append(process)
      }
    }
    return runs.map { run in
      RunningApp(
        device: run.entry.device, identifier: run.entry.source, first: run.first,
        processes: (members[run.processes] ?? []).sorted { $0.pid < $1.pid })
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
