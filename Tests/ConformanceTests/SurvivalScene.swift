// Views whose processes die, with an app in them that checks every answer.

import Containers
import Dispatch
import Foundation
import Glibc
import LinuxKit
import Synchronization
import TestSupport
import Testing

/// Runs `body` with a view on a ground, as its user.
func withSurvivingView(
  on ground: Ground, _ settings: TestView.Settings = TestView.Settings(),
  _ body: (TestView) throws -> Void
) throws {
  var settings = settings
  settings.owner = ground.owner
  try withGround(ground) { directory in
    guard ground == .user else { return try body(TestView(in: directory, settings)) }
    // Those that take over open it again.
    try FuseDevice.withOpenToUsers { try body(TestView(in: directory, settings)) }
  }
}

/// Starts the app in a directory of a view, as the view's user; 0 threads ask for what is refused.
///
/// What it says goes to the file `output`, or is the test's own.
func startSurvivor(
  in place: String, on ground: Ground = .memory, milliseconds: Int, threads: Int = 2,
  output: String? = nil
) throws -> ChildProcess {
  let words =
    (ground == .user ? ["/usr/bin/setpriv"] + asOwner(of: ground) : [])
    + [try compile("survivor"), place, String(milliseconds), String(threads)]
  var said: Descriptor?
  if let output { said = try Descriptor.open(output, O_WRONLY | O_CREAT, mode: 0o600) }
  return try ChildProcess.spawn(
    ChildProcess.Start(path: Array(words[0].utf8), arguments: words.map { Array($0.utf8) }),
    descriptors: [STDIN_FILENO, said?.rawValue ?? STDOUT_FILENO, STDERR_FILENO])
}

/// What makes setpriv(1) a view's user.
func asOwner(of ground: Ground) -> [String] {
  ["--reuid", "\(ground.owner)", "--regid", "\(ground.owner)", "--clear-groups"]
}

/// A file of Tests/Programs.
func programSource(_ name: String) -> String {
  let here = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
  return (here + ["Programs", Substring(name)]).joined(separator: "/")
}

/// The events in a container's log.
func events(in container: String) -> [String] {
  let log = FileManager.default.contents(atPath: container + "/log") ?? Data()
  return log.split(separator: UInt8(ascii: "\n")).compactMap { line in
    guard case .event(_, let text) = AuditEntry(line: Array(line)) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Waits until something is so; false if it is not within 10 s.
func eventually(_ isSo: () throws -> Bool) rethrows -> Bool {
  for _ in 0..<2000 {
    if try isSo() { return true }
    usleep(5000)
  }
  return false
}

/// A process that a view names.
///
/// Throws if nobody who serves it says so: -1 is everybody to kill(2).
func process(_ name: String, of view: TestView) throws -> pid_t {
  var number = -1
  _ = eventually {
    number = view.number(name)
    return number > 0
  }
  return pid_t(try #require(number > 0 ? number : nil, "no process is said to be the \(name)"))
}

/// What else happens while those who serve a view die.
enum Meanwhile: String, Sendable {
  case cachesAreDropped = "the kernel forgets what it can"
  case appsAreKilled = "other apps are killed"
}

/// Brings it about, again and again, until it is told to end.
final class Companion: Sendable {
  private let isOver = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)
  private let killed = Mutex<[Int32]>([])

  /// The apps that are killed work in the view's tmp.
  init(_ what: Meanwhile, of view: TestView, on ground: Ground) {
    let (place, daemon) = (view.path + "/tmp", RunningProcess(pid: view.daemon.pid))
    Thread.detachNewThread { [self] in
      while !isOver.load(ordering: .relaxed) { act(what, in: place, of: daemon, ground) }
      ended.signal()
    }
  }

  /// Returns when nothing of it goes on: the directories that apps which were killed may have left.
  func end() -> [String] {
    isOver.store(true, ordering: .relaxed)
    ended.wait()
    return killed.withLock { apps in
      apps.flatMap { app in
        (0..<2).flatMap { thread in (0..<20).map { "\(app)-\(thread)-\($0)" } }
      }
    }
  }

  private func act(
    _ what: Meanwhile, in place: String, of daemon: RunningProcess, _ ground: Ground
  ) {
    switch what {
    case .cachesAreDropped:
      // Names and inodes: each of the view's is forgotten by a message.
      try? Descriptor.open("/proc/sys/vm/drop_caches", O_WRONLY).writeAll(Array("2\n".utf8))
      usleep(100_000)
    case .appsAreKilled:
      guard let app = try? startSurvivor(in: place, on: ground, milliseconds: 60_000) else {
        return
      }
      killed.withLock { $0.append(app.pid) }
      // While nobody serves what it has asked for, or just before or behind that.
      usleep(.random(in: 5_000...40_000))
      let worker = daemon.children.first
      for _ in 0..<100 where daemon.children.first == worker { usleep(500) }
      usleep(.random(in: 0...2000))
      try? app.kill()
      _ = try? app.wait()
    }
  }
}

extension TestView.Settings {
  /// All that apps do is paid for.
  mutating func limit() {
    profile = """
      / read write exec backup
      /Documents quota=1G
      /tmp quota=1G,100000

      """
    limits = ContainerLimits(byteCount: 1 << 40)
  }
}
