// Other processes, as /proc shows them: what may not be looked at is passed over.
internal import CLinux
internal import Glibc

/// A process as /proc shows it.
public struct RunningProcess: Sendable {
  /// Its number, which may be another's by the time it is used.
  public let pid: Int32

  /// A process by its number.
  public init(pid: Int32) { self.pid = pid }

  /// The one that started the caller.
  public static var parent: RunningProcess { RunningProcess(pid: getppid()) }

  /// The caller itself.
  public static var current: RunningProcess { RunningProcess(pid: getpid()) }

  /// A kind of namespace.
  public enum Namespace: String, Sendable {
    /// What is mounted.
    case mounts = "mnt"
    /// Which networks.
    case network = "net"
    /// Which processes there are.
    case processes = "pid"
  }

  /// The namespace that it is in, such as `mnt:[4026531841]`; nil if the caller may not look.
  public func namespace(_ kind: Namespace) -> [UInt8]? {
    try? readLinkTarget(AT_FDCWD, "/proc/\(pid)/ns/\(kind.rawValue)")
  }

  /// The pid namespace so many levels above its own; nil if the caller may not look, or is below.
  public func processNamespace(above levels: Int) -> [UInt8]? {
    if levels == 0 { return namespace(.processes) }
    guard var place = try? Descriptor.open("/proc/\(pid)/ns/pid", O_RDONLY) else { return nil }
    for _ in 0..<levels {
      let parent = clinux_namespace_above(place.rawValue)
      guard parent >= 0 else { return nil }
      place = Descriptor(owning: parent)
    }
    return try? readLinkTarget(AT_FDCWD, "/proc/self/fd/\(place.rawValue)")
  }

  /// Its numbers, from the caller's pid namespace to its own; empty if it has ended.
  public var numbers: [Int32] {
    status("NSpid:").split(separator: "\t").compactMap { Int32($0) }
  }

  /// The user that it runs as; nil if it has ended.
  public var uid: UInt32? { status("Uid:").split(separator: "\t").first.flatMap { UInt32($0) } }

  /// What a line of its status says.
  private func status(_ key: String) -> Substring {
    guard let file = try? Descriptor.open("/proc/\(pid)/status", O_RDONLY),
      let text = try? file.readToEnd(atMost: 1 << 16)
    else { return "" }
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix(key) }?.dropFirst(key.utf8.count) ?? ""
  }

  /// The numbers of its threads; empty if it has ended.
  public var threads: [Int32] { Self.entries("/proc/\(pid)/task").compactMap { Int32($0) } }

  /// What a thread is doing.
  public struct ThreadLook: Sendable {
    /// Whether it waits for a disk, or for what is like one.
    public let waitsForDevice: Bool
    /// Whether it waits for another thread.
    public let waitsForThread: Bool
    /// Whether it runs.
    public let runs: Bool
    /// How long it has run in the program, and in the kernel.
    public let programTime, kernelTime: UInt
  }

  /// Looks at one of its threads; nil if there is none of that number.
  public func look(at thread: Int32) -> ThreadLook? {
    let look = clinux_look_at_thread(pid, thread)
    guard look.state != 0 else { return nil }
    let state = UInt8(bitPattern: look.state)
    return ThreadLook(
      waitsForDevice: state == UInt8(ascii: "D"), waitsForThread: look.waits_for_thread != 0,
      runs: state == UInt8(ascii: "R"), programTime: look.program_time,
      kernelTime: look.kernel_time)
  }

  /// All that run.
  public static func all() -> [RunningProcess] {
    entries("/proc").compactMap { Int32($0) }.map(RunningProcess.init(pid:))
  }

  /// The name of its program, cut to 15 bytes; empty if it has ended.
  public var name: [UInt8] {
    guard let file = try? Descriptor.open("/proc/\(pid)/comm", O_RDONLY) else { return [] }
    let text = (try? file.readToEnd(atMost: 4096)) ?? []
    return Array(text.prefix { $0 != UInt8(ascii: "\n") })
  }

  /// The words of its command line; empty if it has ended.
  public var arguments: [[UInt8]] {
    guard let file = try? Descriptor.open("/proc/\(pid)/cmdline", O_RDONLY) else { return [] }
    let text = (try? file.readToEnd(atMost: 4 << 20)) ?? []
    return text.split(separator: 0, omittingEmptySubsequences: false).dropLast().map(Array.init)
  }

  /// The directory that it has open under a number; nil if the caller may not look.
  public func directory(descriptor: Int32) -> Descriptor? {
    try? Descriptor.open("/proc/\(pid)/fd/\(descriptor)", O_PATH | O_DIRECTORY)
  }

  /// Whether it has something open, mapped or as its place that `isMeant` says yes to.
  ///
  /// No file system is asked: one that does not answer must not stop who wants to know why.
  public func uses(where isMeant: (MountIdentity) -> Bool, mapping device: DeviceNumber) -> Bool {
    for link in ["cwd", "root", "exe"] {
      if let file = try? MountIdentity(path: "/proc/\(pid)/\(link)"), isMeant(file) { return true }
    }
    for number in Self.entries("/proc/\(pid)/fd") {
      if let file = try? MountIdentity(path: "/proc/\(pid)/fd/\(number)"), isMeant(file) {
        return true
      }
    }
    return maps(device)
  }

  /// Whether it has a file of that file system mapped.
  private func maps(_ device: DeviceNumber) -> Bool {
    guard let file = try? Descriptor.open("/proc/\(pid)/maps", O_RDONLY),
      let text = try? file.readToEnd(atMost: 64 << 20)
    else { return false }
    // address permissions offset device inode path
    return text.split(separator: UInt8(ascii: "\n")).contains { line in
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
      guard fields.count > 3 else { return false }
      let parts = String(decoding: fields[3], as: UTF8.self).split(separator: ":")
      guard parts.count == 2, let major = UInt32(parts[0], radix: 16),
        let minor = UInt32(parts[1], radix: 16)
      else { return false }
      return DeviceNumber(major: major, minor: minor) == device
    }
  }

  /// Waits until it has ended, at most for so many milliseconds; whether it has.
  public func waitForEnd(milliseconds: Int32) -> Bool {
    guard let process = ProcessHandle(pid: pid) else { return true }
    return process.waitForEnd(milliseconds: milliseconds)
  }

  static func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}

/// The process that a thread belongs to, and its name of at most 15 bytes, written to `name`, which
/// holds 16.
///
/// The length is 0 and the process the thread if it is gone or in another pid namespace.
public func processOfThread(
  _ thread: Int32, nameInto name: UnsafeMutablePointer<CChar>
) -> (process: Int32, nameCount: Int) {
  var process = thread
  let count = thread > 0 ? clinux_command_name(&process, name) : 0
  return (process, Int(count))
}
