// A view over a container that was made by hand: the daemon alone, without a store and without what
// mounts for people.

public import Containers
public import Glibc
public import LinuxKit
import Policy

/// A mounted view, taken down at the latest when nobody holds it any more.
public final class TestView {
  /// How a view is made.
  public struct Settings: Sendable {
    /// The rules, in the language of profiles.
    public var profile: String
    /// The uid and gid that own the container; they run the daemon too if they are not root's.
    public var owner: uid_t
    /// How many descriptors the daemon may have; nil for as many as it can get.
    public var descriptorLimit: Int?
    /// Words before the daemon's own, such as a tracer's.
    public var wrapper: [String]
    /// One in so many passes of any place that injects faults kills the process; nil for none.
    public var faultOneIn: Int?
    /// Other variables for a build that injects faults.
    public var faults: [String: String]
    /// How much the container may hold.
    public var limits = ContainerLimits()
    /// What the view does without.
    public var without: ViewConfiguration.Features = []
    /// The daemon's program; nil for the one that was built.
    public var program: String?

    /// What a plain test needs: root's daemon, with all that is not structural allowed.
    public init(
      profile: String = "/ read write exec backup\n", owner: uid_t = 0,
      descriptorLimit: Int? = nil, wrapper: [String] = [], faultOneIn: Int? = nil,
      faults: [String: String] = [:], program: String? = nil
    ) {
      self.profile = profile
      self.owner = owner
      self.descriptorLimit = descriptorLimit
      self.wrapper = wrapper
      self.faultOneIn = faultOneIn
      self.faults = faults
      self.program = program
    }
  }

  private static let identifier = "com.example.Conformance"
  private static let patienceMilliseconds = 120_000

  /// Where the view is mounted.
  public let path: String
  /// The container's directory.
  public let container: String
  /// The daemon's pid, also where a wrapper started it.
  public let daemon: ChildProcess
  private var configuration: ViewConfiguration
  private var isMounted = true

  /// Mounts a view below a directory, over the container that an earlier view left there or a new
  /// one.
  ///
  /// Throws what the daemon says if it does not serve.
  public init(in directory: String, _ settings: Settings = Settings()) throws {
    path = directory + "/view"
    container = directory + "/container"
    try TestView.makeContainer(container, path, settings.owner)
    configuration = ViewConfiguration(
      identifier: Array(TestView.identifier.utf8), ownerUID: settings.owner,
      ownerGID: settings.owner, bundleName: Array("Notes.app".utf8), inodeKey: (5, 7),
      layers: TestView.layers(settings.profile),
      transport: settings.owner == 0 ? .kernel : .fusermount, target: Array(path.utf8),
      source: Array(TestView.identifier.utf8), mountFlags: 0, without: settings.without)
    configuration.limits = settings.limits
    daemon = try TestView.start(container, configuration, settings)
  }

  private static func layers(_ profile: String) -> [ProfileSource] {
    [
      ProfileSource(
        rank: .shipped, name: Array("test.profile".utf8), text: Array(profile.utf8))
    ]
  }

  private static func makeContainer(_ container: String, _ view: String, _ owner: uid_t) throws {
    let made = try run(
      "sh",
      [
        "-ec",
        """
        umask 022
        mkdir -p "$1" "$0/bundle/Notes.app" "$0/data/Notes.app" "$0/data/Documents" "$0/data/tmp"
        mkdir -p "$0/data/Library/Caches" "$0/data/Library/Preferences"
        [ "$2" = 0 ] || chown -R "$2:$2" "$0" "$1"
        """, container, view, String(owner),
      ])
    if made.status != 0 { throw ProgramFailure(description: made.errorText) }
  }

