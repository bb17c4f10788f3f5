// scripts/install puts everything where people and mount(8) look for it, and takes all of it away.

import Foundation
import TestSupport
import Testing

@Suite struct InstallScriptTests {
  private func install(_ root: String, _ options: [String] = []) throws -> Outcome {
    let repository = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    var environment = standardEnvironment
    environment["DESTDIR"] = root
    return try run(
      repository.appending(path: "scripts/install").path,
      ["--built", BuiltPrograms.directory] + options, environment: environment)
  }

  private func files(below root: String) throws -> [String] {
    try run("find", [root, "!", "-type", "d", "-printf", "%P\n"]).text
      .split(separator: "\n").map(String.init).sorted()
  }

  @Test("installing and uninstalling leaves nothing, and each file is in its place")
  func roundTrip() throws {
    try withTemporaryDirectory { root in
      let installed = try install(root)
      #expect(installed.status == 0, "\(installed.errorText)")
      let files = try files(below: root)
      for path in [
        "sbin/mount.fuse.sandboxfs", "sbin/mount.sandboxfs", "sbin/umount.fuse.sandboxfs",
        "sbin/umount.sandboxfs", "usr/local/bin/sandboxfs",
        "usr/local/libexec/sandboxfs/mount.sandboxfs", "usr/local/libexec/sandboxfs/sandboxfs",
        "usr/local/libexec/sandboxfs/sandboxfs-view", "usr/local/share/doc/sandboxfs/README.md",
        "usr/local/share/bash-completion/completions/sandboxfs",
        "usr/local/share/man/man8/mount.sandboxfs.8",
        "usr/local/lib/systemd/system/sandboxfs@.service",
        "usr/local/share/doc/sandboxfs/docs/examples/AppPaths.m",
      ] {
        #expect(files.contains(path), "\(path) is missing")
      }
      #expect(try install(root, ["--uninstall"]).status == 0)
      #expect(try self.files(below: root) == [])
    }
  }

  @Test("systemd understands the unit for apps as services")
  func unit() throws {
    try withTemporaryDirectory { root in
      #expect(try install(root).status == 0)
      let unit = try String(
        contentsOfFile: root + "/usr/local/lib/systemd/system/sandboxfs@.service", encoding: .utf8)
      #expect(unit.contains("ExecStart=/usr/local/bin/sandboxfs run %i"))
      // systemd looks whether the program is there; an instance has its name from its file.
      let instance = root + "/sandboxfs@org.example.Server.service"
      try unit.replacing("/usr/local/bin/sandboxfs", with: BuiltPrograms.path("sandboxfs"))
        .write(toFile: instance, atomically: true, encoding: .utf8)
      let verified = try run("systemd-analyze", ["verify", "--man=no", instance])
      #expect(verified.status == 0 && verified.errorText.isEmpty, "\(verified.errorText)")
    }
  }

  @Test("another prefix is used throughout, and the links lead to it")
  func prefix() throws {
    try withTemporaryDirectory { root in
      #expect(try install(root, ["--prefix", "/opt/s", "--sbindir", "/usr/sbin"]).status == 0)
      let link = try run("readlink", [root + "/usr/sbin/mount.sandboxfs"])
      #expect(link.text == "/opt/s/libexec/sandboxfs/mount.sandboxfs\n")
      let places = ["opt/s/", "usr/sbin/"]
      for file in try files(below: root) {
        #expect(places.contains { file.hasPrefix($0) }, "\(file)")
      }
    }
  }

  @Test("a helper of another package is not replaced, and not removed")
  func foreignHelper() throws {
    try withTemporaryDirectory { root in
      #expect(try run("mkdir", [root + "/sbin"]).status == 0)
      #expect(try run("sh", ["-c", "echo other > \(root)/sbin/mount.sandboxfs"]).status == 0)
      let installed = try install(root)
      #expect(installed.status == 1)
      #expect(installed.errorText.contains("is another program's"))
      _ = try install(root, ["--uninstall"])
      #expect(try files(below: root) == ["sbin/mount.sandboxfs"])
    }
  }

  @Test(
    "a mistake in the options changes nothing and is named",
    arguments: [
      ["--prefix"], ["--prefix", "relative"], ["--frobnicate"],
    ])
  func mistakes(_ options: [String]) throws {
    try withTemporaryDirectory { root in
      let outcome = try install(root, options)
      #expect(outcome.status == 1 && outcome.errorText.hasPrefix("install: "))
      #expect(try files(below: root) == [])
    }
  }
}
