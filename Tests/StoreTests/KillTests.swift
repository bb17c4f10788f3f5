// An install that is killed at any moment: what was there is there, or what is new is, whole.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct KillTests {
  private static let rounds = 50

  @Test("However an update is killed, record, bundle and place agree, and nothing is left over")
  func updates() throws {
    try withStore { store, path in
      let bundles = try [("Old.app", "1"), ("New.app", "2")].map { name, version in
        let bundle = try SampleBundle.flat(name, in: path, version: version)
        for number in 0..<200 { try bundle.write(bytes(version), to: "Resources/\(number)") }
        return bundle
      }
      let identifier = try store.install(from: bytes(bundles[0].path)).identifier
      var updates = 0
      for round in 0..<Self.rounds {
        try installAndKill(bundles[(round + 1) % 2], store, afterMilliseconds: round * 2)
        let container = try Store.open(store.location).container(identifier)
        let (name, version) = try #require(
          [("Old.app", "1"), ("New.app", "2")].first { $0.1 == container.record.version })
        if bundles[(round + 1) % 2].path.hasSuffix(name) { updates += 1 }
        try expectWhole(container, name, version)
        #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
      }
      #expect(updates > 0, "every one was killed before it had done anything")
    }
  }

  @Test("However a first install is killed, the app is there whole or not at all")
  func firsts() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat("New.app", in: path, version: "2")
      for number in 0..<200 { try bundle.write(bytes("2"), to: "Resources/\(number)") }
      for round in 0..<Self.rounds / 2 {
        try installAndKill(bundle, store, afterMilliseconds: round * 4)
        let reopened = try Store.open(store.location)
        let list = try reopened.list()
        for listed in list {
          try expectWhole(try reopened.container(listed.identifier), "New.app", "2")
          try reopened.uninstall(listed.identifier)
        }
        let left = (try? reopened.directory.enter("staging".utf8).entries()) ?? []
        #expect(left.isEmpty)
      }
    }
  }

  private func installAndKill(
    _ bundle: SampleBundle, _ store: Store, afterMilliseconds delay: Int
  ) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: BuiltPrograms.path("sandboxfs"))
    process.arguments = [
      "install", "--store", String(decoding: store.path, as: UTF8.self), bundle.path,
    ]
    let settings = String(decoding: store.location.settings[0], as: UTF8.self)
    process.environment = ["SANDBOXFS_SETTINGS": settings]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    usleep(UInt32(delay) * 1000)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  private func expectWhole(_ container: Container, _ name: String, _ version: String) throws {
    #expect(container.record.bundleName == bytes(name))
    let bundles = try container.directory.enter("bundle".utf8)
    #expect(try bundles.entries().map(\.name) == [bytes(name)])
    let resources = try bundles.enter(path: [bytes(name), bytes("Resources")])
    let files = try resources.entries()
    #expect(files.count == 200)
    for file in files {
      #expect(try resources.openRegularFile(file.name).readToEnd(atMost: 9) == bytes(version))
    }
    let data = try container.directory.enter("data".utf8).entries().map(\.name)
    #expect(data.filter { $0.suffix(4) == bytes(".app")[...] } == [bytes(name)])
  }
}
