// Installing from an .ipa: honest ones as zip(1) makes them, and others.
import Containers
import Foundation
import Glibc
import LinuxKit
import Paths
import Store
import TestSupport
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private let information = SampleBundle.information([
  ("CFBundleIdentifier", "com.example.Notes"), ("CFBundleExecutable", "Notes"),
])

/// A zip with an app that could be installed.
private func honestZip(_ app: String = "Payload/Notes.app") -> ZipWriter {
  var zip = ZipWriter()
  zip.add("\(app)/Info.plist", contents: information)
  zip.add("\(app)/Notes", mode: 0o100755, contents: "#!/bin/sh\n")
  return zip
}

@Suite struct ArchiveTests {
  @Test("An .ipa that zip(1) made is installed with its modes and links")
  func honest() throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: "\(path)/Payload")
      try bundle.write(repeatElement(7, count: 300_000), to: "Frameworks/F.framework/Versions/A/F")
      try bundle.link("Frameworks/F.framework/F", to: "Versions/A/F")
      try SampleBundle("__MACOSX", in: path).write([1], to: "x")
      let outcome = try run("sh", ["-c", "cd '\(path)' && zip -qry app.ipa Payload __MACOSX"])
      try #require(outcome.status == 0, "\(outcome.errorText)")
      let report = try store.install(from: bytes("\(path)/app.ipa"))
      #expect(report.identifier.description == "com.example.Notes")
      let copy = "\(path)/store/containers/com.example.Notes/bundle/Notes.app"
      #expect(try run("diff", ["-r", "-x", "_CodeSignature", bundle.path, copy]).status == 0)
      var status = stat()
      #expect(lstat(copy + "/Notes", &status) == 0 && status.st_mode & 0o7777 == 0o755)
      #expect(lstat(copy + "/Info.plist", &status) == 0 && status.st_mode & 0o7777 == 0o644)
      let container = try store.container(report.identifier)
      #expect(status.st_uid == container.record.ownerUID)
      let link = copy + "/Frameworks/F.framework/F"
      #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
      #expect(try store.install(from: bytes("\(path)/app.ipa")).isUpdate)
    }
  }

  @Test("Names that are not UTF-8, and names that say they are, keep their bytes")
  func names() throws {
    try withStore { store, path in
      var zip = honestZip()
      zip.add(bytes("Payload/Notes.app/") + [0xff, 0xe9])
      zip.add("Payload/Notes.app/\u{e9}")
      try SampleBundle("zips", in: path).write(zip.finished(), to: "a.ipa")
      // A seal is a text, so such a bundle goes without.
      let identifier = try store.install(
        from: bytes("\(path)/zips/a.ipa"), options: InstallOptions(requirement: .any)
      ).identifier
      let names = try store.container(identifier).directory.enter(
        path: [bytes("bundle"), bytes("Notes.app")]
      ).entries().map(\.name)
      #expect(names.contains([0xff, 0xe9]) && names.contains(bytes("\u{e9}")))
    }
  }

  struct Row: CustomTestStringConvertible, Sendable {
    let label: String
    let wanted: String
    let spoil: @Sendable (inout ZipWriter) -> Void
    var testDescription: String { label }

    init(_ label: String, _ wanted: String, _ spoil: @escaping @Sendable (inout ZipWriter) -> Void)
    {
      self.label = label
      self.wanted = wanted
      self.spoil = spoil
    }
  }

  @Test(
    "An archive that is not acceptable is refused in one line and leaves nothing",
    arguments: [
      Row("a name with ..", "leads out of the archive") { $0.add("Payload/Notes.app/../../x") },
      Row("a name with .. elsewhere", "leads out of the archive") { $0.add("../../etc/cron.d/x") },
      Row("an absolute name", "leads out of the archive") { $0.add("/etc/cron.d/x") },
      Row("a file through a link", "goes through what is no directory") {
        $0.add("Payload/Notes.app/out", mode: 0o120777, contents: "/tmp")
        $0.add("Payload/Notes.app/out/planted", contents: "x")
      },
      Row("an absolute link", "is a link that leads out of the bundle") {
        $0.add("Payload/Notes.app/out", mode: 0o120777, contents: "/etc/passwd")
      },
      Row("a link that climbs out", "is a link that leads out of the bundle") {
        $0.add("Payload/Notes.app/a/out", mode: 0o120777, contents: "../../../../data/Documents")
      },
      Row("a link through a link", "is a link that leads out of the bundle") {
        $0.add("Payload/Notes.app/d/up", mode: 0o120777, contents: "..")
        $0.add("Payload/Notes.app/e", mode: 0o120777, contents: "d/up/../..")
      },
      Row("a loop of links", "is a link that leads out of the bundle") {
        $0.add("Payload/Notes.app/loop", mode: 0o120777, contents: "loop")
      },
      Row("an executable that is a link out", "Notes is a link that leads out") {
        $0 = ZipWriter()
        $0.add("Payload/Notes.app/Info.plist", contents: information)
        $0.add("Payload/Notes.app/Notes", mode: 0o120777, contents: "/bin/sh")
      },
      Row("a socket", "is a socket") { $0.add("Payload/Notes.app/socket", mode: 0o140644) },
      Row("a device", "is a device") { $0.add("Payload/Notes.app/sda", mode: 0o060644) },
      Row("the same name twice", "is there twice") { $0.add("Payload/Notes.app/Notes") },
      Row("two apps", "has two apps in it") { $0.add("Payload/Other.app/Info.plist") },
      Row("no app", "has no app in it") {
        $0 = ZipWriter()
        $0.add("README")
      },
      Row("an app that is a file", "is not a directory") {
        $0 = ZipWriter()
        $0.add("Payload/Notes.app")
      },
      Row("more than it says", "broken archive") {
        $0.add(
          "Payload/Notes.app/big", contents: String(repeating: "x", count: 9_000), claimedSize: 10)
      },
      Row("less than it says", "is smaller than the archive says") {
        $0.add("Payload/Notes.app/big", claimedSize: .max - 1)
      },
      Row("no zip", "is neither an app's directory nor a zip") { _ in },
    ])
  func refusals(_ row: Row) throws {
    try withStore { store, path in
      let before = try snapshot(of: "\(path)/store")
      var zip = honestZip()
      row.spoil(&zip)
      let file = row.label == "no zip" ? bytes("this is no zip") : zip.finished()
      try SampleBundle("zips", in: path).write(file, to: "a.ipa")
      let message = message { _ = try store.install(from: bytes("\(path)/zips/a.ipa")) }
      #expect(message?.contains(row.wanted) == true, "\(message ?? "installed")")
      #expect(message?.contains("\n") == false)
      #expect(try snapshot(of: "\(path)/store") == before)
    }
  }

  @Test("An archive that would fill the disk is refused before it does")
  func bomb() throws {
    try withTemporaryDirectory { path in
      mkdir("\(path)/disk", 0o700)
      try #require(mount("none", path + "/disk", "tmpfs", 0, "size=1m") == 0)
      defer { umount2(path + "/disk", CInt(MNT_DETACH)) }
      let store = try Store.openOrCreate(sampleLocation(in: path, store: "disk/store"))
      var zip = honestZip()
      zip.add("Payload/Notes.app/big", claimedSize: 2 << 20)
      try SampleBundle("zips", in: path).write(zip.finished(), to: "a.ipa")
      let message = message { _ = try store.install(from: bytes("\(path)/zips/a.ipa")) }
      #expect(message == "Notes.app/big: not enough space in the store: free some, install again")
      #expect(try store.list().isEmpty)
    }
  }

  @Test("Cut short, or with bytes changed, an archive is installed or refused")
  func damage() throws {
    try withStore { store, path in
      let whole = honestZip().finished()
      let place = try SampleBundle("zips", in: path)
      for position in stride(from: 0, to: whole.count, by: 7) {
        try place.write(whole.prefix(position), to: "a.ipa")
        _ = message { _ = try store.install(from: bytes("\(path)/zips/a.ipa")) }
        var damaged = whole
        damaged[position] ^= 0x55
        try place.write(damaged, to: "a.ipa")
        _ = message { _ = try store.install(from: bytes("\(path)/zips/a.ipa")) }
      }
      #expect(try store.directory.enter("staging".utf8).entries().isEmpty)
    }
  }
}
