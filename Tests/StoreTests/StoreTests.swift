// Installing, updating and uninstalling, as a person sees it.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

/// Every path below a directory with its kind, mode and contents, but for the locks.
func snapshot(of path: String) throws -> [String: String] {
  var found: [String: String] = [:]
  for name in try FileManager.default.subpathsOfDirectory(atPath: path) where name != "lock" {
    var status = stat()
    guard lstat("\(path)/\(name)", &status) == 0 else { continue }
    let kind = status.st_mode & S_IFMT
    let contents = kind == S_IFREG ? FileManager.default.contents(atPath: "\(path)/\(name)") : nil
    found[name] = "\(String(status.st_mode, radix: 8)) \(status.st_uid) \(contents?.hashValue ?? 0)"
  }
  found["staging"] = nil
  return found
}

func message(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch let error as StoreError {
    return error.message
  } catch {
    return "not an error of the store: \(error)"
  }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct InstallTests {
  struct Form: CustomTestStringConvertible, Sendable {
    let label: String
    let plist: String
    let text: String
    let program: String
    var isBinary = false
    let identifier: String
    let name: String
    let version: String
    var testDescription: String { label }
  }

  @Test(
    "Each form of bundle is installed, with its identifier, name and version",
    arguments: [
      Form(
        label: "iOS", plist: "Info.plist",
        text: SampleBundle.information([
          ("CFBundleIdentifier", "com.example.A"), ("CFBundleExecutable", "A"),
          ("CFBundleDisplayName", "Ä b"), ("CFBundleName", "x"), ("CFBundleVersion", "7"),
        ]), program: "A", identifier: "com.example.A", name: "Ä b", version: "7"),
      Form(
        label: "iOS, binary", plist: "Info.plist",
        text: SampleBundle.information([
          ("CFBundleIdentifier", "com.example.B"), ("CFBundleExecutable", "B"),
          ("CFBundleShortVersionString", "1.2"), ("CFBundleVersion", "7"),
        ]), program: "B", isBinary: true, identifier: "com.example.B", name: "B", version: "1.2"),
      Form(
        label: "macOS", plist: "Contents/Info.plist",
        text: SampleBundle.information([
          ("CFBundleIdentifier", "com.example.C"), ("CFBundleExecutable", "C"),
          ("CFBundleName", "See"),
        ]), program: "Contents/MacOS/C", identifier: "com.example.C", name: "See", version: ""),
      Form(
        label: "GNUstep", plist: "Resources/Info-gnustep.plist",
        text:
          "{ NSExecutable = Dee; ApplicationName = \"Dee Dee\"; ApplicationRelease = <*R0.5>; }",
        program: "Dee", identifier: "org.gnustep.Dee", name: "Dee Dee", version: "0.5"),
      Form(
        label: "GNUstep with what Xcode should have filled in",
        plist: "Resources/Info-gnustep.plist",
        text: """
          { NSExecutable = Dee; CFBundleIdentifier = "$(PRODUCT_BUNDLE_IDENTIFIER)";
          CFBundleVersion = "${VERSION}"; CFBundleName = D; }
          """,
        program: "Dee", identifier: "org.gnustep.Dee", name: "D", version: ""),
      Form(
        label: "GNUstep with an identifier", plist: "Resources/Info-gnustep.plist",
        text: "{ NSExecutable = E; CFBundleIdentifier = \"org.gap.E\"; }",
        program: "E", identifier: "org.gap.E", name: "E", version: ""),
    ])
  func forms(_ form: Form) throws {
    try withStore { store, path in
      let bundle = try SampleBundle("Any.app", in: path)
      var information = Data(form.text.utf8)
      if form.isBinary {
        let list = try PropertyListSerialization.propertyList(from: information, format: nil)
        information = try PropertyListSerialization.data(
          fromPropertyList: list, format: .binary, options: 0)
      }
      try bundle.write(information, to: form.plist)
      try bundle.write(bytes("#!/bin/sh\n"), to: form.program, mode: 0o700)
      let report = try store.install(from: bytes(bundle.path + "/"))
      #expect(report.identifier.description == form.identifier)
      #expect(report.name == form.name)
      #expect(report.version == form.version)
      #expect(!report.isUpdate)
      #expect(report.warnings.isEmpty)
      let record = try store.container(report.identifier).record
      #expect(record.executable == bytes(form.program))
      #expect(record.bundleName == bytes("Any.app"))
      #expect(record.sealState == .adHoc)
      #expect(record.profileName == "default")
    }
  }

  static let installed: [String] = {
    let root = "/usr/lib/GNUstep/Applications"
    return ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).sorted().map {
      "\(root)/\($0)"
    }
  }()

  @Test("Every GNUstep app on this machine is installed whole", arguments: installed)
  func realApps(_ app: String) throws {
    try withStore { store, path in
      let report = try store.install(from: bytes(app))
      #expect(report.notes.allSatisfy { $0.contains("copied from /usr/share/GNUstep/") })
      #expect(report.warnings.isEmpty)
      let container = try store.container(report.identifier)
      let name = String(app.split(separator: "/").last ?? "")
      let copy = "\(path)/store/containers/\(report.identifier)/bundle/\(name)"
      let outcome = try run("diff", ["-r", "-x", "_CodeSignature", app, copy])
      #expect(outcome.status == 0, "\(outcome.text)")
      #expect(try FileManager.default.subpathsOfDirectory(atPath: copy).count > 3)
      #expect(!container.record.displayName.isEmpty)
    }
  }

  @Test("What is installed belongs to the container's uid, with the bundle's fixed modes")
  func modes() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      try bundle.write([], to: "Resources/secret", mode: 0o600)
      try bundle.write([], to: "Resources/tool", mode: 0o4711)
      try bundle.write([], to: "Resources/open", mode: 0o666)
      chmod(bundle.path + "/Resources", 0o700)
      try bundle.link("alias", to: "Resources/open")
      let report = try store.install(from: bytes(bundle.path))
      #expect(report.warnings == ["Notes.app/Resources/tool: its set-id bits are not taken over"])
      let container = try store.container(report.identifier)
      let uid = container.record.ownerUID
      #expect(uid == 0x7000_0000)
      #expect(container.record.ownerGID == uid)
      let installed = try container.directory.enter(path: [bytes("bundle"), bytes("Notes.app")])
      let expected: [(String, UInt32)] = [
        ("Info.plist", 0o644), ("Notes", 0o755), ("Resources", 0o755), ("alias", 0o777),
      ]
      for (name, mode) in expected {
        let status = try installed.status(of: name.utf8)
        #expect(status.permissions == mode, "\(name)")
        #expect(status.ownerUID == uid && status.ownerGID == uid, "\(name)")
      }
      let resources = try installed.enter("Resources".utf8)
      #expect(try resources.status(of: "secret".utf8).permissions == 0o644)
      #expect(try resources.status(of: "tool".utf8).permissions == 0o755)
      #expect(try resources.status(of: "open".utf8).permissions == 0o644)
      #expect(try installed.readLink("alias".utf8) == bytes("Resources/open"))
    }
  }

  @Test("A new container has its structural entries, a record and a place for the bundle")
  func skeleton() throws {
    try withStore { store, path in
      let report = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
      let container = try store.container(report.identifier)
      #expect(try container.directory.status().permissions == 0o700)
      let data = try container.directory.enter("data".utf8)
      for entry in ContainerLayout.structuralEntries {
        let names = entry.path.split(separator: "/").map { bytes(String($0)) }
        let parent = try data.enter(path: names.dropLast())
        let status = try parent.status(of: names.last ?? [])
        #expect(status.kind == (entry.linkTarget == nil ? .directory : .symbolicLink))
        #expect(status.permissions == entry.mode, "\(entry.path)")
        #expect(status.ownerUID == container.record.ownerUID, "\(entry.path)")
      }
      let place = try data.enter("Notes.app".utf8)
      #expect(try place.entries().isEmpty)
      #expect(try place.status().permissions == 0o755)
      #expect(try data.status().ownerUID == container.record.ownerUID)
      #expect(try container.directory.status(of: "container.plist".utf8).permissions == 0o600)
      #expect(!container.isMounted)
    }
  }

  @Test("An update exchanges the bundle and keeps data, owner, key and first date")
  func update() throws {
    try withStore { store, path in
      let old = try SampleBundle.flat(in: path)
      try old.write([], to: "only-in-old")
      let identifier = try store.install(from: bytes(old.path)).identifier
      let before = try store.container(identifier).record
      let kept = "\(path)/store/containers/\(identifier)/data/Documents/kept"
      #expect(FileManager.default.createFile(atPath: kept, contents: Data([1, 2, 3])))
      let new = try SampleBundle.flat("Notizen.app", in: path, version: "2.0")
      let opened = try store.container(identifier)
      #expect(opened.isCurrent())
      let report = try store.install(from: bytes(new.path))
      #expect(report.isUpdate && report.version == "2.0")
      #expect(!opened.isCurrent())
      let container = try store.container(identifier)
      #expect(container.record.bundleName == bytes("Notizen.app"))
      #expect(container.record.ownerUID == before.ownerUID)
      #expect(container.record.inodeKey == before.inodeKey)
      #expect(container.record.installedSeconds == before.installedSeconds)
      #expect(FileManager.default.contents(atPath: kept) == Data([1, 2, 3]))
      let data = try container.directory.enter("data".utf8).entries().map(\.name)
      #expect(data.contains(bytes("Notizen.app")) && !data.contains(bytes("Notes.app")))
      let bundles = try container.directory.enter("bundle".utf8).entries().map(\.name)
      #expect(bundles == [bytes("Notizen.app")])
      #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
    }
  }

  @Test("What an app has in the way of a renamed bundle is not touched")
  func inTheWay() throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let taken = "\(path)/store/containers/\(identifier)/data/New.app"
      #expect(FileManager.default.createFile(atPath: taken, contents: Data([1])))
      let before = try snapshot(of: "\(path)/store")
      let new = try SampleBundle.flat("New.app", in: path)
      #expect(
        message { _ = try store.install(from: bytes(new.path)) }?.contains("rename it") == true)
      #expect(try snapshot(of: "\(path)/store") == before)
    }
  }

  @Test("Data that was kept is taken up by a later install")
  func keptData() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let identifier = try store.install(from: bytes(bundle.path)).identifier
      let owner = try store.container(identifier).record.ownerUID
      let kept = "\(path)/store/containers/\(identifier)/data/Documents/kept"
      #expect(FileManager.default.createFile(atPath: kept, contents: Data([1])))
      try store.uninstall(identifier, keepData: true)
      let container = try store.container(identifier)
      #expect(container.record.sealState == .dataOnly)
      #expect(container.record.bundleName.isEmpty)
      #expect(try container.directory.enter("bundle".utf8).entries().isEmpty)
      #expect(
        try !container.directory.enter("data".utf8).entries().map(\.name).contains(
          bytes("Notes.app")))
      #expect(try store.list().map(\.state) == ["data only"])
      let report = try store.install(from: bytes(bundle.path))
      #expect(report.isUpdate)
      #expect(try store.container(identifier).record.ownerUID == owner)
      #expect(FileManager.default.contents(atPath: kept) == Data([1]))
    }
  }

  @Test("Uninstalling removes everything, whatever the app planted")
  func uninstall() throws {
    try withStore { store, path in
      let identifier = try store.install(from: bytes(try SampleBundle.flat(in: path).path))
        .identifier
      let data = "\(path)/store/containers/\(identifier)/data"
      #expect(FileManager.default.createFile(atPath: "\(path)/precious", contents: Data([1])))
      #expect(symlink(path, "\(data)/Documents/out") == 0)
      #expect(symlink("/etc", "\(data)/tmp/etc") == 0)
      try FileManager.default.removeItem(atPath: "\(data)/Library/Caches")
      #expect(symlink(path, "\(data)/Library/Caches") == 0)
      #expect(mkfifo("\(data)/tmp/fifo", 0o600) == 0)
      try store.uninstall(identifier)
      #expect(try store.list().isEmpty)
      #expect(try store.directory.enter("containers".utf8).entries().isEmpty)
      #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
      #expect(FileManager.default.contents(atPath: "\(path)/precious") == Data([1]))
      #expect(message { try store.uninstall(identifier) }?.contains("is not installed") == true)
    }
  }

  @Test("A container that is served is neither updated nor uninstalled")
  func inUse() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let identifier = try store.install(from: bytes(bundle.path)).identifier
      let container = try store.container(identifier)
      let lock = try container.directory.openRegularFile("lock".utf8)
      #expect(try lock.tryLock(.exclusive))
      let before = try snapshot(of: "\(path)/store")
      let wanted = "com.example.Notes is in use: unmount it first"
      #expect(
        message { _ = try store.install(from: bytes(bundle.path)) }?
          .hasPrefix("com.example.Notes is mounted: unmount it first") == true)
      #expect(message { try store.uninstall(identifier) } == wanted)
      #expect(message { try store.uninstall(identifier, keepData: true) } == wanted)
      #expect(try snapshot(of: "\(path)/store") == before)
      try lock.close()
      try store.uninstall(identifier)
    }
  }

  @Test("Installs at the same time all happen, each whole")
  func parallel() async throws {
    let path = "/tmp/sandboxfs-test.\(UUID().uuidString)"
    defer { _ = try? run("rm", ["-rf", path]) }
    for number in 0..<4 {
      _ = try SampleBundle.flat(
        "App\(number).app", in: path, identifier: "com.example.App\(number)")
    }
    let location = sampleLocation(in: path)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let store = try Store.openOrCreate(location)
          _ = try store.install(from: bytes("\(path)/App\(number % 4).app"))
        }
      }
      try await group.waitForAll()
    }
    let store = try Store.open(location)
    #expect(try store.list().count == 4)
    let owners = try store.list().map { try store.container($0.identifier).record.ownerUID }
    #expect(Set(owners).count == 4)
  }
}
