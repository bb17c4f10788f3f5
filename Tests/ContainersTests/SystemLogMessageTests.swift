// What goes to journald and syslog, byte by byte: no name that an app makes up becomes a field or a
// line of its own.

import Containers
import Testing

@Suite struct SystemLogMessageTests {
  private func message(
    path: String, second: String? = nil, result: String = "EACCES", count: Int = 1
  ) -> SystemLogMessage {
    SystemLogMessage(
      identifier: Array("com.example.Notes".utf8),
      request: AuditedRequest(
        time: "2026-03-01T12:30:00.892Z", process: 19, command: Array("a\nb".utf8),
        kind: AuditedKind(
          uid: 1000, operation: "create", result: result, rule: Array("p:7".utf8)),
        path: Array(path.utf8), secondPath: second.map { Array($0.utf8) }), count: count)
  }

  @Test("The text is one line that can be read")
  func text() {
    #expect(
      message(path: "/a b").text
        == #"com.example.Notes: refused create "/a b" for a\012b[19] of uid 1000: EACCES by p:7"#)
    #expect(
      message(path: "/a", second: "/b", count: 5).text
        == #"com.example.Notes: refused create /a -> /b for a\012b[19] of uid 1000: "#
        + "EACCES by p:7, and 4 more like it")
    #expect(
      message(path: "/a\n<0>x", result: "OK").text
        == #"com.example.Notes: allowed create /a\012<0>x for a\012b[19] of uid 1000: by p:7"#)
  }

  @Test("The journal's datagram has bytes behind their length and text on one line")
  func journal() {
    let forged = "/x\nMESSAGE=forged\nPRIORITY=0\n"
    let length = "\u{1D}\0\0\0\0\0\0\0"
    let expected = """
      MESSAGE=com.example.Notes: refused create /x\\012MESSAGE=forged\\012PRIORITY=0\\012 \
      for a\\012b[19] of uid 1000: EACCES by p:7
      PRIORITY=4
      SYSLOG_FACILITY=10
      SYSLOG_IDENTIFIER=sandboxfs
      SANDBOXFS_APP
      \u{11}\0\0\0\0\0\0\0com.example.Notes
      SANDBOXFS_OPERATION=create
      SANDBOXFS_PATH
      \(length)\(forged)
      SANDBOXFS_ERRNO=EACCES
      SANDBOXFS_RULE
      \u{3}\0\0\0\0\0\0\0p:7
      SANDBOXFS_PID=19
      SANDBOXFS_UID=1000
      SANDBOXFS_COMMAND
      \u{3}\0\0\0\0\0\0\0a
      b
      SANDBOXFS_COUNT=1

      """
    #expect(forged.utf8.count == 0x1D)
    let datagram = message(path: forged).journalDatagram
    #expect(String(decoding: datagram, as: UTF8.self) == expected)
  }

  @Test("Syslog's datagram is one line with a priority")
  func syslog() {
    let time = Array("Nov 30 02:45:43".utf8)
    let refused = message(path: "/a\n<0>x").syslogDatagram(time: time, daemon: 11)
    #expect(
      String(decoding: refused, as: UTF8.self)
        == #"<84>Nov 30 02:45:43 sandboxfs[11]: com.example.Notes: refused create /a\012<0>x "#
        + #"for a\012b[19] of uid 1000: EACCES by p:7"#)
    let allowed = message(path: "/a", result: "OK").syslogDatagram(time: time, daemon: 11)
    #expect(allowed.starts(with: "<86>".utf8) && !allowed.contains(10))
  }
}
