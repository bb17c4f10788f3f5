// An installed bundle and every kind of change that who can write the store might make in it.

import Containers
import Glibc
import LinuxKit
import Mounting
import Paths
import Store
import TestSupport
import Testing

/// A bundle in which every kind of change has a directory of its own.
struct TamperScene {
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
struct Change: Sendable, CustomTestStringConvertible {
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
    Change(
      "the-seal",
      "printf X | dd of=../_CodeSignature/CodeResources bs=1 seek=90 conv=notrunc status=none",
      finds: ["../_CodeSignature/CodeResources has changed"]),
    Change(
      "the-signature",
      "printf X | dd of=../_CodeSignature/CodeSignature bs=1 seek=90 conv=notrunc status=none",
      finds: ["../_CodeSignature/CodeSignature has changed"]),
    Change("attributes", "setfattr -n user.x -v y a 2> /dev/null || true", finds: []),
  ]
}

/// Signs a bundle, as somebody whom nobody trusts.
private func sign(_ bundle: SampleBundle, in directory: String) throws {
  let (key, certificate) = (Array("\(directory)/key".utf8), Array("\(directory)/pem".utf8))
  try DeveloperKey.create(key: key, certificate: certificate, name: "Jane", days: 2)
  let identity = try SigningIdentity(key: key, certificate: certificate)
  _ = try BundleDirectory.open(Array(bundle.path.utf8)).seal(identity: identity)
}

/// Installs the bundle, signed, after `prepare` has added to it; nothing is mounted yet.
func withTamperScene(
  changes: [Change] = Change.all, prepare: (SampleBundle) throws -> Void = { _ in },
  _ body: (TamperScene) throws -> Void
) throws {
  try withStore { store, path in
    let bundle = try SampleBundle.flat(in: path)
    let made = try run(
      "bash",
      [
        "-ec",
        """
        umask 022; cd '\(bundle.path)'; mkdir '\(path)/view'
        [ $# -gt 0 ] || exit 0
        for name; do mkdir $name $name/x $name/y; : > $name/e; ln -s a $name/l; done
        awk 'BEGIN {
          for (k = 1; k < ARGC; k++) for (f = split("a b c x/f y/f", files, " "); f > 0; f--) {
            path = ARGV[k] "/" files[f]
            for (line = 1; line < 4000; line++) printf "%s %58d\\n", path, line > path
            close(path)
          }
        }' "$@"
        truncate -s 229376 */[abc] */?/f
        """, "bash",
      ] + changes.map(\.name))
    try #require(made.status == 0, "\(made.errorText)")
    try prepare(bundle)
    try sign(bundle, in: path)
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
struct SealedFile {
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

/// A file of the bundle that is mapped into memory, of which one page was looked at.
final class MappedFile {
  private static let pageByteCount = 4096

  private let start: UnsafeMutableRawPointer
  private let byteCount: Int
  /// The kernel copies here what is mapped: where it can't, that is an error and no signal.
  private let copy: Descriptor

  init(_ file: SealedFile, in scene: TamperScene) throws {
    let descriptor = try #require(file.open(in: scene))
    defer { close(descriptor) }
    byteCount = file.bytes.count
    let start = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
    try #require(start != MAP_FAILED)
    self.start = try #require(start)
    copy = try Descriptor.memory(holding: [])
    #expect(page(at: 0) == Array(file.bytes.prefix(Self.pageByteCount)))
  }

  deinit { munmap(start, byteCount) }

  /// Looks at every page: how many there are that can't be looked at, in the place of others.
  func expectOriginalOrErrors(_ file: SealedFile) -> Int {
    var refused = 0
    for offset in stride(from: 0, to: byteCount, by: Self.pageByteCount) {
      let page = page(at: offset)
      let isOriginal = page == Array(file.bytes[offset...].prefix(Self.pageByteCount))
      #expect(isOriginal || (page == nil && offset > 0), "\(file.path) at \(offset)")
      if page == nil { refused += 1 }
    }
    return refused
  }

  /// The bytes of a page; nil if looking at it would be a bus error.
  private func page(at offset: Int) -> [UInt8]? {
    let count = min(Self.pageByteCount, byteCount - offset)
    let copied = pwrite(copy.rawValue, start + offset, count, 0)
    if copied < 0 && errno == EFAULT { return nil }
    #expect(copied == count)
    var bytes = [UInt8](repeating: 0, count: count)
    #expect(pread(copy.rawValue, &bytes, count, 0) == count)
    return bytes
  }
}

/// What is in a file; nothing if it can't be read.
func contents(_ path: String) -> [UInt8] {
  (try? Descriptor.open(path, O_RDONLY).readToEnd(atMost: 1 << 24)) ?? []
}
