// What each attribute of a rule promises, on a real mount, beyond the errnos of the table of
// operations.

import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite("The attribute", .serialized, .enabled(if: geteuid() == 0, "needs root"))
struct AttributeTests {
  @Test("hidden: nothing counts what is hidden, and a directory of it is not empty")
  func hiddenIsNotCounted() throws {
    try withMountingScene { scene in
      let data = "\(scene.container)/data/Documents"
      for directory in ["many", "many/a.hid", "many/b.hid", "many/c.hid", "one", "only"] {
        #expect(mkdir("\(data)/\(directory)", 0o700) == 0)
      }
      #expect(mkdir("\(data)/only/x.hid", 0o700) == 0)
      for number in 0..<200 { close(creat("\(data)/many/\(number).hid", 0o600)) }
      try scene.mount(rules: "/ read\n/Documents read write\n*.hid hidden\n")
      let view = "\(scene.target)/Documents"
      var (many, one) = (stat(), stat())
      #expect(stat("\(view)/many", &many) == 0 && stat("\(view)/one", &one) == 0)
      #expect(many.st_nlink == one.st_nlink)
      #expect(many.st_size == one.st_size)
      #expect(many.st_blocks == one.st_blocks)
      let listed = try run("sh", ["-c", "cd '\(view)'; ls -la many | wc -l; find . | sort"])
      #expect(listed.text == "3\n.\n./many\n./one\n./only\n", "\(listed.text)")
      #expect(rmdir("\(view)/only") == -1 && errno == ENOTEMPTY)
      #expect(rmdir("\(view)/one") == 0)

      // Once nothing is hidden, all is as on the disk.
      _ = try scene.setRules("/ read\n/Documents read write\n")
      var (shown, disk) = (stat(), stat())
      #expect(stat("\(view)/many", &shown) == 0 && stat("\(data)/many", &disk) == 0)
      #expect(shown.st_nlink == disk.st_nlink)
      #expect(shown.st_size == disk.st_size)
      try scene.unmount()
    }
  }

  @Test("hidden: places in a listing stay right, whatever is hidden or removed around them")
  func placesInListings() throws {
    try withMountingScene { scene in
      let data = "\(scene.container)/data/Documents/d"
      #expect(mkdir(data, 0o700) == 0)
      for number in 0..<500 {
        // Runs of hidden names that are longer than what one request answers.
        let isHidden = number % 3 == 0 || (100..<400).contains(number)
        close(creat("\(data)/name-\(number)" + (isHidden ? ".hid" : ""), 0o600))
      }
      try scene.mount(rules: "/ read\n/Documents read write\n*.hid hidden\n")
      let view = "\(scene.target)/Documents/d"
      let directory = try #require(opendir(view))
      var entries: [(place: Int, name: String)] = []
      while true {
        let place = telldir(directory)
        guard let name = nextName(directory) else { break }
        entries.append((place, name))
      }
      #expect(entries.count == 2 + 133)
      #expect(!entries.contains { $0.name.hasSuffix(".hid") })
      #expect(Set(entries.map(\.place)).count == entries.count)
      for entry in entries.reversed() {
        seekdir(directory, entry.place)
        #expect(nextName(directory) == entry.name)
      }
      // Of those that are gone now, a later place still leads to what stood there.
      for entry in entries where entry.name.hasSuffix("1") { unlink("\(view)/\(entry.name)") }
      for entry in entries where !entry.name.hasSuffix("1") {
        seekdir(directory, entry.place)
        #expect(nextName(directory) == entry.name)
      }
      closedir(directory)
      try scene.unmount()
    }
  }

  private func nextName(_ directory: OpaquePointer) -> String? {
    guard let entry = readdir(directory) else { return nil }
    return withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
  }

