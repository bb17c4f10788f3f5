// Files and directories that are lent to an app: what it can do there, and that nothing else is
// ever lent in their place.

import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// A directory outside of the places that a container has of its own, with `lent` in it that the
/// scene's apps may write in, and `other`, which holds a secret.
private func withLending(_ scene: RunScene, _ body: (String) throws -> Void) throws {
  let place = "/srv/sandboxfs-test-\(UInt32.random(in: 0...UInt32.max))"
  let owner = scene.person == .root ? "root" : "\(RunScene.uid)"
  let made = try run(
    "sh",
    [
      "-ec",
      "umask 0; mkdir -p \(place)/lent/sub \(place)/other; cd \(place); echo lent >lent/f; "
        + "echo secret >other/f; mkdir other/sub; chown -R \(owner) .",
    ])
  try #require(made.status == 0, "\(made.errorText)")
  defer { _ = try? run("rm", ["-rf", "--one-file-system", "--", place]) }
  try body(place)
}

extension RunScene {
  /// A command of `sandboxfs` about grants.
  fileprivate func grants(_ words: String...) throws -> Outcome { try perform([program] + words) }
}

@Suite("What is lent to an app", .enabled(if: geteuid() == 0, "needs root"))
struct RunGrantTests {
  @Test(
    "is at its own path, saved to by rename and never executed, until it is taken back",
    arguments: RunScene.Person.allCases)
  func lending(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let lent = place + "/lent"
        #expect(try scene.grants("grant", app, lent, place + "/other", "--read-only").status == 0)
        #expect(try scene.grants("grant", app, lent).status == 0)
        let outcome = try scene.run(
          app,
          [
            "sh", "-c",
            """
            cd \(place); ls -m; cat lent/f other/f; echo new >lent/g; mv lent/g lent/f; ls -m lent
            (echo >other/f) 2>&1; cp /bin/true lent/x; lent/x; echo $?
            (echo >h) 2>&1; rm lent/x; mv lent ~/lent 2>&1
            grep -c 'x' lent/f
            """,
          ])
        #expect(
          outcome.text == """
            lent, other
            lent
            secret
            f, sub
            sh: 2: cannot create other/f: Read-only file system
            126
            sh: 3: cannot create h: Read-only file system
            mv: cannot create directory '/home/app/lent': Permission denied
            0

            """, "\(outcome.errorText)")
        #expect(try String(contentsOfFile: lent + "/f", encoding: .utf8) == "new\n")
        #expect(try scene.run(app, [lent + "/f"]).status == 126)
        try install(again: scene)
        #expect(try scene.script(app, "cat \(lent)/f") == "new\n", "an update takes nothing back")
        #expect(try scene.grants("revoke", app, lent).status == 0)
        #expect(try scene.script(app, "ls -m \(place)") == "other\n")
        #expect(try scene.grants("revoke", app, lent).status == 1)
        #expect(try scene.grants("revoke", app, "--all").status == 0)
        #expect(try scene.script(app, "ls \(place) 2>/dev/null || echo gone") == "gone\n")
        #expect(try scene.grants("grants").text == "nothing is granted\n")
      }
    }
  }

  private func install(again scene: RunScene) throws {
    try scene.install(scene.makeBundle("Notes"))
  }

  @Test("is lent for once by run, and takes the place of what the record says")
  func once() throws {
    try withRunScene(.ordinaryUser) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let script = ["sh", "-c", "cat f; (echo more >>f) 2>/dev/null || echo read-only"]
        func run(_ word: String) throws -> String {
          let options = ["--with", word, "--cwd", place + "/lent"]
          return try scene.run(app, options: options, script).text
        }
        #expect(try run("\(place)/lent:ro") == "lent\nread-only\n")
        #expect(try scene.grants("grant", app, place + "/lent").status == 0)
        #expect(try run("\(place)/lent:ro") == "lent\nread-only\n")
        #expect(try run("\(place)/lent/f") == "lent\n")
        #expect(try run("\(place)/lent:rw") == "lent\nmore\n")
        #expect(try scene.grants("grants", app).text.split(separator: "\n").count == 2)
        // What is allowed by name is noted beside it.
        let namespace = ["sh", "-c", "unshare -U true 2>/dev/null && echo made"]
        #expect(try scene.grants("grant", app, "--allow", "userns").status == 0)
        #expect(try scene.run(app, namespace).text == "made\n")
        #expect(try scene.grants("revoke", app, "--allow", "userns").status == 0)
        #expect(try scene.run(app, namespace).text == "")
        #expect(try scene.grants("revoke", app, "--allow", "userns").status == 1)
      }
    }
  }

  @Test(
    "has no mount that can be written and executed from, nor what is mounted there later",
    arguments: RunScene.Person.allCases)
  func mounts(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        // A namespace of its own, shared as the first one is where systemd runs.
        let script = """
          mount --make-rshared /; mkdir lent/disk lent/late; chmod 777 lent/disk
          mount -t tmpfs -o mode=777 none lent/disk; chown \(RunScene.uid) lent/disk
          "$@" >out 2>&1 &
          until [ -e lent/ready ]; do kill -0 $! || break; sleep 0.02; done
          mount -t tmpfs none lent/late; touch lent/late/seen lent/go; wait; cat out
          """
        let inside = """
          cp /bin/true \(place)/lent/disk/x; \(place)/lent/disk/x 2>/dev/null || echo refused
          touch \(place)/lent/ready; until [ -e \(place)/lent/go ]; do sleep 0.02; done
          ls \(place)/lent/late; cat /proc/self/mountinfo
          """
        let command = scene.words(
          [scene.program, "run", "--with", place + "/lent", app, "--", "sh", "-c", inside])
        let outcome = try run(
          "unshare", ["-m", "sh", "-c", "cd \(place); " + script, "sh"] + command,
          environment: scene.environment)
        let lines = outcome.text.split(separator: "\n", maxSplits: 1)
        #expect(lines.first == "refused", "\(outcome.text)")
        let entries = MountTable(text: Array((lines.last ?? "").utf8)).entries
        #expect(entries.filter { $0.mountPoint.starts(with: place.utf8) }.count == 2)
        for entry in entries {
          let shown = String(decoding: entry.mountPoint, as: UTF8.self)
          #expect(entry.has("ro") || entry.has("noexec"), "\(shown)")
          #expect(entry.has("nosuid"), "\(shown)")
        }
      }
    }
  }

  @Test("is nothing else that is at its path later", arguments: RunScene.Person.allCases)
  func exchanged(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let (directory, file) = (place + "/lent/sub", place + "/lent/f")
        #expect(try scene.grants("grant", app, directory, file).status == 0)
        let look = "cat \(file) \(directory)/f 2>/dev/null || true"
        #expect(try scene.script(app, look) == "lent\n")
        let rows: [(change: String, back: String, want: String)] = [
          ("mv lent/sub s; ln -s ../other lent/sub", "rm lent/sub; mv s lent/sub", "a symbolic"),
          ("mv lent l; ln -s other lent", "rm lent; mv l lent", "a symbolic link is in the place"),
          ("mv lent/sub s; mkdir lent/sub", "rmdir lent/sub; mv s lent/sub", "another directory"),
          ("mv lent l; mv other lent", "mv lent other; mv l lent", "another"),
          ("mv lent/f f; ln other/f lent/f", "rm lent/f; mv f lent/f", "another file"),
          ("mv lent/f f; ln -s ../other/f lent/f", "rm lent/f; mv f lent/f", "a symbolic link"),
          ("mv lent/sub s; touch lent/sub", "rm lent/sub; mv s lent/sub", "another directory"),
          ("mv lent/sub s", "mv s lent/sub", "No such file"),
        ]
        for row in rows {
          let outcome = try run("sh", ["-ec", "cd \(place); \(row.change)"])
          try #require(outcome.status == 0, "\(outcome.errorText)")
          let refused = try scene.run(app, ["sh", "-c", look])
          #expect(refused.status == 125, "\(row.change)")
          #expect(refused.errorText.contains(row.want), "\(row.change): \(refused.errorText)")
          #expect(refused.text == "", "\(row.change)")
          #expect(try scene.grants("grants", app).text.contains(row.want))
          _ = try run("sh", ["-ec", "cd \(place); \(row.back)"])
        }
        // A program of the lender's saves by rename: that is still the file.
        let owner = person == .root ? "root" : "\(RunScene.uid)"
        _ = try run(
          "sh", ["-ec", "cd \(place)/lent; echo saved >n; chown \(owner) n; mv n f"])
        #expect(try scene.script(app, look) == "saved\n")
      }
    }
  }
}