  private static func start(
    _ container: String, _ configuration: ViewConfiguration, _ settings: Settings
  ) throws -> ChildProcess {
    let directory = try Descriptor.open(container, O_RDONLY | O_DIRECTORY)
    let message = try Descriptor.memory(holding: configuration.encoded())
    let nothing = try Descriptor.null()
    var answer = try Pipe()
    let words =
      wrapper(settings) + [settings.program ?? BuiltPrograms.path("sandboxfs-view"), identifier]
    let program = words[0].contains("/") ? words[0] : "/usr/bin/" + words[0]
    let daemon = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array(program.utf8), arguments: words.map { Array($0.utf8) },
        environment: environment + faults(settings),
        newSession: true),
      descriptors: [
        nothing.rawValue, nothing.rawValue, STDERR_FILENO, directory.rawValue, message.rawValue,
        answer.writing?.rawValue ?? -1,
      ])
    answer.writing = nil
    let line = String(decoding: try answer.reading.readToEnd(atMost: 4096), as: UTF8.self)
    if line == "ready\n" { return daemon }
    try? daemon.kill()
    _ = try? daemon.wait()
    throw ProgramFailure(description: "sandboxfs-view: " + (line.isEmpty ? "ended" : line))
  }

  private static func faults(_ settings: Settings) -> [[UInt8]] {
    let oneIn = settings.faultOneIn.map { ["SANDBOXFS_FAULT_ONE_IN": "\($0)"] } ?? [:]
    return oneIn.merging(settings.faults) { $1 }.map { Array("\($0)=\($1)".utf8) }
  }

  /// Little, and where the sanitizers put their reports.
  private static var environment: [[UInt8]] {
    let own = ["SWIFT_BACKTRACE=enable=no"] + standardEnvironment.map { "\($0.key)=\($0.value)" }
    let sanitizers = ["ASAN_OPTIONS=", "TSAN_OPTIONS="].map { Array($0.utf8) }
    return own.map { Array($0.utf8) }
      + callersEnvironment().filter { word in sanitizers.contains { word.starts(with: $0) } }
  }

  private static func wrapper(_ settings: Settings) -> [String] {
    var words = settings.wrapper
    if let limit = settings.descriptorLimit { words += ["prlimit", "--nofile=\(limit):\(limit)"] }
    guard settings.owner != 0 else { return words }
    let user = String(settings.owner)
    return words + ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
  }

  /// Takes the view down and waits for its daemon's end; its exit status.
  ///
  /// Throws EBUSY if something in it is in use, or if the daemon does not end.
  @discardableResult
  public func unmount() throws -> Int32 {
    guard isMounted else { return 0 }
    try unmountPatiently(path)
    isMounted = false
    return try waitForDaemon()
  }

  private func waitForDaemon() throws -> Int32 {
    for _ in 0..<TestView.patienceMilliseconds {
      if let status = try daemon.exitStatusIfEnded() { return status }
      usleep(1000)
    }
    try daemon.kill()
    _ = try daemon.wait()
    throw ProgramFailure(description: "the daemon goes on after the unmount")
  }

  deinit {
    guard isMounted else { return }
    try? LinuxKit.unmount(Array(path.utf8), .detach)
    // What still uses the view keeps a detached mount alive, and its daemon with it.
    try? daemon.kill()
    _ = try? daemon.wait()
  }

  /// What the daemon says about itself, as one line; empty if it does not answer.
  public func status() -> [UInt8] { answer(to: "status") }

  /// A number of what the daemon says about itself; -1 if it does not answer.
  public func number(_ name: String) -> Int {
    flatObject(status())?[name].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? -1
  }

  /// What the daemon answers to a command, as one line; empty if it does not.
  public func answer(to command: String) -> [UInt8] {
    guard let connection = connection() else { return [] }
    return (try? connection.exchange(line: Array(#"{"command":"\#(command)"}"#.utf8))) ?? []
  }

  /// A connection to the daemon's control socket; nil if it does not answer.
  public func connection() -> UnixConnection? {
    guard let directory = try? Descriptor.open(container, O_RDONLY | O_DIRECTORY) else {
      return nil
    }
    return try? UnixConnection(to: ContainerLayout.control, in: directory, milliseconds: 5000)
  }

  /// Has the view judge by other rules; nil if the daemon refuses.
  @discardableResult
  public func setProfile(_ profile: String) throws -> [[String: [UInt8]]]? {
    configuration.layers = TestView.layers(profile)
    let payload = configuration.encoded()
    return try command(#"{"command":"policy","bytes":"\#(payload.count)"}"#, payload)
  }

  /// What the daemon answers to a command, but for the line with the status; nil if it refuses.
  public func command(
    _ line: String, _ payload: [UInt8] = []
  ) throws -> [[String: [UInt8]]]? {
    guard let connection = connection() else {
      throw ProgramFailure(description: "the daemon does not answer")
    }
    let lines = try connection.exchange(Array(line.utf8) + [10] + payload, untilMember: "status")
    let answers = lines.compactMap { flatObject($0) }
    guard answers.last?["status"] == Array("ok".utf8) else { return nil }
    return answers.dropLast()
  }

  /// How often another process had to take over.
  public func restarts() -> Int { number("restarts") }

  /// How many descriptors the daemon has open.
  public func openDescriptors() -> Int {
    guard let directory = opendir("/proc/\(daemon.pid)/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count - 2
  }
}

/// Unmounts a file system that nothing uses.
///
/// Tries again for two seconds where it is busy: a program that lists open files, a neighbour on
/// the machine, looks at one for a moment. Throws EBUSY if it is in use for longer.
public func unmountPatiently(_ path: String) throws(Errno) {
  for _ in 0..<100 {
    do throws(Errno) {
      return try LinuxKit.unmount(Array(path.utf8))
    } catch {
      guard error == .busy else { throw error }
      usleep(20_000)
    }
  }
  try LinuxKit.unmount(Array(path.utf8))
}
