// What the files and the display of a container say, and what bubblewrap reports.

import Testing

@testable import Launch

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

@Suite("The files that exist only in a container")
struct OwnFileTests {
  @Test(
    "passwd and group name the app and nobody, once each",
    arguments: [
      (
        UInt32(0x7000_0001), UInt32(0x7000_0001),
        "app:x:1879048193:1879048193:App:/home/app:/bin/sh\n"
          + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "app:x:1879048193:\nnogroup:x:65534:\n"
      ),
      (
        UInt32(65534), UInt32(65534), "app:x:65534:65534:App:/home/app:/bin/sh\n", "app:x:65534:\n"
      ),
    ])
  func accounts(_ row: (uid: UInt32, gid: UInt32, passwd: String, group: String)) {
    let accounts = Accounts(uid: row.uid, gid: row.gid, home: Array("/home/app".utf8))
    #expect(text(accounts.passwd) == row.passwd)
    #expect(text(accounts.group) == row.group)
  }

  @Test("GNUstep.conf is the host's, with the lines of a user replaced")
  func gnustep() {
    let host = """
      # a comment
      GNUSTEP_MAKEFILES=/usr/share/GNUstep/Makefiles
      GNUSTEP_USER_DEFAULTS_DIR=GNUstep/Defaults
       GNUSTEP_USER_DIR_LIBRARY=GNUstep/Library
      GNUSTEP_USER_CONFIG_FILE=.GNUstep.conf
      """
    let lines = text(GNUstepConfiguration.text(host: Array(host.utf8))).split(separator: "\n")
    #expect(
      lines.prefix(3) == [
        "# a comment", "GNUSTEP_MAKEFILES=/usr/share/GNUstep/Makefiles",
        "GNUSTEP_USER_CONFIG_FILE=.GNUstep.conf",
      ])
    for want in [
      "GNUSTEP_USER_DEFAULTS_DIR=Library/Preferences", "GNUSTEP_USER_DIR_APPS=",
      "GNUSTEP_USER_DIR_LIBRARY=Library",
    ] {
      #expect(lines.count { $0 == want } == 1, "\(want)")
    }
    #expect(!lines.contains { $0.contains("=GNUstep/") })
  }
}

@Suite("The X display of a container")
struct DisplayTests {
  @Test(
    "is a local one",
    arguments: [
      (":77", ":77.0"), (":77.0", ":77.0"), (":0.1", ":0.1"),
      ("unix:3", ":3.0"), ("", nil), (":", nil), (":x", nil), ("host:0", nil),
      (":1.x", nil), ("unix:/tmp/s", nil), (":-1", nil), (":99999999999", nil), (":1.2.3", nil),
    ] as [(String, String?)])
  func names(_ row: (text: String, inside: String?)) {
    #expect(Display(Array(row.text.utf8)).map { text($0.valueInside) } == row.inside)
  }

  private func key(_ family: UInt8, _ number: String, _ data: UInt8, host: String = "h") -> [UInt8]
  {
    func field(_ bytes: [UInt8]) -> [UInt8] { [0, UInt8(bytes.count)] + bytes }
    let familyBytes = family == 255 ? [255, 255] : [1, family]
    return familyBytes + field(Array(host.utf8)) + field(Array(number.utf8))
      + field(Array("MIT-MAGIC-COOKIE-1".utf8)) + field([data])
  }

  private func wild(_ data: UInt8) -> [UInt8] {
    [255, 255, 0, 0, 0, 0, 0, 18] + Array("MIT-MAGIC-COOKIE-1".utf8) + [0, 1, data]
  }

  @Test("gets the one key that is for it, for any host and number")
  func keys() throws {
    let display = try #require(Display(Array(":77".utf8)))
    let rows: [(String, [UInt8], [UInt8])] = [
      ("no file", [], []),
      ("another display's", key(0, "7", 1), []),
      ("the second", key(0, "7", 1) + key(0, "77", 2), wild(2)),
      ("one for every display", key(255, "", 3), wild(3)),
      ("not one of another family", key(1, "77", 4), []),
      ("cut short", Array(key(0, "77", 5).dropLast()), []),
      ("cut short behind it", key(0, "77", 6) + [1], wild(6)),
    ]
    for (label, file, want) in rows {
      #expect(DisplayKeys.file(for: display, from: file) == want, "\(label)")
    }
  }
}

@Suite("Bubblewrap's report")
struct BubblewrapReportTests {
  @Test(
    "is read in pieces of any size",
    arguments: [
      ("", nil, nil),
      ("{ \"child-pid\": 4711, \"mnt-namespace\": 4026 }\n", 4711, nil),
      ("{ \"child-pid\": 4711 }\n{ \"exit-code\": 7 }\n", 4711, 7),
      ("{ \"child-pid\": 4711 }\n{ \"exit-code\": 7 }", 4711, nil),
      ("{\"exit-code\":0}\n", nil, 0),
      ("{ \"child-pid\": 5 }\n{ \"child-pid\": 6 }\n", 5, nil),
      ("{ \"child-pid\": }\nnonsense\n\n", nil, nil),
      ("{ \"child-pid\": 99999999999999 }\n", nil, nil),
    ] as [(String, Int32?, Int32?)])
  func report(_ row: (text: String, first: Int32?, status: Int32?)) {
    for size in 1...8 {
      var report = BubblewrapReport()
      var rest = Array(row.text.utf8)[...]
      while !rest.isEmpty {
        report.take(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      #expect(report.firstProcess == row.first)
      #expect(report.exitStatus == row.status)
    }
  }
}
