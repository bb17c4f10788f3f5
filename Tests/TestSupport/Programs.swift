// Running a program to its end and looking at what it said.
//
// What it writes goes to files, not pipes: a daemon that it leaves behind would keep a pipe open.

import Glibc

/// What a program did.
public struct Outcome: Sendable {
  /// The exit status, or 128 + the signal's number.
  public let status: Int32
  /// What it wrote to standard output.
  public let output: [UInt8]
  /// What it wrote to standard error.
  public let error: [UInt8]

  /// Standard output as text.
  public var text: String { String(decoding: output, as: UTF8.self) }
  /// Standard error as text.
  public var errorText: String { String(decoding: error, as: UTF8.self) }
}

/// Why a program's outcome is not known.
public struct ProgramFailure: Error, CustomStringConvertible {
  /// One line.
  public let description: String

  /// A failure that says this.
  public init(description: String) { self.description = description }
}

/// The programs that this package builds.
public enum BuiltPrograms {
  /// Where they lie: beside the test runner.
  public static let directory: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = readlink("/proc/self/exe", &buffer, Int(PATH_MAX))
    precondition(count > 0, "/proc is not mounted")
    let path = String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    return String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
  }()

  /// The daemon of another build, such as one with a sanitizer, where the environment names one.
  private static let otherDaemon = getenv("SANDBOXFS_TEST_DAEMON").map { String(cString: $0) }

  /// Whether the daemon is not the one beside the test runner.
  public static var daemonIsOfAnotherBuild: Bool { otherDaemon != nil }

  /// The path of one of them.
  public static func path(_ name: String) -> String {
    if name == "sandboxfs-view", let otherDaemon { return otherDaemon }
    return directory + "/" + name
  }
}

/// Runs a program to its end.
///
/// `program` without a slash is looked for in the PATH. Nothing but the given variables is in its
/// environment, and standard input is `input`. After `timeoutSeconds` it is killed, which throws.
public func run(
  _ program: String, _ arguments: [String], environment: [String: String] = standardEnvironment,
  input: [UInt8] = [], timeoutSeconds: Int = 120
) throws -> Outcome {
  try run(
    program, arguments.map { Array($0.utf8) }, environment: environment, input: input,
    timeoutSeconds: timeoutSeconds)
}

/// What `run` gives a program unless told otherwise.
public let standardEnvironment = [
  "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
  "LANG": "C.UTF-8",
]

/// Runs a program to its end, with arguments that need not be text.
public func run(
  _ program: String, _ arguments: [[UInt8]], environment: [String: String] = standardEnvironment,
  input: [UInt8] = [], timeoutSeconds: Int = 120
) throws -> Outcome {
  let streams = try (0..<3).map { _ in try unnamedFile() }
  defer { for stream in streams { close(stream) } }
  try writeAll(input, to: streams[0])
  lseek(streams[0], 0, SEEK_SET)
  let pid = try spawn(program, arguments, environment, streams)
  let status = try wait(for: pid, program, seconds: timeoutSeconds)
  return Outcome(status: status, output: readAll(streams[1]), error: readAll(streams[2]))
}

private func spawn(
  _ program: String, _ arguments: [[UInt8]], _ environment: [String: String], _ streams: [CInt]
) throws -> pid_t {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  // Threads of the runtime block signals, and a child would inherit that.
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  for (number, stream) in streams.enumerated() {
    posix_spawn_file_actions_adddup2(&actions, stream, CInt(number))
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, 3)
  let words = cStrings([Array(program.utf8)] + arguments)
  let variables = cStrings(environment.map { Array("\($0.key)=\($0.value)".utf8) })
  defer { for string in words + variables { free(string) } }
  var pid: pid_t = 0
  let code = posix_spawnp(&pid, program, &actions, &attributes, words, variables)
  guard code == 0 else {
    throw ProgramFailure(description: "\(program): \(String(cString: strerror(code)))")
  }
  return pid
}

private func wait(for pid: pid_t, _ program: String, seconds: Int) throws -> Int32 {
  var status: CInt = 0
  for _ in 0..<(seconds * 200) {
    if waitpid(pid, &status, WNOHANG) == pid {
      let signal = status & 0x7F
      return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
    usleep(5_000)
  }
  kill(pid, SIGKILL)
  waitpid(pid, &status, 0)
  throw ProgramFailure(description: "\(program) did not end within \(seconds) s")
}

private func cStrings(_ strings: [[UInt8]]) -> [UnsafeMutablePointer<CChar>?] {
  strings.map { string in
    let memory = malloc(string.count + 1)?.assumingMemoryBound(to: CChar.self)
    for (index, byte) in string.enumerated() { memory?[index] = CChar(bitPattern: byte) }
    memory?[string.count] = 0
    return memory
  } + [nil]
}

private func unnamedFile() throws -> CInt {
  let descriptor = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else {
    throw ProgramFailure(description: "/tmp: \(String(cString: strerror(errno)))")
  }
  return descriptor
}

private func writeAll(_ bytes: [UInt8], to descriptor: CInt) throws {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 else {
      throw ProgramFailure(description: "/tmp: \(String(cString: strerror(errno)))")
    }
    rest = rest.dropFirst(count)
  }
}

private func readAll(_ descriptor: CInt) -> [UInt8] {
  lseek(descriptor, 0, SEEK_SET)
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    guard count > 0 else { return bytes }
    bytes += buffer.prefix(count)
  }
}