  @Test("audit: what is allowed is logged too; -audit: what is refused is not")
  func audit() throws {
    try withMountingScene { scene in
      let rules = """
        / read
        /Documents read write
        /Documents/seen audit
        /Documents/shut -write
        /Documents/shut/quiet -audit
        """
      let data = "\(scene.container)/data/Documents"
      for directory in ["seen", "shut", "shut/quiet"] {
        #expect(mkdir("\(data)/\(directory)", 0o700) == 0)
      }
      try scene.mount(rules: rules)
      let view = "\(scene.target)/Documents"
      let script = """
        cd '\(view)'
        echo 1 > seen/a; cat seen/a; ls seen; chmod 600 seen/a; mv seen/a seen/b; rm seen/b
        echo 1 > unseen; rm unseen
        mkdir shut/new; mkdir shut/quiet/new
        true
        """
      #expect(try run("sh", ["-c", script]).status == 0)
      try scene.unmount()
      let records = try scene.log().map { record in
        ["operation", "path", "path2", "result"].compactMap { record[$0] }.joined(separator: " ")
      }
      let prefix = "/Documents/seen"
      #expect(
        records == [
          "create \(prefix)/a OK", "read \(prefix)/a OK", "list \(prefix) OK",
          "setattr \(prefix)/a OK",
          "rename \(prefix)/a \(prefix)/b OK", "remove \(prefix)/b OK",
          "create /Documents/shut/new EACCES",
        ])
    }
  }

  @Test("exec: lets what lies there be executed, from the next mount on, and nothing besides")
  func exec() throws {
    let said = try shell(
      """
      mkdir $C/data/Documents/tools
      for f in Documents/tools/t Documents/t; do cp /bin/true $C/data/$f; done
      chown -R --reference=$C/data $C/data/Documents
      try() { "$@" 2> /dev/null; echo "$*: $?"; }
      sandboxfs mount $APP view
      try view/Documents/tools/t
      echo '/Documents/tools exec' | sandboxfs policy set $APP -
      try view/Documents/tools/t
      sandboxfs unmount view
      sandboxfs mount $APP view
      try view/Documents/tools/t; try view/Documents/t; try view/Notes.app/Notes
      mount.sandboxfs $APP second -o noexec
      try second/Documents/tools/t; try second/Notes.app/Notes
      sandboxfs unmount second; sandboxfs unmount view
      try sandboxfs run $APP -- Documents/tools/t; try sandboxfs run $APP -- Documents/t
      sandboxfs policy explain $APP /Documents/tools/t exec | head -1
      sandboxfs policy explain $APP /Documents/t exec | head -1
      sandboxfs mount $APP view
      sandboxfs policy unset $APP
      try view/Documents/tools/t
      """)
    #expect(
      said == """
        view/Documents/tools/t: 126
        set the rules of com.example.Notes; its view follows them
        note: what may be executed outside of the bundle changes at the next mount
        view/Documents/tools/t: 126
        view/Documents/tools/t: 0
        view/Documents/t: 126
        1.0
        view/Notes.app/Notes: 0
        second/Documents/tools/t: 126
        second/Notes.app/Notes: 126
        sandboxfs run com.example.Notes -- Documents/tools/t: 0
        sandboxfs run com.example.Notes -- Documents/t: 126
        exec /Documents/tools/t: allowed
        exec /Documents/t: refused with EACCES
        removed the rules of com.example.Notes; its view follows them
        note: what may be executed outside of the bundle changes at the next mount
        view/Documents/tools/t: 126

        """)
  }

  @Test("read: taken from a link, its target is not read from the kernel's memory either")
  func linksAreForgotten() throws {
    try withMountingScene { scene in
      let open = "/ read\n/Documents read write\n"
      try scene.mount(rules: open)
      let link = "\(scene.target)/Documents/l"
      #expect(symlink("target", link) == 0)
      var buffer = [CChar](repeating: 0, count: 64)
      #expect(readlink(link, &buffer, 64) == 6)
      _ = try scene.setRules(open + "/Documents -read\n")
      #expect(readlink(link, &buffer, 64) == -1 && errno == EACCES)
      _ = try scene.setRules(open)
      #expect(readlink(link, &buffer, 64) == 6)
      try scene.unmount()
    }
  }
}
