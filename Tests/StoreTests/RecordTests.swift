// Records, lists, places and the profiles that a daemon is started with.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Policy
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct RecordTests {
  @Test(
    "A record that is broken is told in one line, and does not hide the others",
    arguments: [
      ("", "is broken: it is empty"),
      ("nonsense {", "is broken: 1:10: expected ';'"),
      ("( )", "is broken: it is no dictionary"),
      ("{ identifier = \"com.example.Notes\"; }", "is broken: 'inodeKey' is missing"),
      ("<?xml version=\"1.0\"?><plist><dict>", "is broken: "),
    ])
  func broken(_ text: String, _ wanted: String) throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let other = try SampleBundle.flat("Other.app", in: path, identifier: "com.example.Other")
      _ = try store.install(from: bytes(other.path))
      try Data(text.utf8).write(
        to: URL(fileURLWithPath: "\(path)/store/containers/\(identifier)/container.plist"))
      let message = message { _ = try store.container(identifier) }
      #expect(message?.contains(wanted) == true, "\(message ?? "read")")
      #expect(message?.contains("\n") == false)
      let list = try store.list()
      #expect(list.map(\.state) == ["broken", "ad hoc"])
      #expect(list.first?.problem == message)
      try store.uninstall(identifier)
      #expect(try store.list().map(\.identifier.description) == ["com.example.Other"])
    }
  }

  @Test(
    "A field that nobody would have written is refused",
    arguments: [
      ("<string>com.example.Notes</string>", "<string>..</string>", "'identifier'"),
      (
        "<string>com.example.Notes</string>", "<string>com.example.X</string>",
        "it is the record of"
      ),
      ("<string>Notes.app</string>", "<string>../x.app</string>", "'bundleName'"),
      ("<string>default</string>", "<string>../../x</string>", "'profile'"),
      ("<integer>1879048192</integer>", "<integer>-1</integer>", "'ownerUID'"),
      ("<string>ad hoc</string>", "<string>perfect</string>", "'sealState'"),
    ])
  func fields(_ old: String, _ new: String, _ wanted: String) throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let record = "\(path)/store/containers/\(identifier)/container.plist"
      let text = try String(contentsOfFile: record, encoding: .utf8)
      #expect(text.contains(old))
      try text.replacing(old, with: new).write(toFile: record, atomically: false, encoding: .utf8)
      let message = message { _ = try store.container(identifier) }
      #expect(message?.contains(wanted) == true, "\(message ?? "read")")
    }
  }

  @Test("What was lent survives the record and an update, and not an uninstall")
  func grants() throws {
    try withStore { store, path in
      let bundle = bytes(try SampleBundle.flat(in: path).path)
      let identifier = try store.install(from: bundle).identifier
      let file = Grant.Identity(inode: .max, bornNanoseconds: -1, device: 3)
      let grants = [bytes("/srv/a"), [0x2f, 0xff]].map {
        Grant(
          path: $0, kind: .directory, access: .read, identity: file, parent: file, ownerUID: 1,
          grantorUID: .max)
      }
      try store.changeGrants(of: identifier) { lent, allowed in
        lent = grants.reversed()
        allowed = [.userns, .x11]
      }
      for _ in 0..<2 {
        let record = try store.container(identifier).record
        #expect(record.grants == grants)
        #expect(record.allowances == [.userns, .x11])
        _ = try store.install(from: bundle)
      }
      try store.uninstall(identifier, keepData: true)
      let record = try store.container(identifier).record
      #expect(record.grants.isEmpty && record.allowances.isEmpty)
    }
  }

  @Test("A bundle name that is not UTF-8 survives the record")
  func bytesAsName() throws {
    try withStore { store, path in
      _ = try SampleBundle.flat("Plain.app", in: path)
      let odd = bytes("\(path)/") + [0x4e, 0xff] + bytes(".app")
      let outcome = try run("mv", [bytes("\(path)/Plain.app"), odd])
      try #require(outcome.status == 0)
      let identifier = try store.install(from: odd).identifier
      #expect(try store.container(identifier).record.bundleName == [0x4e, 0xff] + bytes(".app"))
      #expect(try store.preparedContainer(identifier).record.bundleName.count == 6)
    }
  }

  @Test("What is missing of the structure comes back, and what is wrong with it is told")
  func repair() throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let data = "\(path)/store/containers/\(identifier)/data"
      try #require(try run("rm", ["-rf", "\(data)/Library", "\(data)/Notes.app"]).status == 0)
      let uid = try store.preparedContainer(identifier).record.ownerUID
      var status = stat()
      #expect(lstat(data + "/Library/Caches", &status) == 0 && status.st_uid == uid)
      #expect(lstat(data + "/Notes.app", &status) == 0 && status.st_uid == uid)
      #expect(rmdir(data + "/tmp") == 0 && symlink("/tmp", data + "/tmp") == 0)
      let message = message { _ = try store.preparedContainer(identifier) }
      #expect(message?.contains("data/tmp: ") == true, "\(message ?? "prepared")")
    }
  }

  @Test("Data that crosses a mount point is refused")
  func mountPoint() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let identifier = try store.install(from: bytes(bundle.path)).identifier
      let data = "\(path)/store/containers/\(identifier)/data"
      try #require(mount("none", data, "tmpfs", 0, nil) == 0)
      defer { umount2(data, CInt(MNT_DETACH)) }
      let wanted = "the container's data is a mount point"
      #expect(message { _ = try store.install(from: bytes(bundle.path)) }?.contains(wanted) == true)
      #expect(message { try store.uninstall(identifier) }?.contains(wanted) == true)
      #expect(try store.list().count == 1)
    }
  }

  @Test("A store of which a part is another file system is refused in words")
  func partOfAnother() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      _ = try store.install(from: bytes(bundle.path))
      let containers = "\(path)/store/containers"
      try #require(mount("none", containers, "tmpfs", 0, nil) == 0)
      defer { umount2(containers, CInt(MNT_DETACH)) }
      let wanted = "\(containers): it is a mount point, and those are not crossed"
      #expect(message { _ = try store.list() } == wanted)
      let installing = message { _ = try store.install(from: bytes(bundle.path)) }
      #expect(installing?.contains("it is a mount point") == true, "\(installing ?? "installed")")
    }
  }

  @Test("A store that is full refuses in one line and is as it was")
  func full() throws {
    try withTemporaryDirectory { path in
      mkdir("\(path)/disk", 0o700)
      try #require(mount("none", path + "/disk", "tmpfs", 0, "size=1m") == 0)
      defer { umount2(path + "/disk", CInt(MNT_DETACH)) }
      let store = try Store.openOrCreate(sampleLocation(in: path, store: "disk/store"))
      let bundle = try SampleBundle.flat(in: path)
      try bundle.write(repeatElement(1, count: 2 << 20), to: "big")
      let wanted = "Notes.app/big: not enough space in the store: free some, install again"
      #expect(message { _ = try store.install(from: bytes(bundle.path)) } == wanted)
      #expect(try store.list().isEmpty)
      #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
    }
  }
}

