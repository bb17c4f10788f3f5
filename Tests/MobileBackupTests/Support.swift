// What the tests of backups share: an app with data of every kind, and a look at all of it.
import BackupFormat
import Containers
import Glibc
import LinuxKit
import MobileBackup
import Policy
import Store
import TestSupport
import Testing

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A store with one app, and the path of a directory for backups.
struct BackupScene {
  let store: Store
  let path: String
  var container: Container

  var data: String { "\(path)/store/containers/\(container.identifier)/data" }
  var backups: String { "\(path)/backups" }

  static func with(_ body: (BackupScene) throws -> Void) throws {
    try withStore { store, path in
      let bundle = try SampleBundle.flat(in: path)
      let identifier = try store.install(from: bytes(bundle.path)).identifier
      let container = try store.container(identifier)
      try body(BackupScene(store: store, path: path, container: container))
    }
  }

  /// Writes a file of the app's.
  func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
    try write(bytes(text), to: bytes(name), mode: mode)
  }

  func write(_ content: [UInt8], to name: [UInt8], mode: mode_t = 0o600) throws {
    let file = try (bytes("\(data)/") + name).withCPath { path throws(Errno) in
      try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: mode).release()
    }
    let descriptor = Descriptor(owning: file)
    try descriptor.writeAll(content)
    #expect(fchmod(file, mode) == 0)
    #expect(fchown(file, container.record.ownerUID, container.record.ownerGID) == 0)
  }

  func makeDirectory(_ name: String) {
    #expect(mkdir("\(data)/\(name)", 0o755) == 0)
    #expect(chown("\(data)/\(name)", container.record.ownerUID, container.record.ownerGID) == 0)
  }

  /// Everything below the data with kind, mode, size, time, owner, target and content, but what
  /// is purged: a line each, in order.
  func listing() throws -> String {
    let script = """
      cd "$0" && find . \\( -path ./tmp -o -path ./Library/Caches \\) -prune -o \
      -printf '%P %y %m %U:%G %l %T@ ' \\( -type f -printf '%s ' -exec md5sum {} \\; \
      -o -printf '\\n' \\) | sort
      """
    let outcome = try run("sh", ["-c", script, data])
    #expect(outcome.status == 0, "\(outcome.errorText)")
    return outcome.text
  }

  var subject: BackupSubject {
    get throws {
      let configuration = try container.viewConfiguration(
        target: [], source: [], transport: .kernel, mountFlags: 0)
      let policy = try PolicyEngine(
        layers: configuration.layers, bundleName: configuration.bundleName)
      return BackupSubject(container: container, policy: policy)
    }
  }

  @discardableResult
  func backUp() throws -> BackupReport {
    let source = BackupSource(
      device: try store.deviceIdentifier(), hostName: "host", programVersion: "test")
    let writer = try BackupWriter(into: bytes(backups), from: source) { _, _ in }
    try writer.add(subject)
    return try writer.commit()
  }

  func restore(_ change: (inout RestoreOptions) -> Void = { _ in }) throws -> RestoreReport {
    var options = RestoreOptions(sourceIdentifier: "\(container.identifier)")
    change(&options)
    let restore = Restore(
      from: try BackupDirectory.open(bytes(backups)), policy: try subject.policy, options
    ) { _, _ in }
    return try store.replaceData(of: container.identifier) { try restore.fill($0) }
  }

  /// Data of every kind that a backup takes in, and of every kind that it does not.
  func fill() throws {
    makeDirectory("Documents/notes")
    makeDirectory("Documents/empty")
    try write("hello\n", to: "Documents/a.txt", mode: 0o640)
    try write(String(repeating: "long ", count: 100_000), to: "Documents/notes/long", mode: 0o444)
    try write(bytes("latin"), to: bytes("Documents/caf") + [0xe9, UInt8(ascii: "%")])
    try write("", to: "Documents/nothing")
    try write("set", to: "Library/Preferences/com.example.Notes.plist")
    try write("cached", to: "Library/Caches/c")
    try write("temporary", to: "tmp/t")
    try write("dot", to: ".history")
    #expect(symlink("../a.txt", "\(data)/Documents/notes/link") == 0)
    let record = container.record
    let link = "\(data)/Documents/notes/link"
    #expect(lchown(link, record.ownerUID, record.ownerGID) == 0)
    #expect(mkfifo("\(data)/Documents/pipe", 0o600) == 0)
    try withFile("Documents/a.txt") { file throws(Errno) in
      try file.setExtendedAttribute(bytes("user.color"), to: bytes("blue"))
    }
    try write("not saved", to: "Documents/marked")
    try withFile("Documents/marked") { file throws(Errno) in
      try file.setExtendedAttribute(ExclusionMark.name, to: ExclusionMark.value)
    }
  }

  func withFile<Result>(
    _ name: String, _ body: (borrowing Descriptor) throws(Errno) -> Result
  ) throws -> Result {
    let file = try bytes("\(data)/\(name)").withCPath { path throws(Errno) in
      try Descriptor.open(path, O_RDONLY).release()
    }
    return try body(Descriptor(owning: file))
  }
}
