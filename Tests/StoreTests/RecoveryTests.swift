// What a crash leaves behind, at each step of an update and of an install.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct RecoveryTests {
  /// How far an update had come when its process was killed.
  enum Point: CaseIterable, Sendable {
    case beforeNote, afterNote, afterExchange, afterPlace, afterRecord
  }

  @Test(
    "An update that was cut off is finished or forgotten by the next command",
    arguments: Point.allCases)
  func update(_ point: Point) throws {
    try withStore { store, path in
      let old = try SampleBundle.flat("Old.app", in: path, version: "1")
      let identifier = try store.install(from: bytes(old.path)).identifier
      try leaveUpdate(of: identifier, at: point, store, path)
      let reopened = try Store.open(store.location)
      let container = try reopened.container(identifier)
      let isNew = point != .beforeNote
      let name = isNew ? "New.app" : "Old.app"
      #expect(container.record.version == (isNew ? "2" : "1"))
      #expect(container.record.bundleName == bytes(name))
      #expect(try container.directory.enter("bundle".utf8).entries().map(\.name) == [bytes(name)])
      let data = try container.directory.enter("data".utf8).entries().map(\.name)
      #expect(data.filter { $0.reversed().starts(with: bytes("ppa.")) } == [bytes(name)])
      #expect(try reopened.directory.enter("staging".utf8).entries().isEmpty)
    }
  }

  /// Builds by hand what the process would have left.
  private func leaveUpdate(
    of identifier: BundleIdentifier, at point: Point, _ store: Store, _ path: String
  ) throws {
    let new = try SampleBundle.flat("New.app", in: path, version: "2")
    let other = try Store.openOrCreate(sampleLocation(in: path, store: "other"))
    _ = try other.install(from: bytes(new.path))
    let container = "\(path)/store/containers/\(identifier)"
    let staged = "\(path)/store/staging/abc/container"
    try #require(try run("mkdir", ["-p", staged]).status == 0)
    let made = "\(path)/other/containers/\(identifier)"
    for name in ["bundle", "container.plist"] {
      try #require(try run("mv", ["\(made)/\(name)", staged]).status == 0)
    }
    var status = stat()
    try #require(lstat(staged + "/bundle", &status) == 0)
    if point == .beforeNote { return }
    let note = Data("\(identifier) \(status.st_ino)".utf8)
    try #require(
      FileManager.default.createFile(atPath: "\(path)/store/staging/abc/update", contents: note))
    if point == .afterNote { return }
    try #require(
      renameat2(
        AT_FDCWD, staged + "/bundle", AT_FDCWD, container + "/bundle", UInt32(RENAME_EXCHANGE))
        == 0)
    if point == .afterExchange { return }
    try #require(mkdir(container + "/data/New.app", 0o755) == 0)
    try #require(rmdir(container + "/data/Old.app") == 0)
    if point == .afterPlace { return }
    try #require(rename(staged + "/container.plist", container + "/container.plist") == 0)
  }

  @Test("What is left in staging goes, whatever it is, unless someone is at work")
  func leftovers() throws {
    try withStore { store, path in
      #expect(FileManager.default.createFile(atPath: "\(path)/precious", contents: Data([1])))
      let staging = "\(path)/store/staging"
      try #require(
        try run("mkdir", ["-p", "\(staging)/a/container/data", "\(staging)/b"]).status == 0)
      try #require(symlink(path, "\(staging)/link") == 0)
      try #require(symlink(path, "\(staging)/a/container/data/link") == 0)
      try Data("com.example.Gone 5".utf8).write(to: URL(fileURLWithPath: "\(staging)/b/update"))
      let lock = try store.directory.openOrCreateFile("lock".utf8, mode: 0o600)
      #expect(try lock.tryLock(.exclusive))
      _ = try Store.open(store.location)
      #expect(try store.directory.enter("staging".utf8).entries().count == 3)
      try lock.close()
      _ = try Store.open(store.location)
      #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
      #expect(FileManager.default.contents(atPath: "\(path)/precious") == Data([1]))
    }
  }
}