@Suite struct StorePlaceTests {
  @Test("A store is private, and one that is not is refused")
  func privacy() throws {
    try withStore { store, path in
      let status = try store.directory.status()
      #expect(status.permissions == 0o700)
      chmod("\(path)/store", 0o770)
      #expect(message { _ = try Store.open(store.location) }?.contains("chmod 700") == true)
      chmod("\(path)/store", 0o700)
      chown("\(path)/store", 12345, 12345)
      #expect(
        message { _ = try Store.open(store.location) }?.contains("belongs to uid 12345") == true)
    }
  }

  @Test("A store that is not there is told, and made by the first install")
  func absent() throws {
    try withTemporaryDirectory { path in
      let location = sampleLocation(in: path, store: "some/where/store")
      #expect(message { _ = try Store.open(location) }?.contains("there is no store at") == true)
      let store = try Store.openOrCreate(location)
      #expect(try store.list().isEmpty)
    }
  }

  @Test("A container is opened by its path, and nothing else is")
  func byPath() throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let place = "\(path)/store/containers/\(identifier)"
      let container = try Container.open(path: bytes(place + "/."), location: store.location)
      #expect(container.identifier == identifier && container.path == bytes(place))
      for wrong in [path, "\(path)/store", "\(path)/store/containers", place + "/data"] {
        #expect(
          message { _ = try Container.open(path: bytes(wrong), location: store.location) }?
            .contains(
              "is not a container") == true, "\(wrong)")
      }
    }
  }
}

@Suite struct ProfileLayerTests {
  private func layers(_ store: Store, _ identifier: BundleIdentifier) throws -> [String] {
    let configuration = try store.container(identifier).viewConfiguration(
      target: bytes("/srv/notes"), source: bytes("com.example.Notes"), transport: .kernel,
      mountFlags: 1)
    #expect(configuration.identifier == bytes("com.example.Notes"))
    #expect(configuration.bundleName == bytes("Notes.app"))
    #expect(ViewConfiguration(decoding: configuration.encoded()) == configuration)
    _ = try PolicyEngine(layers: configuration.layers, bundleName: configuration.bundleName)
    return configuration.layers.map {
      "\($0.rank) \(String(decoding: $0.name, as: UTF8.self)) \($0.text.count)"
    }
  }

  @Test("A container has the shipped profile, and what it may include")
  func shipped() throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let shipped = ShippedProfiles.standard.text.count
      #expect(
        try layers(store, identifier) == [
          "shipped default.profile \(shipped)",
          "included ios.profile \(ShippedProfiles.ios.text.count)",
          "included default.profile \(shipped)",
        ])
    }
  }

  @Test("Every layer is read from its place, in order")
  func all() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      try bundle.write(bytes("/tmp -write\n"), to: "sandbox.profile")
      let identifier = try store.install(from: bytes(bundle.path)).identifier
      let settings = try SampleBundle("settings", in: path)
      try settings.write(bytes("@include ios\n@include more\n"), to: "profiles/default.profile")
      try settings.write(bytes("/x read\n"), to: "profiles/more.profile")
      try settings.write(bytes("/y read\n"), to: "profiles/com.example.Notes.profile")
      try settings.write(bytes("/z -read\n"), to: "limits.profile")
      let container = try SampleBundle("store/containers/\(identifier)", in: path)
      try container.write(bytes("/w read\n"), to: "profile")
      #expect(
        try layers(store, identifier).map {
          $0.split(separator: " ").prefix(2).joined(separator: " ")
        }
          == [
            "shipped default.profile", "bundle Notes.app/sandbox.profile",
            "administrator com.example.Notes.profile", "container com.example.Notes/profile",
            "limits limits.profile", "included com.example.Notes.profile",
            "included default.profile", "included more.profile", "included ios.profile",
          ])
    }
  }

  @Test("A profile that is not there is told by name, at the install and at a mount")
  func absent() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let options = InstallOptions(profileName: "strict")
      #expect(
        message { _ = try store.install(from: bytes(bundle.path), options: options) }?
          .contains("no profile 'strict'") == true)
      let settings = try SampleBundle("settings", in: path)
      try settings.write(bytes("@include ios\n"), to: "profiles/strict.profile")
      let identifier = try store.install(from: bytes(bundle.path), options: options).identifier
      _ = try run("rm", ["-r", settings.path])
      #expect(
        message { _ = try layers(store, identifier) }?.contains("no profile 'strict'") == true)
    }
  }
}
