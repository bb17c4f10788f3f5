// Programs that none of us wrote read what we write, with the right bytes and modes.
import Glibc
import Store
import TestSupport
import Testing

/// Reads a backup with each of them, and prints what differs from what is expected.
private let readers = """
  import hashlib, json, os, subprocess, sys
  backups, device, out = sys.argv[1:4]
  backup = os.path.join(backups, device)
  binaries = os.path.dirname(sys.executable)
  expected = json.loads(sys.argv[4])
  app = "com.example.Notes"
  def check(who, path, content):
      if content != expected[path].encode(): print(who, path, content[:40])

  from pyiosbackup import Backup
  Backup.from_path(backup).unback(out + "/pyiosbackup")
  for path in expected:
      with open(f"{out}/pyiosbackup/AppDomain-{app}/{path}", "rb") as file:
          check("pyiosbackup", path, file.read())

  from iOSbackup import iOSbackup
  reader = iOSbackup(udid=device, backuproot=backups)
  for path in expected:
      info = reader.getFileDecryptedCopy(relativePath=path, targetFolder=out, targetName="copy")
      with open(out + "/copy", "rb") as file: check("iOSbackup", path, file.read())
      if info["mode"] != 0o100640: print("iOSbackup", path, oct(info["mode"]))

  from ibackupy import Backup as Other
  found = {file["relativePath"]: file["path"] for file in Other(backups).get_files(app=app)}
  for path in expected:
      with open(found[path], "rb") as file: check("ibackupy", path, file.read())

  subprocess.run([binaries + "/mvt-ios", "--disable-update-check",
                  "--disable-indicator-update-check", "check-backup", "-o", out + "/mvt", backup],
                 check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
  listed = {file["relative_path"]: file for file in json.load(open(out + "/mvt/manifest.json"))}
  for path in expected:
      if listed[path]["mode"] != "0o100640": print("mvt", path, listed[path]["mode"])
      if not listed[path]["modified"].startswith("2001-09-09 01:46:40"):
          print("mvt", path, listed[path]["modified"])
  print("read")
  """

@Suite struct OtherReadersTests {
  private static let hasPackages =
    (try? run("pip", ["download", "--no-deps", "-q", "-d", "/dev/shm", "six"]).status) == 0

  @Test(
    "pyiosbackup, iOSbackup, ibackupy and mvt read what we write",
    .enabled(if: hasPackages, "no Python packages can be had here"))
  func read() throws {
    try BackupScene.with { scene in
      let files = ["Documents/a.txt": "hello", "Library/Preferences/x.plist": "settings"]
      for (name, content) in files {
        try scene.write(content, to: name, mode: 0o640)
        var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec()]
        times[1] = times[0]
        #expect(utimensat(AT_FDCWD, "\(scene.data)/\(name)", times, 0) == 0)
      }
      try scene.backUp()
      let environment = "\(scene.path)/python"
      let setUp = try run(
        "sh",
        [
          "-c",
          "python3 -m venv \"$0\" && \"$0/bin/pip\" -q install pyiosbackup iOSbackup ibackupy mvt",
          environment,
        ], timeoutSeconds: 300)
      try #require(setUp.status == 0, "\(setUp.errorText)")
      #expect(mkdir("\(scene.path)/out", 0o700) == 0)
      let expected =
        "{" + files.map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ") + "}"
      let outcome = try run(
        "\(environment)/bin/python3",
        [
          "-c", readers, scene.backups, scene.store.deviceIdentifier(), "\(scene.path)/out",
          expected,
        ])
      #expect(outcome.text == "read\n", "\(outcome.errorText)")
    }
  }
}