@Suite struct RegisterTests {
  private func owner(_ store: Store, _ identifier: String) throws -> UInt32 {
    try store.container(try #require(BundleIdentifier(identifier))).record.ownerUID
  }

  @Test("Two stores never give the same uid, nor one that was given before")
  func unique() throws {
    try withStore { store, path in
      let other = try Store.openOrCreate(sampleLocation(in: path, store: "other"))
      let first = try SampleBundle.flat("A.app", in: path, identifier: "a.b")
      let second = try SampleBundle.flat("B.app", in: path, identifier: "a.c")
      _ = try store.install(from: bytes(first.path))
      _ = try other.install(from: bytes(first.path))
      _ = try store.install(from: bytes(second.path))
      #expect(try owner(store, "a.b") == 0x7000_0000)
      #expect(try owner(other, "a.b") == 0x7000_0001)
      #expect(try owner(store, "a.c") == 0x7000_0002)
      try store.uninstall(try #require(BundleIdentifier("a.c")))
      _ = try store.install(from: bytes(second.path))
      #expect(try owner(store, "a.c") == 0x7000_0003)
    }
  }

  @Test("A line that a crash cut short gives nobody a uid, and spoils none")
  func cutShort() throws {
    try withStore { store, path in
      try Data("1879048200 x.y 1 2\n18790483".utf8).write(to: URL(fileURLWithPath: "\(path)/uids"))
      _ = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
      #expect(try owner(store, "com.example.Notes") == 1_879_048_201)
      let identifier = try #require(BundleIdentifier("com.example.Notes"))
      #expect(try store.preparedContainer(identifier).record.ownerUID == 1_879_048_201)
      let text = try String(contentsOfFile: "\(path)/uids", encoding: .utf8)
      #expect(text.split(separator: "\n").count == 3 && text.hasSuffix("\n"))
    }
  }

  @Test("A store that was copied in gets uids of its own, down to the last file")
  func adoption() throws {
    try withStore { store, path in
      _ = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
      let identifier = try #require(BundleIdentifier("com.example.Notes"))
      let file = "containers/com.example.Notes/data/Documents/file"
      #expect(FileManager.default.createFile(atPath: "\(path)/store/\(file)", contents: Data()))
      #expect(symlink("/etc/passwd", "\(path)/store/\(file)-link") == 0)
      #expect(try store.preparedContainer(identifier).record.ownerUID == 0x7000_0000)

      try #require(try run("cp", ["-a", "\(path)/store", "\(path)/copy"]).status == 0)
      try #require(try run("mv", ["\(path)/store", "\(path)/moved"]).status == 0)
      let moved = try Store.open(sampleLocation(in: path, store: "moved"))
      #expect(try moved.preparedContainer(identifier).record.ownerUID == 0x7000_0000)
      let copy = try Store.open(sampleLocation(in: path, store: "copy"))
      #expect(try copy.container(identifier).record.ownerUID == 0x7000_0000)
      #expect(try copy.preparedContainer(identifier).record.ownerUID == 0x7000_0001)
      #expect(try copy.preparedContainer(identifier).record.ownerUID == 0x7000_0001)
      let container = "\(path)/copy/containers/com.example.Notes"
      let strangers = try run(
        "find", ["\(container)/data", "\(container)/bundle/Notes.app", "!", "-uid", "1879048193"])
      #expect(strangers.text.isEmpty, "\(strangers.text)")
      var status = stat()
      #expect(stat("/etc/passwd", &status) == 0 && status.st_uid == 0)
    }
  }

  @Test("A container can belong to a user of the host, but not to root or to nobody at all")
  func owners() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      func install(_ owner: String) -> String? {
        message {
          _ = try store.install(
            from: bytes(bundle.path), options: InstallOptions(owner: bytes(owner)))
        }
      }
      #expect(install("root") == "root can't own a container: name a user without its rights")
      #expect(install("no-such-user") == "there is no user 'no-such-user' on this host")
      #expect(install("daemon") == nil)
      #expect(try owner(store, "com.example.Notes") == 1)
      #expect(install("daemon") == nil)
      #expect(install("bin")?.contains("belongs to uid 1 already") == true)
      let identifier = try #require(BundleIdentifier("com.example.Notes"))
      #expect(try store.preparedContainer(identifier).record.ownerUID == 1)
    }
  }

  @Test("A record that says that root is the owner is not believed")
  func rootInRecord() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let identifier = try store.install(
        from: bytes(bundle.path), options: InstallOptions(owner: bytes("daemon"))
      ).identifier
      let record = "\(path)/store/containers/\(identifier)/container.plist"
      let text = try String(contentsOfFile: record, encoding: .utf8).replacing(
        "<integer>1</integer>", with: "<integer>0</integer>")
      try text.write(toFile: record, atomically: false, encoding: .utf8)
      #expect(
        message { _ = try store.preparedContainer(identifier) }?.contains("can't be right") == true)
    }
  }
}
