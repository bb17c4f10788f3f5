// A container made by hand and places to mount it, for tests of mounting alone: without a store.

import Containers
import Glibc
import LinuxKit
import Mounting
import Policy
import Synchronization
import TestSupport
import Testing

/// A container, and directories beside its store.
struct MountingScene {
  static let identifier = "com.example.Notes"
  static let uid: uid_t = 0x7000_1234

  /// The directory that holds all of it.
  let path: String

  var store: String { path + "/store" }
  var container: String { store + "/containers/" + Self.identifier }
  var target: String { path + "/a view" }
  var other: String { path + "/other" }

  /// The container's directory, open.
  func directory() throws -> Descriptor {
    try Descriptor.open(container, O_RDONLY | O_DIRECTORY)
  }

  var configuration: ViewConfiguration {
    ViewConfiguration(
      identifier: Array(Self.identifier.utf8), ownerUID: Self.uid, ownerGID: Self.uid,
      bundleName: Array("Notes.app".utf8), inodeKey: (1, 2),
      layers: [
        ProfileSource(
          rank: .shipped, name: Array("default.profile".utf8),
          text: Array(
            """
            / read
            /Documents read write
            /tmp read write
            /*.app read exec sealed -write

            """.utf8))
      ], transport: .kernel, target: [], source: [], mountFlags: 0)
  }

  @discardableResult
  func mount(
    at target: String? = nil, _ change: (inout MountSettings) -> Void = { _ in }
  ) throws -> MountedView {
    var settings = MountSettings()
    change(&settings)
    let directory = try directory()
    return try ViewMounts.mount(
      directory, configuration, at: Array((target ?? self.target).utf8), settings)
  }

  func unmount(_ target: String? = nil, _ settings: UnmountSettings = []) throws {
    try ViewMounts.unmount(Array((target ?? self.target).utf8), settings)
  }

  /// What is mounted below the scene's directory, such as `["/a view", "/a view/Notes.app"]`.
  func mounted() throws -> [String] {
    try entries().map { String(decoding: $0.mountPoint.dropFirst(path.utf8.count), as: UTF8.self) }
  }

  func entries() throws -> [MountEntry] {
    try MountTable.read().entries.filter { $0.mountPoint.starts(with: (path + "/").utf8) }
  }

  func entry(_ place: String) throws -> MountEntry? {
    try MountTable.read().topmost(at: Array((path + place).utf8))
  }

  /// What mountinfo says about a mount itself, without what it always says.
  func options(_ place: String) throws -> Set<String> {
    Set((try entry(place)?.options ?? []).map { String(decoding: $0, as: UTF8.self) })
  }

  /// The error of what must fail.
  func failure(_ body: () throws -> Void) -> MountError? {
    do {
      try body()
      return nil
    } catch let error as MountError {
      return error
    } catch {
      Issue.record("another error: \(error)")
      return nil
    }
  }
}

/// Makes a scene, and takes it down whatever has become of it.
func withMountingScene(_ body: (MountingScene) throws -> Void) throws {
  try withTemporaryDirectory { path in
    let scene = MountingScene(path: path)
    let app = scene.container + "/bundle/Notes.app"
    let script = """
      umask 022
      mkdir -p '\(app)' '\(scene.target)' '\(scene.other)' '\(scene.container)/orphans'
      cd '\(scene.container)'
      mkdir -p data/Documents data/Library/Caches data/Library/Preferences data/tmp \
        'data/Library/Application Support' data/Notes.app
      ln -s 'Application Support' data/Library/ApplicationSupport
      chmod 700 data/Documents data/Library data/Library/* data/tmp '\(scene.store)'
      chown -hR \(MountingScene.uid):\(MountingScene.uid) data
      cp /bin/true '\(app)/Notes'
      echo hello > '\(app)/Info.plist'
      """
    let made = try run("sh", ["-ec", script])
    try #require(made.status == 0, "\(made.errorText)")
    defer {
      for entry in ((try? scene.entries()) ?? []).reversed() {
        try? ViewMounts.unmount(entry.mountPoint, .lazy)
        try? LinuxKit.unmount(entry.mountPoint, .detach)
      }
    }
    try body(scene)
  }
}

/// Runs the bodies on a thread each, and throws the first error.
func concurrently(_ bodies: [@Sendable () throws -> Void]) throws {
  let failures = Mutex<[any Error]>([])
  let threads = try bodies.map { body in
    try startThread {
      do { try body() } catch { failures.withLock { $0.append(error) } }
    }
  }
  for thread in threads { pthread_join(thread, nil) }
  if let failure = failures.withLock({ $0.first }) { throw failure }
}

/// Starts a thread, which is to be joined.
func startThread(_ body: @escaping @Sendable () -> Void) throws -> pthread_t {
  let work = Unmanaged.passRetained(Work(body))
  var thread = pthread_t()
  let failure = pthread_create(
    &thread, nil,
    { context in
      guard let context else { return nil }
      Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
      return nil
    }, work.toOpaque())
  if failure != 0 {
    work.release()
    throw Errno(failure)
  }
  return thread
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
