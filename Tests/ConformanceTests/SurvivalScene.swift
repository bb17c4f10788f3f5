// Views whose processes die, with an app in them that checks every answer.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport

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
  let user = String(ground.owner)
  let actor = ["/usr/bin/setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
  let words =
    (ground == .user ? actor : [])
    + [try compile("survivor"), place, String(milliseconds), String(threads)]
  var said: Descriptor?
  if let output { said = try Descriptor.open(output, O_WRONLY | O_CREAT, mode: 0o600) }
  return try ChildProcess.spawn(
    ChildProcess.Start(path: Array(words[0].utf8), arguments: words.map { Array($0.utf8) }),
    descriptors: [STDIN_FILENO, said?.rawValue ?? STDOUT_FILENO, STDERR_FILENO])
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
func eventually(_ isSo: () -> Bool) -> Bool {
  for _ in 0..<2000 {
    if isSo() { return true }
    usleep(5000)
  }
  return false
}
