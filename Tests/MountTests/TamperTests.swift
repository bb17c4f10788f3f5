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

/// A bundle in which every kind of change has a directory of its own.
private struct TamperScene {
  let store: Store
  let path: String
  let changes: [Change]

  var container: String { path + "/store/containers/com.example.Notes" }
  var bundle: String { container + "/bundle/Notes.app" }
  var view: String { path + "/view" }
  /// The bundle as it was before it was installed, which nobody changes.
  var original: String { path + "/Notes.app" }

  func installed() throws -> Container {
    try store.container(try #require(BundleIdentifier("com.example.Notes")))
  }

  func mount() throws {
    try ViewMounts.mount(try installed(), at: Array(view.utf8))
  }

  /// What is in `seal/modified`.
  var findings: String { String(decoding: contents(container + "/seal/modified"), as: UTF8.self) }

  /// Runs a script in the store's bundle, or in the container.
  func change(_ script: String, in directory: String) throws {
    let outcome = try run("bash", ["-ec", "cd '\(directory)'\n" + script])
    try #require(outcome.status == 0, "\(script): \(outcome.errorText)")
  }
}

/// One change, done in a directory with the files `a`, `b` and `c`, of 3.5 chunks and other bytes
/// each, the empty `e`, the directories `x` and `y` with an `f` each, and the link `l` to `a`.
private struct Change: Sendable, CustomTestStringConvertible {
  let name: String
  let script: String
  /// What must be noticed by who reads all of it; nothing if what is served is all the same.
  let finds: [String]

  var testDescription: String { name }

  init(_ name: String, _ script: String, finds: [String]) {
    self.name = name
    self.script = script
    self.finds = finds
  }

  private static func byte(_ name: String, at offset: Int) -> Change {
    Change(
      name, "printf X | dd of=a bs=1 seek=\(offset) conv=notrunc status=none",
      finds: ["a has changed"])
  }

  static let all = [
    Change("nothing", "true", finds: []),
    byte("first-byte", at: 0), byte("second-chunk", at: 65_536), byte("middle", at: 150_000),
    byte("last-byte", at: 229_375),
    Change("shorter", "truncate -s -1 a", finds: ["a has changed"]),
    Change("much-shorter", "truncate -s 65536 a", finds: ["a has changed"]),
    Change("emptied", ": > a", finds: ["a has changed"]),
    Change("longer", "printf X >> a", finds: ["a has changed"]),
    Change("filled", ": > e; printf X > e", finds: ["e has changed"]),
    Change("a-hole", "truncate -s 0 a; truncate -s 229376 a", finds: ["a has changed"]),
    Change("swapped", "mv a t; mv b a; mv t b", finds: ["a has changed", "b has changed"]),
    Change("replaced", "cp b t; mv t a", finds: ["a has changed"]),
    Change("replaced-by-the-same", "cp -p a t; mv t a", finds: []),
    Change("a-link", "rm a; ln -s b a", finds: ["a has changed"]),
    Change("a-link-out", "rm a; ln -s /etc/passwd a", finds: ["a has changed"]),
    Change("a-hard-link", "ln -f b a", finds: ["a has changed"]),
    Change("a-hard-link-to-elsewhere", "ln -f a ../../../elsewhere", finds: []),
    Change("a-directory", "rm a; mkdir a", finds: ["a has changed"]),
    Change("a-pipe", "rm a; mkfifo a", finds: ["a has changed"]),
    Change("the-inode-again", "rm a; cp b a", finds: ["a has changed"]),
    Change("added", "cp b new", finds: ["new was added"]),
    Change("an-added-link", "ln -s b new", finds: ["new was added"]),
    Change("an-added-directory", "mkdir new; cp b new", finds: ["new was added"]),
    Change("removed", "rm a", finds: ["a is missing"]),
    Change("a-removed-directory", "rm -r x", finds: ["x/f is missing"]),
    Change("renamed", "mv a new", finds: ["a is missing", "new was added"]),
    Change("case", "mv a A", finds: ["a is missing", "A was added"]),
    Change(
      "swapped-directories", "mv x t; mv y x; mv t y",
      finds: ["x/f has changed", "y/f has changed"]),
    Change("a-directory-as-a-link", "rm -r x; ln -s y x", finds: ["x/f is missing"]),
    Change(
      "forged-times",
      "t=$(stat -c %y a); printf X | dd of=a bs=1 conv=notrunc status=none; touch -d \"$t\" a",
      finds: ["a has changed"]),
    Change("modes", "chmod 0 a; chmod 777 b; chmod 700 x", finds: []),
    Change("owners", "chown 1:1 a b x", finds: []),
    Change("another-link", "ln -sfn b l", finds: []),
    Change("attributes", "setfattr -n user.x -v y a 2> /dev/null || true", finds: []),
  ]
}

private func withTamperScene(_ body: (TamperScene) throws -> Void) throws {
  try withStore { store, path in
    let bundle = try SampleBundle.flat(in: path)
    let changes = Change.all
    let made = try run(
      "bash",
      [
        "-ec",
        """
        umask 022; cd '\(bundle.path)'; mkdir '\(path)/view'
        for name in \(changes.map(\.name).joined(separator: " ")); do
          mkdir $name $name/x $name/y; cd $name
          for file in a b c x/f y/f; do
            seq -f "$name/$file %.0f" 20000 | head -c 229376 > $file || true
          done
          : > e; ln -s a l; cd ..
        done
        """,
      ])
    try #require(made.status == 0, "\(made.errorText)")
    _ = try store.install(from: Array(bundle.path.utf8))
    let scene = TamperScene(store: store, path: path, changes: changes)
    defer {
      if (try? ViewMounts.unmount(Array(scene.view.utf8))) == nil {
        try? LinuxKit.unmount(Array(scene.view.utf8), .detach)
      }
    }
    try body(scene)
  }
}

/// A file of the bundle, and what was in it.
private struct SealedFile {
  /// Below the bundle.
  let path: String
  let bytes: [UInt8]

