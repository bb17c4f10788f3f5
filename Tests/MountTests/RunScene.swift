// A store with apps that tests have made, and `sandboxfs run` on it: as root and as somebody else.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// A store, the programs that were built, and the one who runs them.
struct RunScene {
  /// Who runs the apps.
  enum Person: CaseIterable, CustomTestStringConvertible {
    case root
    case ordinaryUser

    var testDescription: String { self == .root ? "root" : "an ordinary user" }
  }

  /// An ordinary user who has an account everywhere: fusermount3 asks for the name.
  static let uid: uid_t = getpwnam("daemon")?.pointee.pw_uid ?? 1

  /// The directory that holds all of it.
  let path: String
  let person: Person

  var store: String { path + "/store" }
  var home: String { path + "/home" }
  var program: String { path + "/bin/sandboxfs" }

  /// What whoever runs them has in the environment.
  var environment: [String: String] {
    [
      "PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "SANDBOXFS_STORE": store,
      "SANDBOXFS_SETTINGS": path + "/settings",
      "SECRET": "not for apps",
    ]
  }

  /// The words by which the person runs a command.
  func words(_ command: [String]) -> [String] {
    switch person {
    case .root: command
    case .ordinaryUser:
      ["setpriv", "--reuid", "\(Self.uid)", "--regid", "\(Self.uid)", "--clear-groups"] + command
    }
  }

  /// Runs a command as the person.
  func perform(
    _ command: [String], environment more: [String: String] = [:]
  ) throws -> Outcome {
    let words = words(command)
    return try TestSupport.run(
      words[0], Array(words.dropFirst()), environment: environment.merging(more) { $1 })
  }

  /// `sandboxfs install`, which must succeed.
  func install(_ bundle: String) throws {
    let outcome = try perform([program, "install", bundle])
    try #require(outcome.status == 0, "\(outcome.errorText)")
  }

  /// `sandboxfs run`.
  func run(
    _ app: String, options: [String] = [], _ command: [String] = [],
    environment: [String: String] = [:]
  ) throws -> Outcome {
    let rest = command.isEmpty ? [] : ["--"] + command
    return try perform([program, "run"] + options + [app] + rest, environment: environment)
  }

  /// Runs a shell script in the app's place, which must succeed; what it wrote to standard output.
  func script(_ app: String, _ script: String) throws -> String {
    let outcome = try run(app, ["sh", "-ec", script])
    try #require(outcome.status == 0, "\(outcome.errorText)")
    return outcome.text
  }

  /// A path in what an app has written, on the host.
  func data(_ app: String, _ path: String) -> String { container(app) + "/data/" + path }

  /// A container's directory.
  func container(_ app: String) -> String { store + "/containers/" + app }

  /// The mounts of an app's view, wherever.
  func mounts(of app: String) throws -> [MountEntry] {
    try MountTable.read().entries.filter { $0.source == Array(app.utf8) && owns($0.mountPoint) }
  }
}

/// Makes a scene, and takes down whatever has become of it.
func withRunScene(_ person: RunScene.Person, _ body: (RunScene) throws -> Void) throws {
  func inScene() throws {
    try withTemporaryDirectory { path in
      let scene = RunScene(path: path, person: person)
      try prepare(scene)
      defer {
        let left = ((try? MountTable.read().entries) ?? []).map(\.mountPoint).filter(scene.owns)
        #expect(left.isEmpty, "left mounted: \(left.map { String(decoding: $0, as: UTF8.self) })")
        for mountPoint in left.reversed() { try? LinuxKit.unmount(mountPoint, .detach) }
      }
      try body(scene)
    }
  }
  if person == .root { return try inScene() }
  try FuseDevice.withOpenToUsers(inScene)
}

extension RunScene {
  /// What is left of an app's runs where the views of runs are.
  func traces(of app: String) throws -> [String] {
    let views = person == .root ? "/run/sandboxfs/views" : home + "/.local/state/sandboxfs/views"
    return try FileManager.default.contentsOfDirectory(atPath: views).filter {
      owns(Array("\(views)/\($0)".utf8))
    }
  }

  /// Whether something is mounted for this scene: below its directory, or by root's run of one of
  /// its containers, whose views have the number of the container's directory in their name.
  fileprivate func owns(_ mountPoint: [UInt8]) -> Bool {
    let text = String(decoding: mountPoint, as: UTF8.self)
    if text.hasPrefix(path + "/") { return true }
    let apps = (try? FileManager.default.contentsOfDirectory(atPath: store + "/containers")) ?? []
    return apps.contains { app in
      var status = stat()
      guard stat(container(app), &status) == 0 else { return false }
      return text.contains("/views/\(app)@")
        && text.contains("-" + String(status.st_ino, radix: 16))
    }
  }
}

/// The programs are copied, since an ordinary user need not reach where they were built.
private func prepare(_ scene: RunScene) throws {
  let script = """
    umask 022
    cd '\(scene.path)'
    mkdir bin home apps
    cp '\(BuiltPrograms.path("sandboxfs"))' '\(BuiltPrograms.path("sandboxfs-view"))' bin
    """
  let made = try run("sh", ["-ec", script])
  try #require(made.status == 0, "\(made.errorText)")
  guard scene.person == .ordinaryUser else { return }
  chown(scene.home, RunScene.uid, RunScene.uid)
  chown(scene.path, RunScene.uid, RunScene.uid)
}
