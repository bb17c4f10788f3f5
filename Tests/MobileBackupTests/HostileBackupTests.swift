// A backup that somebody made to get out of the container, or to break who reads it.
//
// The rows are written by Python's plistlib and sqlite3, as any tool of strangers would.
import BackupFormat
import Containers
import Glibc
import LinuxKit
import MobileBackup
import Store
import TestSupport
import Testing

/// Adds rows to a backup: `rows` is Python that calls `row(path, flags, …)`.
private let prelude = """
  import hashlib, os, plistlib, sqlite3, sys
  backup = sys.argv[1]
  db = sqlite3.connect(backup + "/Manifest.db")
  domain = "AppDomain-com.example.Notes"
  def row(path, flags=1, content=b"evil", mode=None, size=None, target=None, id=None, **more):
      UID = plistlib.UID
      mode = {1: 0o100644, 2: 0o040755, 4: 0o120777}[flags] if mode is None else mode
      fields = {"Mode": mode, "Size": len(content) if size is None else size, "LastModified": 5,
                "RelativePath": UID(2), "$class": UID(3)}
      objects = ["$null", fields, path.decode("utf-8", "replace"),
                 {"$classname": "MBFile", "$classes": ["MBFile", "NSObject"]}]
      if target is not None:
          fields["Target"] = UID(4); objects.append(target)
      fields.update(more)
      file = plistlib.dumps({"$version": 100000, "$archiver": "NSKeyedArchiver",
                             "$top": {"root": UID(1)}, "$objects": objects},
                            fmt=plistlib.FMT_BINARY)
      name = id or hashlib.sha1(domain.encode() + b"-" + path).hexdigest()
      db.execute("INSERT INTO Files VALUES (?, ?, CAST(? AS TEXT), ?, ?)",
                 (name, domain, path, flags, more.get("raw", file)))
      if flags == 1 and content is not None:
          os.makedirs(backup + "/" + name[:2], exist_ok=True)
          with open(backup + "/" + name[:2] + "/" + name, "wb") as blob: blob.write(content)

  """

@Suite struct HostileBackupTests {
  /// A backup with one good file and these rows.
  private func withRows(
    _ rows: String, _ body: (BackupScene, _ backup: String) throws -> Void
  ) throws {
    try BackupScene.with { scene in
      try scene.write("good", to: "Documents/good")
      try scene.backUp()
      let backup = try "\(scene.backups)/\(scene.store.deviceIdentifier())"
      let outcome = try run("python3", ["-c", prelude + rows + "\ndb.commit()\n", backup])
      #expect(outcome.status == 0, "\(outcome.errorText)")
      try body(scene, backup)
    }
  }

  @Test("What would be outside, or is not what it says, is left out with a reason")
  func leavesOut() throws {
    let rows = """
      for path in [b"../escape", b"/etc/escape", b"Documents/../../escape", b"Documents//x",
                   b"Documents/./x", b"Documents/x/", b"Notes.app/Notes", b"n" * 300]: row(path)
      row(b"Documents/out", 4, target="/etc/passwd")
      row(b"Documents/up", 4, target="../../../etc")
      row(b"Documents/sly", 4, target="a/../../../etc")
      row(b"Documents/chain", 4, target="a/a/../..")
      row(b"Documents/far", 4, target="x" * 5000)
      row(b"d/" * 1100 + b"x")
      row(b"Documents/through", 4, target="deep")
      row(b"Documents/through/file")
      row(b"Documents/lies", size=99)
      row(b"Documents/negative", size=-1)
      row(b"Documents/huge", size=2**62)
      row(b"Documents/device", mode=0o020666)
      row(b"Documents/kind", flags=2, mode=0o100644)
      row(b"Documents/wrong", id="ab" * 20)
      row(b"Documents/flags", mode=0o100644); db.execute(
        "UPDATE Files SET flags = 9 WHERE relativePath = 'Documents/flags'")
      row(b"Documents/archive", raw=b"bplist00nonsense")
      row(b"Documents/digest", Digest=b"x" * 20)
      row(b"Documents/missing", content=None, size=4)
      """
    try withRows(rows) { scene, _ in
      let report = try scene.restore { $0.replaces = true }
      let left = Set(report.remarks.map { String(decoding: $0.path, as: UTF8.self) })
      let expected: Set = [
        "../escape", "/etc/escape", "Documents/../../escape", "Documents//x", "Documents/./x",
        "Documents/x/", "Notes.app/Notes", String(repeating: "n", count: 300), "Documents/out",
        "Documents/up", "Documents/sly", "Documents/chain", "Documents/far",
        String(repeating: "d/", count: 1100) + "x", "Documents/through/file", "Documents/lies",
        "Documents/negative", "Documents/huge", "Documents/device", "Documents/kind",
        "Documents/wrong", "Documents/flags", "Documents/archive", "Documents/digest",
        "Documents/missing",
      ]
      #expect(left == expected)
      #expect(try contents("Documents/good", scene) == "good")
      let outside = try run("find", [scene.path, "-name", "escape*"])
      #expect(outside.text == "")
    }
  }

