// A version that waits beside a container that is mounted.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private let mayWait = InstallOptions(mayWait: true)

@Suite struct NextVersionTests {
  /// An app that is installed, and the versions that may follow.
  private struct Scene {
    let store: Store
    let path: String
    let identifier: BundleIdentifier
    let newer: SampleBundle

    var containerPath: String { "\(path)/store/containers/\(identifier)" }

    static func with(_ body: (Scene) throws -> Void) throws {
      try withStore { store, path in
        let old = try SampleBundle.flat("Old.app", in: path, version: "1")
        let newer = try SampleBundle.flat("New.app", in: path, version: "2")
        let identifier = try store.install(from: bytes(old.path)).identifier
        try body(Scene(store: store, path: path, identifier: identifier, newer: newer))
      }
    }

    /// Runs `body` while somebody has what a daemon locks.
    func whileMounted(_ body: () throws -> Void) throws {
      let lock = try store.container(identifier).directory.openRegularFile("lock".utf8)
      #expect(try lock.tryLock(.exclusive))
      try body()
      try lock.close()
    }

    /// Installs the newer version while the app is mounted.
    func leaveNewerWaiting() throws {
      try whileMounted { _ = try store.install(from: bytes(newer.path), options: mayWait) }
    }

    /// Expects that the container is whole, and of this version.
    func expect(_ version: String, _ container: Container) throws {
      let name = version == "1" ? "Old.app" : "New.app"
      #expect(container.record.version == version)
      #expect(container.record.bundleName == bytes(name))
      #expect(container.sealStatus().state == .adHoc)
      #expect(try container.directory.enter("bundle".utf8).entries().map(\.name) == [bytes(name)])
      let data = try container.directory.enter("data".utf8).entries().map(\.name)
      #expect(data.filter { $0.suffix(4) == bytes(".app")[...] } == [bytes(name)])
    }
  }

  @Test("A version that waits changes nothing while the app is mounted, and takes over then")
  func waits() throws {
    try Scene.with { scene in
      try scene.whileMounted {
        let before = try snapshot(of: scene.containerPath)
        let report = try scene.store.install(from: bytes(scene.newer.path), options: mayWait)
        #expect(report.isWaiting && report.isUpdate && report.version == "2")
        let after = try snapshot(of: scene.containerPath).filter { !$0.key.hasPrefix("next") }
        #expect(after == before)
        let mounted = try scene.store.preparedContainer(scene.identifier)
        try scene.expect("1", mounted)
        #expect(try mounted.nextVersion() == "2")
      }
      let ready = try scene.store.preparedContainer(scene.identifier)
      try scene.expect("2", ready)
      #expect(try ready.nextVersion() == nil)
      #expect(try scene.store.directory.enter("staging".utf8).entries().isEmpty)
    }
  }

  @Test("What changes besides the bundle while a version waits stays as it is then")
  func record() throws {
    try Scene.with { scene in
      let before = try scene.store.container(scene.identifier).record
      try scene.whileMounted {
        _ = try scene.store.install(from: bytes(scene.newer.path), options: mayWait)
        try scene.store.setLimits(of: scene.identifier) { _ in
          ContainerLimits(byteCount: 1 << 20)
        } announce: { _ in
        }
      }
      let record = try scene.store.preparedContainer(scene.identifier).record
      #expect(record.version == "2" && record.limits.byteCount == 1 << 20)
      #expect(record.inodeKey == before.inodeKey && record.ownerUID == before.ownerUID)
      #expect(record.installedSeconds == before.installedSeconds)
    }
  }

  @Test("The last version that is installed counts, whether it waits or not")
  func replaced() throws {
    try Scene.with { scene in
      let third = try SampleBundle.flat("New.app", in: scene.path + "/other", version: "3")
      try scene.whileMounted {
        _ = try scene.store.install(from: bytes(scene.newer.path), options: mayWait)
        _ = try scene.store.install(from: bytes(third.path), options: mayWait)
        #expect(try scene.store.container(scene.identifier).nextVersion() == "3")
        _ = try scene.store.install(from: bytes(scene.newer.path), options: mayWait)
      }
      let report = try scene.store.install(from: bytes(third.path), options: mayWait)
      #expect(!report.isWaiting)
      #expect(try scene.store.container(scene.identifier).nextVersion() == nil)
      try scene.expect("3", try scene.store.preparedContainer(scene.identifier))
    }
  }

  @Test("A name that the app has taken meanwhile is told, and the version goes on waiting")
  func inTheWay() throws {
    try Scene.with { scene in
      try scene.leaveNewerWaiting()
      let mine = scene.containerPath + "/data/New.app"
      try #require(FileManager.default.createFile(atPath: mine, contents: Data([1])))
      let said = message { _ = try scene.store.preparedContainer(scene.identifier) }
      #expect(said?.contains("has a file of its own called New.app") == true)
      #expect(FileManager.default.contents(atPath: mine) == Data([1]))
      try #require(unlink(mine) == 0)
      try scene.expect("2", try scene.store.preparedContainer(scene.identifier))
    }
  }

  @Test("An update that was cut off before its version had left its place waits on")
  func cutOff() throws {
    try Scene.with { scene in
      try scene.leaveNewerWaiting()
      var status = stat()
      try #require(lstat(scene.containerPath + "/next/bundle", &status) == 0)
      try #require(try run("mkdir", ["-p", scene.path + "/store/staging/abc"]).status == 0)
      let note = Data("\(scene.identifier) \(status.st_ino) \(status.st_ino)".utf8)
      try #require(
        FileManager.default.createFile(
          atPath: scene.path + "/store/staging/abc/update", contents: note))
      let reopened = try Store.open(scene.store.location)
      let container = try reopened.container(scene.identifier)
      try scene.expect("1", container)
      #expect(try container.nextVersion() == "2")
      try scene.expect("2", try reopened.preparedContainer(scene.identifier))
    }
  }

  @Test("Without leave to wait, and with what can't wait, nothing is left")
  func refused() throws {
    try Scene.with { scene in
      try scene.whileMounted {
        let before = try snapshot(of: scene.path + "/store")
        let bundle = bytes(scene.newer.path)
        #expect(
          message { _ = try scene.store.install(from: bundle) }
            == "com.example.Notes is mounted: unmount it first, or have the new version wait for "
            + "the next mount with --stage")
        let options = InstallOptions(profileName: "ios", mayWait: true)
        #expect(
          message { _ = try scene.store.install(from: bundle, options: options) }
            == "com.example.Notes is mounted, and --profile can't wait: unmount it first")
        #expect(try snapshot(of: scene.path + "/store") == before)
      }
    }
  }

  @Test("What waits goes with the app, and with its bundle")
  func uninstalled() throws {
    try Scene.with { scene in
      try scene.leaveNewerWaiting()
      try scene.store.uninstall(scene.identifier, keepData: true)
      let container = try scene.store.preparedContainer(scene.identifier)
      #expect(try container.record.sealState == .dataOnly && container.nextVersion() == nil)
    }
  }
}