extension RunGrantTests {
  @Test("is never what is swapped for it while runs begin", arguments: RunScene.Person.allCases)
  func race(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        #expect(try scene.grants("grant", app, place + "/lent/sub").status == 0)
        let script = """
          cd \(place); echo lent >lent/sub/f; echo secret >other/f
          while [ -e \(place)/other/f ]; do
            mv lent/sub s; ln -s ../other lent/sub; rm lent/sub; mv s lent/sub
          done
          """
        let swapper = try BackgroundRun(["sh", "-c", script], environment: scene.environment)
        defer { swapper.end() }
        var seen: Set<String> = []
        for _ in 0..<8 {
          seen.insert(try scene.run(app, ["cat", place + "/lent/sub/f"]).text)
        }
        #expect(seen.isSubset(of: ["lent\n", ""]))
      }
    }
  }

  @Test("inside of something else that is lent is bound past no link that the app has planted")
  func nested() throws {
    try withRunScene(.ordinaryUser) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let lent = place + "/lent"
        #expect(try scene.grants("grant", app, lent).status == 0)
        #expect(try scene.grants("grant", app, lent + "/sub", "-r").status == 0)
        let write = "(echo x >\(lent)/sub/x) 2>/dev/null || echo read-only; echo y >\(lent)/y"
        #expect(try scene.script(app, write) == "read-only\n")
        #expect(
          try scene.script(app, "mv \(lent)/sub \(lent)/moved 2>&1 || true").contains("busy"))
        // From beside, as another run without the second grant could.
        let planted = "mv \(lent)/sub \(lent)/moved; ln -s ~/Documents \(lent)/sub"
        #expect(
          try scene.run(app, options: ["--with", lent + "/sub"], ["sh", "-c", planted]).status
            != 125)
        _ = try run("sh", ["-c", "cd \(lent); mv sub moved; ln -s /home/app/Documents sub"])
        let refused = try scene.run(app, ["true"])
        #expect(refused.status == 125)
        #expect(refused.errorText.contains("\(lent)/sub: a symbolic link"))
      }
    }
  }

  @Test("alone as a file can be written, and not be replaced: so programs that save by rename say")
  func singleFile() throws {
    try withRunScene(.ordinaryUser) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let file = place + "/lent/f"
        #expect(try scene.grants("grant", app, file).status == 0)
        let said = try scene.script(
          app,
          """
          cd \(place)/lent; ls -m; echo written >f; cat f
          sed -i s/w/W/ f 2>&1 || true; echo new >/tmp/n; mv -f /tmp/n f 2>&1 || true
          python3 -c 'import os; open("/tmp/n", "w").close(); os.rename("/tmp/n", "f")' 2>&1 |
            tail -n 1
          rm -f f 2>&1 || true; cat f
          """)
        #expect(
          said == """
            f
            written
            sed: couldn't open temporary file ./sed\(said.matching(/\.\/sed(\w+)/)): \
            Read-only file system
            mv: inter-device move failed: '/tmp/n' to 'f'; unable to remove target: \
            Read-only file system
            OSError: [Errno 18] Invalid cross-device link: '/tmp/n' -> 'f'
            rm: cannot remove 'f': Read-only file system
            written

            """)
      }
    }
  }

  @Test("is nothing that the lender may not use, and nothing that all apps depend on")
  func refusals() throws {
    try withRunScene(.ordinaryUser) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        // Nothing of this is done to what a link leads to.
        let made = try run(
          "sh",
          [
            "-ec",
            "cd \(place)/lent; mkfifo fifo; mkdir -m 700 shut; mkdir -m 755 others view; "
              + "mkdir -m 700 ../hidden; echo secret >../hidden/f; ln -s ../hidden/f link; "
              + "chown \(RunScene.uid) view",
          ])
        try #require(made.status == 0, "\(made.errorText)")
        let view = place + "/lent/view"
        #expect(try scene.grants("mount", app, view).status == 0)
        defer { _ = try? scene.perform([scene.program, "unmount", view]) }
        let rows: [(String, String)] = [
          ("/root", "Permission denied"),
          (place + "/lent/shut", "you can't lend what you may not use yourself: Permission denied"),
          (place + "/lent/others", "Permission denied; --read-only lends less"),
          (place + "/lent/link", "Permission denied"), (place + "/lent/fifo", "only files and"),
          ("/dev/null", "inside, /dev is the container's own"),
          (scene.store, "inside, /tmp is the container's own"), ("/", "the container's own"),
          ("/home", "inside, /home/app is the container's own"), ("/proc/self", "/proc is the"),
          (view, "a file system of type fuse.sandboxfs is mounted at \(view)"),
          (place + "/lent", "a file system of type fuse.sandboxfs is mounted at \(view)"),
          (place + "/none", "No such file or directory"),
        ]
        for (path, want) in rows {
          let outcome = try scene.grants("grant", app, path)
          #expect(outcome.status == 1, "\(path)")
          #expect(outcome.errorText.contains(want), "\(path): \(outcome.errorText)")
          #expect(outcome.errorText.split(separator: "\n").count == 1)
        }
        let empty = try scene.grants("grant", app, "")
        #expect(empty.status == 2 && empty.errorText == "sandboxfs grant: PATH is empty\n")
        #expect(try scene.grants("grants").text == "nothing is granted\n")
        #expect(try scene.run(app, options: ["--with", "/root"], ["true"]).status == 125)
      }
    }
  }

  @Test("is not the store nor the settings, by whatever path or mount they are reached")
  func privatePlaces() throws {
    try withRunScene(.root) { scene in
      try withLending(scene) { place in
        let app = try scene.installScript("Notes")
        let moved = place + "/lent/deep/store"
        let script = """
          try() { "$1" grant "$2" "$3" 2>&1 | sed 's/.*can.t be lent: //'; }
          mkdir -p \(moved) \(place)/config
          mount --bind '\(scene.store)' \(moved)
          for path in \(moved) \(moved)/containers \(place)/lent; do try "$@" $path; done
          umount \(moved); export SANDBOXFS_SETTINGS=\(place)/config/none/yet
          try "$@" \(place)/config
          """
        let outcome = try scene.perform(
          ["unshare", "-m", "sh", "-c", script, "sh", scene.program, app])
        let refusal = "\(scene.store), which is no app's business, is there"
        #expect(
          outcome.text == """
            \(refusal)
            \(refusal)
            \(scene.store) is mounted at \(moved)
            \(place)/config/none/yet, which is no app's business, is there

            """)
      }
    }
  }
}

extension String {
  /// What the first group of a pattern matches first.
  fileprivate func matching(_ pattern: Regex<(Substring, Substring)>) -> Substring {
    firstMatch(of: pattern)?.1 ?? ""
  }
}
