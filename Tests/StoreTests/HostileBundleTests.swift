// Bundles that must not be installed, or not as they are: each is refused by one line, and leaves
// nothing behind.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct HostileBundleTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let label: String
    let wanted: String
    let spoil: @Sendable (SampleBundle, String) throws -> Void
    var testDescription: String { label }

    init(
      _ label: String, _ wanted: String,
      _ spoil: @escaping @Sendable (SampleBundle, String) throws -> Void
    ) {
      self.label = label
      self.wanted = wanted
      self.spoil = spoil
    }
  }

  @Test(
    "A bundle that is not acceptable is refused in one line and leaves nothing",
    arguments: [
      Row("no Info.plist", "Notes.app is no app: it has neither Info.plist") { bundle, _ in
        unlink(bundle.path + "/Info.plist")
      },
      Row("an empty Info.plist", "Info.plist is no property list: it is empty") { bundle, _ in
        try bundle.write([], to: "Info.plist")
      },
      Row("an Info.plist that is none", "Info.plist is no property list: 1:5: expected") {
        bundle, _ in
        try bundle.write(bytes("{ a b }"), to: "Info.plist")
      },
      Row("an XML Info.plist that is cut short", "Info.plist is no property list: ") { bundle, _ in
        try bundle.write(bytes("<?xml version=\"1.0\"?><plist><dict>"), to: "Info.plist")
      },
      Row("an Info.plist that is a list", "names no executable") { bundle, _ in
        try bundle.write(bytes("( a )"), to: "Info.plist")
      },
      Row("a huge Info.plist", "Notes.app/Info.plist: File too large") { bundle, _ in
        try bundle.write(repeatElement(0x20, count: 5 << 20), to: "Info.plist")
      },
      Row("a deep Info.plist", "deep in each other") { bundle, _ in
        try bundle.write(repeatElement(UInt8(ascii: "("), count: 1 << 20), to: "Info.plist")
      },
      Row("a deep XML Info.plist", "Info.plist is no property list: ") { bundle, _ in
        let deep = "<?xml version=\"1.0\"?><plist>" + String(repeating: "<array>", count: 300_000)
        try bundle.write(bytes(deep), to: "Info.plist")
      },
      Row("an Info.plist that is a directory", "Info.plist is not a file") { bundle, _ in
        unlink(bundle.path + "/Info.plist")
        mkdir(bundle.path + "/Info.plist", 0o755)
      },
      Row("an Info.plist that a link leads nowhere to", "which links to ../../nothing") {
        bundle, _ in
        unlink(bundle.path + "/Info.plist")
        try bundle.link("Info.plist", to: "../../nothing")
      },
      Row("no executable named", "names no executable") { bundle, _ in
        try bundle.write(
          bytes(SampleBundle.information([("CFBundleIdentifier", "a.b")])), to: "Info.plist")
      },
      Row("an executable that is not there", "lacks its executable") { bundle, _ in
        unlink(bundle.path + "/Notes")
      },
      Row("an executable that is not executable", "chmod +x") { bundle, _ in
        chmod(bundle.path + "/Notes", 0o644)
      },
      Row("an executable that is a directory", "Notes is not a file") { bundle, _ in
        unlink(bundle.path + "/Notes")
        mkdir(bundle.path + "/Notes", 0o755)
      },
      Row("an executable with a path", "is not a name") { bundle, _ in
        try bundle.write(
          bytes(
            SampleBundle.information([
              ("CFBundleIdentifier", "a.b"), ("CFBundleExecutable", "../../bin/sh"),
            ])), to: "Info.plist")
      },
      Row("a fifo", "Notes.app/pipe is a fifo: ") { bundle, _ in
        mkfifo(bundle.path + "/pipe", 0o644)
      },
      Row("a device", "Notes.app/null is a device: ") { bundle, _ in
        mknod(bundle.path + "/null", S_IFCHR | 0o666, 0x103)
      },
      Row("a link to itself", "links lead round in a circle") { bundle, _ in
        try bundle.link("loop", to: "loop")
      },
      Row("a way back through the outside", "links lead round in a circle") { bundle, path in
        try bundle.link("around", to: "\(path)/Notes.app")
      },
      Row("a link to what only root may read", "not for everybody to read") { bundle, _ in
        try bundle.link("shadow", to: "/etc/shadow")
      },
      Row("a link to a directory that only root may enter", "not for everybody") { bundle, path in
        mkdir(path + "/closed", 0o700)
        try SampleBundle("closed/open", in: path).write([1], to: "file")
        try bundle.link("out", to: "../closed/open/file")
      },
      Row("a link to a file of another user", "belongs to another user, uid 12345") {
        bundle, path in
        try SampleBundle("theirs", in: path).write([1], to: "file")
        chown(path + "/theirs/file", 12345, 12345)
        try bundle.link("out", to: "../theirs/file")
      },
      Row("a link to a device", "is a device") { bundle, _ in
        try bundle.link("out", to: "/dev/null")
      },
      Row("a file of another user", "belongs to another user, uid 12345") { bundle, _ in
        chown(bundle.path + "/Notes", 12345, 12345)
      },
      Row("rules that nobody can keep", "Notes.app/sandbox.profile:1:") { bundle, _ in
        try bundle.write(bytes("/Documents write\n"), to: "sandbox.profile")
      },
      Row("rules that can't be read", "sandbox.profile can't be read") { bundle, _ in
        mkdir(bundle.path + "/sandbox.profile", 0o755)
      },
    ])
  func refusals(_ row: Row) throws {
    try withStore { store, path in
      let before = try snapshot(of: "\(path)/store")
      let bundle = try SampleBundle.flat(in: path)
      try row.spoil(bundle, path)
      let message = message { _ = try store.install(from: bytes(bundle.path)) }
      #expect(message?.contains(row.wanted) == true, "\(message ?? "installed")")
      #expect(message?.contains("\n") == false)
      #expect(try snapshot(of: "\(path)/store") == before)
    }
  }

  @Test(
    "An identifier that is none is refused",
    arguments: [
      "..", "a/b", ".x", "x.", "a..b", "a", "", "a b.c", "a.b\u{e9}", "../../../etc.passwd",
      "A\nB.c", String(repeating: "a.", count: 150) + "b",
    ])
  func identifiers(_ identifier: String) throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path, identifier: identifier)
      let message = message { _ = try store.install(from: bytes(bundle.path)) }
      #expect(message?.contains("is no identifier") == true, "\(message ?? "installed")")
      #expect(message?.contains("\n") == false)
      #expect(try store.list().isEmpty)
    }
  }

  @Test(
    "A name that a view could not show is refused",
    arguments: ["Notes", "Notes.APP", ".Notes.app", ".app", "No\ntes.app", "Notes.app.bak"])
  func names(_ name: String) throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(name, in: path)
      let message = message { _ = try store.install(from: bytes(bundle.path)) }
      #expect(message?.contains("is no app: its name must") == true, "\(message ?? "installed")")
    }
  }

  @Test("What is outside and for everybody is copied, and what is told of it is true")
  func outside() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let shared = try SampleBundle("shared", in: path)
      try shared.write([1, 2], to: "deep/file")
      try shared.link("inside", to: "deep/file")
      try shared.link("beyond", to: "/etc/hostname")
      try bundle.link("Resources", to: "../shared")
      try bundle.link("again", to: "Resources/deep")
      try bundle.link("gone", to: "/nowhere/at/all")
      try bundle.link("dangling", to: "nothing")
      let report = try store.install(from: bytes(bundle.path))
      let copy = "\(path)/store/containers/com.example.Notes/bundle/Notes.app"
      var status = stat()
      #expect(lstat(copy + "/Resources", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
      #expect(FileManager.default.contents(atPath: copy + "/Resources/deep/file") == Data([1, 2]))
      #expect(FileManager.default.contents(atPath: copy + "/again/file") == Data([1, 2]))
      #expect(lstat(copy + "/Resources/inside", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
      #expect(lstat(copy + "/Resources/beyond", &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
      #expect(lstat(copy + "/gone", &status) != 0)
      #expect(lstat(copy + "/dangling", &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
      #expect(
        report.warnings == [
          "Notes.app/gone, which links to /nowhere/at/all, is left out: there is no such file"
        ])
      #expect(
        report.notes == [
          "Notes.app/Resources: copied from \(path)/shared, and 2 more links that lead out of the "
            + "bundle"
        ])
    }
  }

  @Test("Names that are not UTF-8 are installed byte for byte")
  func bytesAsNames() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let odd: [CChar] = bundle.path.utf8CString.dropLast() + [0x2f, -1, 0x0a, -61, 0]
      let file = open(odd, O_WRONLY | O_CREAT, 0o644)
      #expect(file >= 0)
      close(file)
      // A seal is a text, so such a bundle goes without.
      let identifier = try store.install(
        from: bytes(bundle.path), options: InstallOptions(requirement: .any)
      ).identifier
      let installed = try store.container(identifier).directory.enter(
        path: [bytes("bundle"), bytes("Notes.app")])
      #expect(try installed.entries().map(\.name).contains([0xff, 0x0a, 0xc3]))
    }
  }

  @Test("While a file of the bundle and a link to a secret change places, the secret stays secret")
  func swaps() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      try bundle.write(bytes("public"), to: "file")
      #expect(FileManager.default.createFile(atPath: "\(path)/secret", contents: Data("top".utf8)))
      chmod("\(path)/secret", 0o600)
      try bundle.link("link", to: "../secret")
      let swapper = try Background(
        "sh",
        [
          "-c",
          "while :; do mv -T '\(bundle.path)/file' '\(bundle.path)/x'; mv -T '\(bundle.path)/link' '\(bundle.path)/file'; mv -T '\(bundle.path)/file' '\(bundle.path)/link'; mv -T '\(bundle.path)/x' '\(bundle.path)/file'; done",
        ])
      defer { swapper.stop() }
      for _ in 0..<100 {
        guard let report = try? store.install(from: bytes(bundle.path)) else { continue }
        let outcome = try run(
          "grep", ["-r", "top", "\(path)/store/containers/\(report.identifier)/bundle"])
        #expect(outcome.status == 1, "\(outcome.text)")
      }
    }
  }
}

/// A program that runs until it is stopped.
private struct Background {
  private let process = Process()

  init(_ program: String, _ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    try process.run()
  }

  func stop() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
