// What the system's own log is told of refusals, with a socket of the test's own in its place.

import Glibc
import TestSupport
import Testing

/// A datagram socket in the file system, as journald has one.
private final class LogSocket {
  private let socket: CInt

  init(at path: String) throws {
    socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(
          socket, __CONST_SOCKADDR_ARG(__sockaddr__: $0), socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0, "bind: \(String(cString: strerror(errno)))")
  }

  deinit { close(socket) }

  /// What has come and was not read.
  func datagrams() -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 17)
    while true {
      let count = recv(socket, &buffer, buffer.count, CInt(MSG_DONTWAIT))
      if count < 0 { return datagrams }
      datagrams.append(Array(buffer[..<count]))
    }
  }
}

/// Reads a datagram as journald does.
private func fields(_ datagram: [UInt8]) -> [(name: String, value: [UInt8])] {
  var fields: [(name: String, value: [UInt8])] = []
  var rest = datagram[...]
  while let end = rest.firstIndex(of: 10) {
    let line = rest[..<end]
    rest = rest[(end + 1)...]
    if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
      let name = String(decoding: line[..<equals], as: UTF8.self)
      fields.append((name, Array(line[(equals + 1)...])))
      continue
    }
    let count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    fields.append((String(decoding: line, as: UTF8.self), Array(rest.dropFirst(8).prefix(count))))
    rest = rest.dropFirst(8 + count + 1)
  }
  return fields
}

/// Puts `socket` where journald has its own.
private func journal(_ socket: String) -> String {
  "mkdir -p /run/systemd/journal; ln -s '\(socket)' /run/systemd/journal/socket\n"
}

@Suite("The system's log", .enabled(if: geteuid() == 0, "needs root"))
struct SystemLogTests {
  @Test("has a message for each kind at once, and one for its repeats; nothing can be forged")
  func journald() throws {
    try withTemporaryDirectory { directory in
      let socket = try LogSocket(at: directory + "/socket")
      let said = try shell(
        journal(directory + "/socket") + #"""
          sandboxfs mount $APP view
          forged=$(printf 'view/a\nPRIORITY=0\nSANDBOXFS_APP=other\n\377')
          for _ in $(seq 20); do mkdir "$forged" 2> /dev/null; done
          mv view/tmp view/Documents/x 2> /dev/null
          sandboxfs unmount view
          """#)
      #expect(said == "")
      let messages = socket.datagrams().map(fields)
      let created = messages.filter { value("SANDBOXFS_OPERATION", $0) == "create" }
      let first = try #require(created.first)
      #expect(
        first.map(\.name) == [
          "MESSAGE", "PRIORITY", "SYSLOG_FACILITY", "SYSLOG_IDENTIFIER", "SANDBOXFS_APP",
          "SANDBOXFS_OPERATION", "SANDBOXFS_PATH", "SANDBOXFS_ERRNO", "SANDBOXFS_RULE",
          "SANDBOXFS_PID", "SANDBOXFS_UID", "SANDBOXFS_COMMAND", "SANDBOXFS_COUNT",
        ])
      #expect(value("SANDBOXFS_APP", first) == "com.example.Notes")
      #expect(value("SYSLOG_IDENTIFIER", first) == "sandboxfs")
      #expect(value("PRIORITY", first) == "4" && value("SANDBOXFS_ERRNO", first) == "EACCES")
      #expect(value("SANDBOXFS_COMMAND", first) == "mkdir" && value("SANDBOXFS_UID", first) == "0")
      let path = first.first { $0.name == "SANDBOXFS_PATH" }?.value
      #expect(path == Array("/a\nPRIORITY=0\nSANDBOXFS_APP=other\n".utf8) + [0xFF])
      let text = value("MESSAGE", first)
      #expect(
        text.contains(#""/a\012PRIORITY=0\012SANDBOXFS_APP=other\012\377" for mkdir["#)
          || text.contains(#" /a\012PRIORITY=0\012SANDBOXFS_APP=other\012\377 for mkdir["#),
        "\(text)")
      let total = created.reduce(0) { $0 + (Int(value("SANDBOXFS_COUNT", $1)) ?? 0) }
      #expect(total == 20 && created.count < 20)
      let moved = try #require(messages.first { value("SANDBOXFS_OPERATION", $0) == "rename" })
      #expect(value("SANDBOXFS_PATH2", moved) == "/Documents/x")
    }
  }

  @Test("is syslog's where there is no journal")
  func syslog() throws {
    try withTemporaryDirectory { directory in
      let socket = try LogSocket(at: directory + "/socket")
      let said = try shell(
        #"""
        mkdir dev && mount -t tmpfs none dev || exit
        for name in null fuse zero; do touch dev/$name && mount --bind /dev/$name dev/$name; done
        ln -s '\#(directory)/socket' dev/log && mount --rbind dev /dev || exit
        sandboxfs mount $APP view
        mkdir "$(printf 'view/a\n<0>b')" 2> /dev/null
        sandboxfs unmount view
        """#)
      #expect(said == "")
      let lines = socket.datagrams().map { String(decoding: $0, as: UTF8.self) }
      #expect(lines.count == 1)
      let form = /<84>[A-Z][a-z][a-z] [ 123]\d \d\d:\d\d:\d\d sandboxfs\[\d+\]: (.*)/
      let text = try #require(lines.first?.wholeMatch(of: form)?.1)
      #expect(text.hasPrefix(#"com.example.Notes: refused create /a\012<0>b for mkdir["#))
      #expect(text.hasSuffix(" of uid 0: EACCES by built-in:unset"))
    }
  }

  @Test("costs nothing where there is none, and what it does not take is counted")
  func absent() throws {
    try withTemporaryDirectory { directory in
      let socket = try LogSocket(at: directory + "/socket")
      let kindCount = try queueLength() + 40
      let said = try shell(
        """
        for n in $(seq \(kindCount)); do echo "/Documents/$n -write"; done > rules
        sandboxfs policy set $APP rules > /dev/null
        sandboxfs mount $APP view
        mkdir view/a 2> /dev/null; eventually grep -q '"/a"' $C/log
        sandboxfs status --json $APP | grep unsent
        \(journal(directory + "/socket"))
        for n in $(seq \(kindCount)); do echo "view/Documents/$n"; done | xargs mkdir 2> /dev/null
        eventually grep -q '"/Documents/\(kindCount)"' $C/log
        # The message follows the line.
        eventually sh -c 'sandboxfs status $APP | grep note'
        sandboxfs status $APP | grep -c 'note: .* messages about refusals of com.example.Notes'
        mkdir view/Documents/new && echo "the view goes on"
        sandboxfs unmount view
        """)
      #expect(
        said == """
              "unsentMessages": 0
          1
          the view goes on

          """)
      #expect(socket.datagrams().count >= 10)
    }
  }

  /// How many datagrams wait for one who does not read.
  private func queueLength() throws -> Int {
    let outcome = try run("cat", ["/proc/sys/net/unix/max_dgram_qlen"])
    return Int(outcome.text.filter(\.isNumber)) ?? 512
  }

  private func value(_ name: String, _ fields: [(name: String, value: [UInt8])]) -> String {
    String(decoding: fields.first { $0.name == name }?.value ?? [], as: UTF8.self)
  }
}