  @Test("Set-id bits are never set, and links of a device become relative")
  func makesHarmless() throws {
    let home = "/var/mobile/Containers/Data/Application/0F3E2D1C-0000-4000-8000-000000000000"
    let rows = """
      row(b"Documents/setid", mode=0o106777)
      row(b"Documents/deep", 2)
      row(b"Documents/deep/link", 4, target="\(home)/Documents/good")
      row(b"Documents/root", 4, target="/private\(home)")
      row(b"Library/ApplicationSupport/x")
      row(b"Library/Caches/c")
      row(b"tmp/t")
      """
    try withRows(rows) { scene, _ in
      let report = try scene.restore()
      #expect(report.remarks.map(\.path) == [bytes("Library/ApplicationSupport/x")])
      var status = stat()
      #expect(stat("\(scene.data)/Documents/setid", &status) == 0)
      #expect(status.st_mode & 0o7777 == 0o777)
      #expect(status.st_uid == scene.container.record.ownerUID)
      #expect(try contents("Documents/deep/link", scene) == "good")
      #expect(
        try run("readlink", ["\(scene.data)/Documents/deep/link"]).text == "../../Documents/good\n")
      #expect(try run("readlink", ["\(scene.data)/Documents/root"]).text == "..\n")
      #expect(access("\(scene.data)/Library/Caches/c", F_OK) != 0)
      #expect(access("\(scene.data)/tmp/t", F_OK) != 0)
    }
  }

  @Test("The content of a file is never read through a link")
  func followsNothing() throws {
    let rows = """
      row(b"Documents/linked", content=b"root:x")
      name = hashlib.sha1(domain.encode() + b"-Documents/linked").hexdigest()
      os.unlink(backup + "/" + name[:2] + "/" + name)
      os.symlink("/etc/passwd", backup + "/" + name[:2] + "/" + name)
      """
    try withRows(rows) { scene, _ in
      let report = try scene.restore()
      #expect(report.remarks.map(\.path) == [bytes("Documents/linked")])
    }
  }

  @Test(
    "What is no backup, or none that can be read, is said in one line",
    arguments: [
      ("a manifest that is no database", "open(backup + '/Manifest.db', 'wb').write(b'x' * 9000)"),
      ("an empty manifest", "open(backup + '/Manifest.db', 'wb')"),
      ("no table", "db.execute('DROP TABLE Files')"),
      (
        "a schema that would color a terminal",
        "db.execute('PRAGMA writable_schema = 1')\n"
          + "db.execute('UPDATE sqlite_master SET sql = ?', ('CREATE TABLE x(\\x1b[31m\\n',))"
      ),
      (
        "a view in its place",
        "db.execute('DROP TABLE Files'); db.execute('CREATE VIEW Files AS SELECT 1 AS fileID')"
      ),
      (
        "an encrypted one",
        "plistlib.dump({'IsEncrypted': True}, open(backup + '/Manifest.plist', 'wb'))"
      ),
      (
        "a manifest that is a link",
        "os.rename(backup + '/Manifest.db', backup + '/m')\n"
          + "os.symlink('m', backup + '/Manifest.db')"
      ),
    ])
  func refuses(_ label: String, _ rows: String) throws {
    try withRows(rows) { (scene, _) throws in
      let error = #expect(throws: BackupError.self, "\(label)") { try scene.restore() }
      #expect(error?.description.utf8.contains { $0 < 0x20 } == false, "\(label)")
      #expect(try contents("Documents/good", scene) == "good")
    }
  }

  @Test("A manifest with any byte changed gives errors or remarks, and no harm")
  func damage() throws {
    try withRows("") { scene, backup in
      let whole = try run("cat", ["\(backup)/Manifest.db"]).output
      var random = SystemRandomNumberGenerator()
      for _ in 0..<60 {
        var damaged = whole
        for _ in 0..<8 {
          damaged[Int.random(in: 0..<whole.count, using: &random)] = UInt8.random(in: 0...255)
        }
        let file = try bytes("\(backup)/Manifest.db").withCPath { path throws(Errno) in
          try Descriptor.open(path, O_WRONLY | O_TRUNC).release()
        }
        try Descriptor(owning: file).writeAll(damaged)
        _ = try? scene.restore()
        #expect(access("\(scene.data)/Documents", F_OK) == 0)
      }
      #expect(
        try run("find", [scene.path, "-maxdepth", "1"]).text.split(separator: "\n").count < 9)
    }
  }
}
