// Lines of mountinfo, and the table that they make.

import LinuxKit
import Testing

@Suite struct MountTableTests {
  struct Row: CustomTestStringConvertible {
    let label: String
    let line: String
    let mountPoint: String?
    let source: String
    let device: String
    var testDescription: String { label }
  }

  @Test(
    "a line of mountinfo is read with its escapes undone once",
    arguments: [
      Row(
        label: "a view",
        line: "67 43 0:43 / /mnt/m rw,nosuid - fuse.sandboxfs com.example.Notes rw,user_id=0",
        mountPoint: "/mnt/m", source: "com.example.Notes", device: "0:43"),
      Row(
        label: "blank, tab, line feed and backslash",
        line: #"67 43 0:43 / /a\040b\011c\012d\134040 rw - fuse.x /srv/My\040Apps rw"#,
        mountPoint: "/a b\tc\nd\\040", source: "/srv/My Apps", device: "0:43"),
      Row(
        label: "several optional fields",
        line: "67 43 254:1 /x /y rw shared:1 master:2 propagate_from:3 unbindable - ext4 /dev/a rw",
        mountPoint: "/y", source: "/dev/a", device: "254:1"),
      Row(
        label: "digits that are no byte stay",
        line: #"67 43 0:4 / /a\777\8\04 rw - tmpfs none rw"#,
        mountPoint: #"/a\777\8\04"#, source: "none", device: "0:4"),
      Row(
        label: "no dash", line: "67 43 0:43 / /y rw fuse.x a rw", mountPoint: nil, source: "",
        device: ""),
      Row(
        label: "cut short", line: "67 43 0:43 / /y rw - fuse.x", mountPoint: nil, source: "",
        device: ""),
      Row(
        label: "no number", line: "x 43 0:43 / /y rw - fuse.x a rw", mountPoint: nil, source: "",
        device: ""),
      Row(label: "empty", line: "", mountPoint: nil, source: "", device: ""),
    ])
  func lines(_ row: Row) {
    let entry = MountEntry(line: Array(row.line.utf8))
    #expect(entry?.mountPoint == row.mountPoint.map { Array($0.utf8) })
    guard let entry else { return }
    #expect(entry.source == Array(row.source.utf8))
    #expect(entry.device.description == row.device)
  }

  @Test("of two mounts at one place the later is on top, and children are known by their parent")
  func table() {
    let table = MountTable(
      text: Array(
        """
        1 0 8:1 / / rw - ext4 /dev/a rw
        2 1 0:5 / /m rw,noexec - fuse.sandboxfs a rw,user_id=7
        3 2 0:5 /N.app /m/N.app ro - fuse.sandboxfs a rw
        4 2 0:6 / /m rw - tmpfs t rw
        nonsense

        """.utf8))
    #expect(table.entries.map(\.id) == [1, 2, 3, 4])
    #expect(table.topmost(at: Array("/m".utf8))?.id == 4)
    #expect(table.topmost(at: Array("/n".utf8)) == nil)
    #expect(table.children(of: table.entries[1]).map(\.id) == [3, 4])
    #expect(table.entries[1].has("noexec"))
    #expect(!table.entries[1].has("exec"))
    #expect(table.entries[1].superValue(of: "user_id") == Array("7".utf8))
    #expect(table.entries[1].superValue(of: "user") == nil)
  }

  @Test("the caller's own table has a root")
  func own() throws {
    let table = try MountTable.read()
    #expect(table.topmost(at: Array("/".utf8)) != nil)
  }
}
