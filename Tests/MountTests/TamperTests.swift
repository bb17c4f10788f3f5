// Every way to change an installed bundle in the store, at every moment: what a view serves is what
// was installed, or an error, and never anything else.

import Containers
import Glibc
import LinuxKit
import Mounting
import Paths
import Store
import TestSupport
import Testing

@Suite("A bundle that is changed in the store", .enabled(if: geteuid() == 0, "needs root"))
struct TamperTests {
  /// When a bundle is changed.
  enum Moment: String, CaseIterable {
    case beforeTheMount, whileUnread, afterItWasRead, whileInUse, whileMapped
  }

  @Test("is served as it was installed, or not at all", arguments: Moment.allCases)
  func served(_ moment: Moment) throws {
    try withTamperScene { scene in
      if moment != .beforeTheMount { try scene.mount() }
      let files = try SealedFile.all(in: scene.original)
      var opened: [(SealedFile, CInt)] = []
      var mappings: [(SealedFile, MappedFile)] = []
      defer { for (_, file) in opened { close(file) } }
      if moment == .afterItWasRead || moment == .whileInUse {
        for file in files {
          let descriptor = try #require(file.open(in: scene))
          opened.append((file, descriptor))
          var byte: UInt8 = 0
          #expect(pread(descriptor, &byte, 1, 0) >= 0)
          if moment == .afterItWasRead {
            #expect(file.expectOriginalOrErrors(descriptor).refused == 0)
          }
        }
      }
      if moment == .whileMapped {
        for file in files where !file.bytes.isEmpty {
          mappings.append((file, try MappedFile(file, in: scene)))
        }
      }
      let scripts = scene.changes.map { "(cd \($0.name)\n\($0.script)\n)" }
      try scene.change(scripts.joined(separator: "\n"), in: scene.bundle)
      if moment == .beforeTheMount { try scene.mount() }
      for (file, descriptor) in opened {
        // First what is still in the kernel's cache, then what is not.
        file.expectOriginalOrErrors(descriptor)
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        file.expectOriginalOrErrors(descriptor)
        close(descriptor)
      }
      let refused = mappings.reduce(0) { $0 + $1.1.expectOriginalOrErrors($1.0) }
      #expect((refused > 0) == (moment == .whileMapped))
      let wasLookedAt = !opened.isEmpty || !mappings.isEmpty
      opened = []
      mappings = []
      try expectNames(scene)
      for file in files { file.expectOriginalOrErrors(in: scene) }
      expectFindings(scene, all: !wasLookedAt)
      try expectModified(scene)
    }
  }

  /// Names, kinds, sizes, modes, times and links are what was installed; new names are refused.
  private func expectNames(_ scene: TamperScene) throws {
    let format = ["-printf", "%P %y %l\\n", "-type", "f", "-printf", "%s %m %T@\\n"]
    let installed = try run("find", [scene.original] + format)
    let shown = try run("find", [scene.view + "/Notes.app"] + format)
    #expect(shown.errorText == "")
    let sorted = [installed, shown].map { Set($0.text.split(separator: "\n")) }
    #expect(sorted[0] == sorted[1])
    for change in scene.changes {
      for name in ["new", "A"] {
        let file = open("\(scene.view)/Notes.app/\(change.name)/\(name)", O_RDONLY | O_CLOEXEC)
        let error = errno
        #expect(file < 0 && [EACCES, ENOENT].contains(error), "\(change.name)/\(name)")
        if file >= 0 { close(file) }
      }
    }
  }

  /// What was found is what was changed; all of it where nothing had been looked at before.
  private func expectFindings(_ scene: TamperScene, all: Bool) {
    let found = Set(scene.findings.split(separator: "\n").map(String.init))
    let expected = Set(
      scene.changes.flatMap { change in
        change.finds.map { find in
          find.hasPrefix("../")
            ? "Notes.app/\(find.dropFirst(3))" : "Notes.app/\(change.name)/\(find)"
        }
      })
    #expect(found.subtracting(expected) == [])
    if all { #expect(expected.subtracting(found) == []) }
  }

  /// It is known, now and later, and keeps the app from being launched.
  private func expectModified(_ scene: TamperScene) throws {
    let status = try scene.installed().sealStatus()
    #expect(status.state == .modified && status.reason?.hasPrefix("Notes.app/") == true)
    #expect(throws: StoreError.self) { try scene.installed().requireLaunchable() }
    let program = try? run(scene.view + "/Notes.app/Notes", [] as [String])
    #expect(program == nil, "it was executed")
    try ViewMounts.unmount(Array(scene.view.utf8))
    #expect(try scene.installed().sealStatus() == status)
    try scene.mount()
    #expect((try? run(scene.view + "/Notes.app/Notes", [] as [String])) == nil, "it was executed")
    try ViewMounts.unmount(Array(scene.view.utf8))
    _ = try scene.store.install(from: Array(scene.original.utf8))
    #expect(try scene.installed().sealStatus().state == .untrusted)
    try scene.mount()
    let files = try SealedFile.all(in: scene.original)
    #expect(files.allSatisfy { $0.expectOriginalOrErrors(in: scene) })
    #expect(try run(scene.view + "/Notes.app/Notes", [] as [String]).text == "1.0\n")
  }

  @Test("only what is in the chunk that was changed is refused")
  func neighbours() throws {
    try withTamperScene { scene in
      try scene.change(
        "printf X | dd of=c bs=1 seek=150000 conv=notrunc status=none",
        in: scene.bundle + "/nothing")
      try scene.mount()
      let path = "nothing/c"
      let file = SealedFile(path: path, bytes: contents("\(scene.original)/\(path)"))
      let descriptor = try #require(file.open(in: scene))
      defer { close(descriptor) }
      // Four pieces of 16 KiB are a chunk; behind the last one is the end.
      #expect(file.expectOriginalOrErrors(descriptor) == (15, 4))
      #expect(scene.findings == "Notes.app/nothing/c has changed\n")
    }
  }
}

/// A change of what is known of a bundle, done in the container's directory.
private struct Forgery: Sendable, CustomTestStringConvertible {
  let name: String
  let script: String
  /// What is said of it.
  let reason: String

