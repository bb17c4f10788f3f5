// `sandboxfs defaults` and the frameworks of apps see each other's changes.

import Foundation
import Glibc
import TestSupport
import Testing

extension RunScene {
  /// `sandboxfs defaults VERB`, which must succeed; what it printed.
  @discardableResult
  func defaults(_ words: String..., input: String? = nil) throws -> String {
    let outcome = try perform([program, "defaults"] + words)
    #expect(outcome.status == 0, "\(words): \(outcome.errorText)")
    return outcome.text
  }

  /// The line that `sandboxfs defaults` refuses with.
  func refusedDefaults(_ words: String...) throws -> String {
    let outcome = try perform([program, "defaults"] + words)
    #expect(outcome.status == 1 && outcome.text.isEmpty, "\(words): \(outcome.text)")
    return outcome.errorText
  }

  /// A file in what an app has written: its owner, its mode and its names.
  func look(_ app: String, _ path: String) throws -> (uid: uid_t, mode: mode_t) {
    var status = stat()
    try #require(lstat(data(app, path), &status) == 0, "there is no \(path)")
    return (status.st_uid, status.st_mode & 0o7777)
  }
}

@Suite("Preferences from outside", .enabled(if: geteuid() == 0, "needs root"))
struct DefaultsTests {
  private static let hasGNUstep = isInstalled("gnustep-config") && isInstalled("gcc")
  private static let preferences = "Library/Preferences"

