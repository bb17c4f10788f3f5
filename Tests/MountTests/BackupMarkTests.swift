// The mark that keeps a file out of backups: an app sets it as on iOS, and it stays when the app
// saves the file anew.

import LinuxKit
import TestSupport
import Testing

@Suite struct BackupMarkTests {
  private static let name = "com.apple.metadata:com_apple_backup_excludeItem"

  private func value(_ file: String, _ name: String) throws -> String? {
    let outcome = try run("getfattr", ["--only-values", "--absolute-names", "-n", name, file])
    return outcome.status == 0 ? outcome.text : nil
  }

  @Test func isSetReadAndRemovedUnderBothNames() throws {
    try withMountingScene { scene in
      try scene.mount(rules: "/ read\n/Documents read write backup\n")
      let file = "\(scene.target)/Documents/f"
      #expect(try run("touch", [file]).status == 0)
      let set = try run("setfattr", ["-n", Self.name, "-v", "mark", file])
      #expect(set.status == 0, "\(set.errorText)")
      #expect(try value(file, Self.name) == "mark")
      #expect(try value(file, "user.\(Self.name)") == "mark")
      #expect(try value("\(scene.container)/data/Documents/f", "user.\(Self.name)") == "mark")
      #expect(try run("setfattr", ["-x", Self.name, file]).status == 0)
      #expect(try value(file, "user.\(Self.name)") == nil)
      let long = "com.apple." + String(repeating: "n", count: 245)
      let refused = try run("setfattr", ["-n", long, "-v", "x", file])
      #expect(refused.errorText.contains("Numerical result out of range"), "\(refused.errorText)")
      try scene.unmount()
    }
  }

  @Test func staysWhenTheFileIsReplaced() throws {
    try withMountingScene { scene in
      try scene.mount(rules: "/ read\n/Documents read write backup\n/tmp read write\n")
      let documents = "\(scene.target)/Documents"
      let script = """
        cd '\(documents)'
        echo old > f; setfattr -n \(Self.name) -v mark f
        echo new > ../tmp/.f.tmp; mv ../tmp/.f.tmp f
        echo plain > g; echo newer > g.tmp; mv g.tmp g
        echo kept > h; setfattr -n \(Self.name) -v own h; mv h f
        mkdir d; setfattr -n \(Self.name) -v mark d; mkdir e; mv -T e d
        """
      let done = try run("sh", ["-ec", script])
      #expect(done.status == 0, "\(done.errorText)")
      #expect(try value("\(documents)/f", Self.name) == "own", "a mark of its own stays")
      #expect(try value("\(documents)/g", Self.name) == nil)
      #expect(try value("\(documents)/d", Self.name) == nil, "a directory is no saved file")
      let again = "cd '\(documents)'; echo x > n; mv n f; cat f"
      #expect(try run("sh", ["-ec", again]).text == "x\n")
      #expect(try value("\(documents)/f", Self.name) == "own")
      try scene.unmount()
    }
  }
}