  var testDescription: String { name }

  private static let table = "the table of its chunks was changed"
  private static let record = "its record was not written by this host, or was changed"

  static let all = [
    Forgery(
      name: "a byte of the table",
      script: "printf X | dd of=seal/chunks bs=1 seek=60 conv=notrunc status=none", reason: table),
    Forgery(name: "a longer table", script: "printf X >> seal/chunks", reason: table),
    Forgery(
      name: "no table", script: "rm seal/chunks", reason: "the table of its chunks can't be read"),
    Forgery(
      name: "no seal", script: "rm -r seal", reason: "the table of its chunks can't be read"),
    Forgery(
      name: "another program",
      script: "sed -i 's|<string>Notes</string>|<string>evil</string>|' container.plist",
      reason: record),
    Forgery(
      name: "another table, with its digest in the record",
      script: """
        cp -r ../com.example.Other/seal .
        new=$(sed -n '/chunkTable/{n;n;p}' ../com.example.Other/container.plist)
        sed -i "/chunkTable/{n;n;s|.*|$new|}" container.plist
        """, reason: record),
    Forgery(
      name: "another app's record and seal",
      script: """
        cp -r ../com.example.Other/seal ../com.example.Other/container.plist .
        sed -i 's/com.example.Other/com.example.Notes/; s/Other.app/Notes.app/' container.plist
        """, reason: record),
    Forgery(
      name: "the seal taken away",
      script: """
        sed -i -e '/authenticator/,/<.data>/d' -e '/chunkTable/,/<.data>/d' \
          -e 's/ad hoc/unsigned/' container.plist
        """, reason: "it has no seal, as an older version installed it"),
    Forgery(
      name: "the code taken away", script: "sed -i '/authenticator/,/<.data>/d' container.plist",
      reason: record),
    Forgery(
      name: "another key", script: "head -c 32 /dev/urandom > ../../../settings/store.key",
      reason: record),
    Forgery(
      name: "no key", script: "rm ../../../settings/store.key",
      reason: "settings/store.key, by which this host knows its seals, is not there"),
    Forgery(
      name: "a key that all may read", script: "chmod 644 ../../../settings/store.key",
      reason: "settings/store.key is not yours alone: chown it to uid 0 and chmod 600 it, or "
        + "remove it and install all apps again"),
  ]
}

@Suite("A seal that is changed in the store", .enabled(if: geteuid() == 0, "needs root"))
struct ForgedSealTests {
  @Test("is no seal: nothing of the bundle is served", arguments: Forgery.all)
  private func forged(_ forgery: Forgery) throws {
    try withStore { store, path in
      let other = try SampleBundle.flat(
        "Other.app", in: path, identifier: "com.example.Other", version: "2.0")
      _ = try store.install(from: Array(other.path.utf8))
      let bundle = try SampleBundle.flat(in: path)
      _ = try store.install(from: Array(bundle.path.utf8))
      let scene = TamperScene(store: store, path: path, changes: [])
      try scene.change("mkdir '\(scene.view)'", in: path)
      defer { try? LinuxKit.unmount(Array(scene.view.utf8), .detach) }
      let program = scene.view + "/Notes.app/Notes"

      // A view that is mounted has the table in its memory.
      try scene.mount()
      try scene.change(forgery.script, in: scene.container)
      #expect(try run(program, [] as [String]).text == "1.0\n")
      try ViewMounts.unmount(Array(scene.view.utf8))

      let status = try scene.installed().sealStatus()
      #expect(status.state == (forgery.name == "the seal taken away" ? .unsigned : .modified))
      #expect(status.reason?.replacing(path + "/", with: "") == forgery.reason)
      #expect(throws: StoreError.self) { try scene.installed().requireLaunchable() }
      try scene.mount()
      #expect((try? run(program, [] as [String])) == nil, "it was executed")
      for word in ["cat '\(program)'", "ls '\(scene.view)/Notes.app'", "stat '\(program)'"] {
        #expect(try run("sh", ["-c", word]).status != 0, "\(word)")
      }
      #expect(try run("ls", [scene.view]).text.contains("Documents\n"))
    }
  }
}
