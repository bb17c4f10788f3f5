// A run that goes on while a test looks at it.

import Glibc
import LinuxKit
import TestSupport
import Testing

/// `sandboxfs run` in the background; its end is waited for at the latest when it is let go.
final class BackgroundRun {
  private let child: ChildProcess
  private let output: Descriptor
  private let errors: Descriptor
  private var status: Int32?

  init(_ words: [String], environment: [String: String]) throws {
    output = try Descriptor.open("/tmp", O_TMPFILE | O_RDWR, mode: 0o600)
    errors = try Descriptor.open("/tmp", O_TMPFILE | O_RDWR, mode: 0o600)
    let nothing = try Descriptor.null()
    let path = words[0].contains("/") ? words[0] : "/usr/bin/\(words[0])"
    child = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array(path.utf8), arguments: words.map { Array($0.utf8) },
        environment: environment.map { Array("\($0.key)=\($0.value)".utf8) }),
      descriptors: [nothing.rawValue, output.rawValue, errors.rawValue])
  }

  deinit { end() }

  /// Its process, which is `sandboxfs` itself.
  var pid: Int32 { child.pid }

  /// Waits until something is so.
  func wait(seconds: Int = 30, until isSo: () throws -> Bool) throws {
    for _ in 0..<(seconds * 100) {
      if try isSo() { return }
      if try exitStatusIfEnded() != nil { break }
      usleep(10_000)
    }
    throw Disappointment(description: "it has not come to that: \(errorText)")
  }

  /// Waits for its end.
  func exitStatus(seconds: Int = 30) throws -> Int32 {
    for _ in 0..<(seconds * 100) {
      if let status = try exitStatusIfEnded() { return status }
      usleep(10_000)
    }
    throw Disappointment(description: "it did not end within \(seconds) s")
  }

  /// Sends it a signal.
  func signal(_ number: Int32) { if status == nil { kill(child.pid, number) } }

  /// Ends it, kindly at first.
  func end() {
    signal(SIGTERM)
    if (try? exitStatus(seconds: 10)) != nil { return }
    signal(SIGKILL)
    _ = try? exitStatus(seconds: 10)
  }

  /// What it has written to standard output so far.
  var text: String { contents(of: output) }
  /// What it has written to standard error so far.
  var errorText: String { contents(of: errors) }

  private func exitStatusIfEnded() throws -> Int32? {
    if status == nil { status = try child.exitStatusIfEnded() }
    return status
  }

  private func contents(of file: borrowing Descriptor) -> String {
    lseek(file.rawValue, 0, SEEK_SET)
    return String(decoding: (try? file.readToEnd(atMost: 1 << 20)) ?? [], as: UTF8.self)
  }
}

extension RunScene {
  /// Starts `sandboxfs run` and does not wait for its end.
  func start(
    _ app: String, options: [String] = [], _ command: [String] = [],
    environment more: [String: String] = [:]
  ) throws -> BackgroundRun {
    let rest = command.isEmpty ? [] : ["--"] + command
    return try BackgroundRun(
      words([program, "run"] + options + [app] + rest),
      environment: environment.merging(more) { $1 })
  }

  /// Starts a program in the app's place and waits until it runs.
  func startSleeping(_ app: String, _ script: String = "sleep 60") throws -> BackgroundRun {
    let name = "ready-\(UInt32.random(in: 0...UInt32.max))"
    let run = try start(app, ["sh", "-c", "touch tmp/\(name); \(script)"])
    try run.wait { access(data(app, "tmp/\(name)"), F_OK) == 0 }
    return run
  }
}

/// What a test has waited for in vain.
struct Disappointment: Error, CustomStringConvertible {
  let description: String
}