  @Test(
    "GNUstep's NSUserDefaults sees what is written, and what it sets is read",
    .enabled(if: hasGNUstep, "needs gobjc, gnustep-make and libgnustep-base-dev"),
    arguments: RunScene.Person.allCases)
  func gnustep(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let (name, app) = ("Prefs", "org.example.Prefs")
      let bundle = try scene.makeGNUstepBundle(name, program: "GNUstepDefaults")
      // The strictest rules have room for it too.
      let installed = try scene.perform([scene.program, "install", "--profile", "ios", bundle])
      try #require(installed.status == 0, "\(installed.errorText)")
      let executable = "/home/app/\(name).app/\(name)"
      #expect(try scene.refusedDefaults("read", app).contains("no Library/Preferences/Prefs.plist"))
      try scene.defaults("write", app, "from outside", "héllo")
      let first = try scene.run(
        app, [executable, "get", "from outside", "set", "from inside", "été", "sync"])
      #expect(first.text == "héllo\n", "\(first.errorText)")
      #expect(try scene.defaults("read", app, "from inside") == "été\n")
      #expect(
        try scene.defaults("read", app) == """
          {
              "from inside" = "\\U00e9t\\U00e9";
              "from outside" = "h\\U00e9llo";
          }

          """)
      try scene.defaults("delete", app, "from inside")
      let second = try scene.run(app, [executable, "get", "from inside", "get", "from outside"])
      #expect(second.text == "(nil)\nhéllo\n", "\(second.errorText)")
      let owner = person == .root ? try scene.look(app, "tmp").uid : RunScene.uid
      let file = try scene.look(app, Self.preferences + "/Prefs.plist")
      #expect(file.uid == owner && file.mode == 0o600)
      #expect(try scene.traces(of: app).isEmpty)
    }
  }

  @Test(
    "nothing is lost that a running app and 'sandboxfs defaults' change at the same time",
    .enabled(if: hasGNUstep, "needs gobjc, gnustep-make and libgnustep-base-dev"))
  func atOnce() throws {
    try withRunScene(.root) { scene in
      let (name, app) = ("Prefs", "org.example.Prefs")
      try scene.install(scene.makeGNUstepBundle(name, program: "GNUstepDefaults"))
      // It has read its preferences, and has a change that it has not written.
      let run = try BackgroundRun(
        scene.words([
          scene.program, "run", app, "--", "sh", "-c",
          "touch tmp/wait; exec /home/app/Prefs.app/Prefs get a set inside 1 wait tmp/wait sync"
            + " get outside",
        ]), environment: scene.environment)
      try run.wait { run.text.contains("waiting") }
      try scene.defaults("write", app, "outside", "-int", "2")
      // A lock that somebody who has died has left is waited for, and then broken.
      let lock = scene.data(app, Self.preferences + "/.lck/.GNUstepDefaults.lck")
      #expect(mkdir(lock, 0o755) == 0)
      var old = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, lock, &old, 0) == 0)
      try scene.defaults("write", app, "after", "x")
      unlink(scene.data(app, "tmp/wait"))
      _ = try scene.perform([scene.program, "exec", app, "--", "rm", "-f", "tmp/wait"])
      #expect(try run.exitStatus() == 0, "\(run.errorText)")
      #expect(run.text.hasSuffix("2\n"), "\(run.text)")
      #expect(
        try scene.defaults("read", app)
          == "{\n    after = x;\n    inside = 1;\n    outside = 2;\n}\n")
    }
  }

  @Test("Foundation's UserDefaults sees what is written, and what it sets is read")
  func foundation() throws {
    try withRunScene(.root) { scene in
      let (name, app) = ("FoundationDefaults", "org.example.FoundationDefaults")
      try scene.install(
        scene.makeBundle(name) { executable in try scene.compileSwift(name, to: executable) })
      let executable = "/home/app/\(name).app/\(name)"
      try scene.defaults("write", app, "outside", "-array", "-int", "1", "zwei")
      let run = try scene.run(app, [executable, "set", "inside", "drei", "get", "outside"])
      #expect(run.text.contains("1") && run.text.contains("zwei"), "\(run.text)\(run.errorText)")
      #expect(run.text.hasSuffix("synchronized\n"))
      #expect(try scene.defaults("read", app, "inside") == "drei\n")
      #expect(
        try scene.defaults("read", app, "outside", "--json") == "[\n  1,\n  \"zwei\"\n]\n")
      let file = try scene.look(app, Self.preferences + "/\(app).plist")
      #expect(try scene.look(app, "tmp").uid == file.uid)
    }
  }

  @Test(
    "every kind of value is written, exported, imported and deleted", arguments: ["ios", "default"])
  func kinds(_ profile: String) throws {
    try withRunScene(.root) { scene in
      let bundle = try scene.makeBundle("Kinds")
      try #require(
        try scene.perform([scene.program, "install", "--profile", profile, bundle]).status == 0)
      let app = "org.example.Kinds"
      try scene.defaults("write", app, "{ old = gone; }")
      try scene.defaults("write", app, "{ list = (a, b); }")
      try scene.defaults("write", app, "truth", "-bool", "yes")
      try scene.defaults("write", app, "when", "-date", "2024-02-29T12:00:00Z")
      try scene.defaults("write", app, "list", "-array-add", "-float", "1.5")
      try scene.defaults("write", app, "bytes", "-data", "0fbd77")
      try scene.defaults("write", app, "--", "-5", "-string", "--json")
      let want = """
        {
          "list": [
            "a",
            "b",
            1.5
          ],
          "truth": true,
          "when": "2024-02-29T12:00:00Z",
          "bytes": "D713",
          "-5": "--json"
        }

        """
      let json = try scene.defaults("read", "--json", app)
      #expect(json == want)
      let file = scene.path + "/exported.plist"
      let text = try scene.defaults("export", app, "-")
      try scene.defaults("export", app, file)
      #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
      try scene.defaults("delete", app)
      #expect(try scene.refusedDefaults("read", app).contains("there is no"))
      try scene.defaults("import", app, file)
      #expect(try scene.defaults("read", "--json", app) == json)
      try scene.defaults("write", "--domain", "NSGlobalDomain", app, "AppleLanguages", "(fr)")
      #expect(try scene.look(app, Self.preferences + "/.GlobalPreferences.plist").mode == 0o600)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: scene.data(app, Self.preferences))
      #expect(names.allSatisfy { $0.hasSuffix(".plist") }, "\(names)")
    }
  }

  @Test("commands at the same time wait for each other, whoever of them has mounted the view")
  func together() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Together")
      let writes = try (1...8).map { number in
        try BackgroundRun(
          [scene.program, "defaults", "write", app, "k\(number)", "\(number)"],
          environment: scene.environment)
      }
      for write in writes { #expect(try write.exitStatus() == 0, "\(write.errorText)") }
      let lines = try scene.defaults("read", app).split(separator: "\n").dropFirst().dropLast()
      #expect(lines.map(String.init) == (1...8).map { "    k\($0) = \($0);" })
      #expect(try scene.traces(of: app).isEmpty)
    }
  }

  @Test("what an app puts in the place of its preferences leads nowhere")
  func hostile() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Hostile")
      let file = "\(Self.preferences)/\(app).plist"
      let secret = scene.path + "/secret"
      try "{ a = b; }".write(toFile: secret, atomically: true, encoding: .utf8)
      for (script, part) in [
        ("ln -s \(secret) \(file)", "not followed"), ("ln -s /etc/shadow \(file)", "not followed"),
        ("mkfifo \(file)", "not followed"), ("mkdir \(file)", "not followed"),
        ("truncate -s 1T \(file)", "larger than"), ("echo '{ a = ' > \(file)", "no property list"),
        ("echo '(a)' > \(file)", "no dictionary"),
      ] {
        _ = try scene.script(app, "rm -rf \(file); \(script)")
        #expect(try scene.refusedDefaults("read", app).contains(part), "\(script)")
        #expect(try scene.refusedDefaults("write", app, "a", "c").contains(part), "\(script)")
      }
      #expect(try String(contentsOfFile: secret, encoding: .utf8) == "{ a = b; }")
      for domain in ["../../../secret", ".", "", "a/b", String(repeating: "x", count: 250)] {
        let outcome = try scene.perform(
          [scene.program, "defaults", "read", "--domain", domain, app])
        #expect(outcome.status == 2 && outcome.errorText.contains("is no domain"), "\(domain)")
      }
    }
  }
}