  /// All of a bundle's.
  static func all(in bundle: String) throws -> [SealedFile] {
    let found = try run("find", [bundle, "-type", "f", "-printf", "%P\\n"]).text
    return found.split(separator: "\n").map { path in
      SealedFile(path: String(path), bytes: contents("\(bundle)/\(path)"))
    }
  }

  /// The errors that are acceptable in the place of the bytes.
  private static let refusals = [EIO, EACCES]
  private static let pieceByteCount = 16_384

  /// Opens it in a view; nil if that is refused.
  func open(in scene: TamperScene) -> CInt? {
    let file = Glibc.open("\(scene.view)/Notes.app/\(path)", O_RDONLY | O_CLOEXEC)
    if file >= 0 { return file }
    let error = errno
    #expect(Self.refusals.contains(error), "\(path): \(String(cString: strerror(error)))")
    return nil
  }

  /// Reads all of it, piece by piece: how many there were, and how many of them were refused.
  @discardableResult
  func expectOriginalOrErrors(_ file: CInt) -> (pieces: Int, refused: Int) {
    var status = stat()
    #expect(fstat(file, &status) == 0 && status.st_size == bytes.count, "\(path): its size")
    var buffer = [UInt8](repeating: 0, count: Self.pieceByteCount)
    var result = (pieces: 0, refused: 0)
    for offset in stride(from: 0, through: bytes.count, by: Self.pieceByteCount) {
      let count = pread(file, &buffer, buffer.count, offset)
      let error = errno
      result.pieces += 1
      if count < 0 {
        result.refused += 1
        #expect(Self.refusals.contains(error), "\(path): \(String(cString: strerror(error)))")
        continue
      }
      let end = min(offset + Self.pieceByteCount, bytes.count)
      // What is served before a page that is refused is less than was asked for.
      if count < end - offset {
        result.refused += 1
        #expect(pread(file, &buffer, 1, offset + count) == -1, "\(path) ends at \(offset + count)")
        _ = pread(file, &buffer, buffer.count, offset)
      }
      let isSame = bytes[offset..<(offset + count)].withUnsafeBytes {
        count == 0 || memcmp(buffer, $0.baseAddress.unsafelyUnwrapped, count) == 0
      }
      #expect(isSame, "\(path) at \(offset)")
    }
    return result
  }

  /// Reads it by a new descriptor; false if any of it was refused.
  @discardableResult
  func expectOriginalOrErrors(in scene: TamperScene) -> Bool {
    guard let file = open(in: scene) else { return false }
    defer { close(file) }
    return expectOriginalOrErrors(file).refused == 0
  }
}

@Suite("A bundle that is changed in the store", .enabled(if: geteuid() == 0, "needs root"))
struct TamperTests {
  /// When a bundle is changed.
  enum Moment: String, CaseIterable {
    case beforeTheMount, whileUnread, afterItWasRead, whileInUse
  }

  @Test("is served as it was installed, or not at all", arguments: Moment.allCases)
  func served(_ moment: Moment) throws {
    try withTamperScene { scene in
      if moment != .beforeTheMount { try scene.mount() }
      let files = try SealedFile.all(in: scene.original)
      var opened: [(SealedFile, CInt)] = []
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
      for change in scene.changes {
        try scene.change(change.script, in: scene.bundle + "/" + change.name)
      }
      if moment == .beforeTheMount { try scene.mount() }
      for (file, descriptor) in opened {
        // First what is still in the kernel's cache, then what is not.
        file.expectOriginalOrErrors(descriptor)
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        file.expectOriginalOrErrors(descriptor)
        close(descriptor)
      }
      let wasLookedAt = !opened.isEmpty
      opened = []
      try expectNames(scene)
      for file in files { file.expectOriginalOrErrors(in: scene) }
      expectFindings(scene, all: !wasLookedAt)
      try expectModified(scene)
    }
  }

  /// Names, kinds, sizes, modes, times and links are what was installed; new names are refused.
  private func expectNames(_ scene: TamperScene) throws {
    // The seal was made at the install.
    let format = [
      "-name", "_CodeSignature", "-prune", "-o", "-printf", "%P %y %l\\n", "-type", "f", "-printf",
      "%s %m %T@\\n",
    ]
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
      scene.changes.flatMap { change in change.finds.map { "Notes.app/\(change.name)/\($0)" } })
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
    #expect(try scene.installed().sealStatus().state == .adHoc)
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

/// What is in a file; nothing if it can't be read.
private func contents(_ path: String) -> [UInt8] {
  (try? Descriptor.open(path, O_RDONLY).readToEnd(atMost: 1 << 24)) ?? []
}
