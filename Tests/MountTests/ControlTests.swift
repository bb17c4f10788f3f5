// The control socket against clients that are wrong, slow, silent, many or not allowed, and against
// an app that looks for it: whatever they do, the next one is answered.

import Containers
import Foundation
import Glibc
import LinuxKit
import Mounting
import Policy
import TestSupport
import Testing

/// A connection that does as it likes.
private final class RawClient {
  private let socket: CInt

  init(_ scene: MountingScene) throws {
    socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array("\(scene.container)/control".utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(
          socket, __CONST_SOCKADDR_ARG(__sockaddr__: $0), socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    try #require(result == 0, "connect: \(String(cString: strerror(errno)))")
  }

  deinit { close(socket) }

  @discardableResult
  func send(_ bytes: some Sequence<UInt8>) -> Int {
    let bytes = Array(bytes)
    return Glibc.send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
  }

  /// No more will come from here.
  func end() { shutdown(socket, CInt(SHUT_WR)) }

  /// All that the daemon says until it hangs up.
  func answer() -> String {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      if count <= 0 { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<count]
    }
  }
}

extension MountingScene {
  /// Sends what it is given, and nothing more; the answer.
  fileprivate func said(to bytes: some Sequence<UInt8>) throws -> String {
    let client = try RawClient(self)
    client.send(bytes)
    client.end()
    return client.answer()
  }

  fileprivate func daemon() throws -> DaemonStatus {
    let directory = try directory()
    return try #require(try DaemonStatus.ask(directory))
  }

  fileprivate func openFiles(of daemon: DaemonStatus) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
  }
}

/// How many files a daemon may open that has answered already, but still starts what is beside the
/// requests.
private let startingFiles = 8

private let malformed: [(name: String, bytes: [UInt8])] = [
  ("an empty line", Array("\n".utf8)),
  ("no JSON", Array("status\n".utf8)),
  ("half an object", Array("{\"command\":\"status\"\n".utf8)),
  ("an array", Array("[\"status\"]\n".utf8)),
  ("nothing in it", Array("{}\n".utf8)),
  ("a number", Array("{\"command\":1}\n".utf8)),
  ("another command", Array("{\"command\":\"dance\"}\n".utf8)),
  ("an object in it", Array("{\"command\":{\"command\":\"status\"}}\n".utf8)),
  ("a broken escape", Array("{\"command\":\"\\ud800\"}\n".utf8)),
  ("more behind it", Array("{\"command\":\"status\"} {}\n".utf8)),
  ("bytes that are no text", [UInt8](128...255) + [10]),
  ("zeros", [UInt8](repeating: 0, count: 100) + [10]),
  ("braces", [UInt8](repeating: 0x7B, count: 60_000) + [10]),
  ("no bytes of configuration", Array("{\"command\":\"policy\"}\n".utf8)),
  ("a negative number of them", Array("{\"command\":\"policy\",\"bytes\":-1}\n".utf8)),
  ("none of them", Array("{\"command\":\"policy\",\"bytes\":0}\n".utf8)),
  ("too many of them", Array("{\"command\":\"policy\",\"bytes\":67108865}\n".utf8)),
  ("far too many", Array("{\"command\":\"policy\",\"bytes\":99999999999999999999}\n".utf8)),
  ("words for a number", Array("{\"command\":\"policy\",\"bytes\":\"ten\"}\n".utf8)),
  ("fewer than promised", Array("{\"command\":\"policy\",\"bytes\":100}\nSFSVIEW1".utf8)),
  ("another form", Array("{\"command\":\"policy\",\"bytes\":8}\nSFSVIEW9".utf8)),
]

@Suite(.serialized) struct ControlTests {
  @Test func whatMakesNoSenseIsAnsweredWithAnErrorAndChangesNothing() throws {
    try withMountingScene { scene in
      try scene.mount()
      for row in malformed {
        let said = try scene.said(to: row.bytes)
        #expect(said.hasPrefix("{\"status\":\"error\",\"message\":\""), "\(row.name): \(said)")
        #expect(said.filter { $0 == "\n" }.count == 1, "\(row.name): \(said)")
      }
      #expect(mkdir("\(scene.target)/Documents/d", 0o700) == 0)
      #expect(try scene.said(to: []) == "", "who says nothing hears nothing")
      #expect(try scene.said(to: "{\"command\":\"sta".utf8) == "")
      #expect(try scene.daemon().identifier == Array("com.example.Notes".utf8))
      try scene.unmount()
    }
  }

  @Test func aLineThatIsTooLongEndsTheConversation() throws {
    try withMountingScene { scene in
      try scene.mount()
      let client = try RawClient(scene)
      client.send([UInt8](repeating: 0x61, count: 70_000))
      #expect(client.answer().contains("at most 65536 bytes"))
      let blanks = [UInt8](repeating: 0x20, count: 65_000)
      let status = try scene.said(to: blanks + Array("{\"command\":\"status\"}\n".utf8))
      #expect(status.hasPrefix("{\"status\":\"ok\""), "\(status)")
      try scene.unmount()
    }
  }

  /// There are more of them than may be served at once.
  @Test func manyWhoAreSlowOrSilentKeepNobodyWaitingForLong() throws {
    try withMountingScene { scene in
      try scene.mount()
      let before = try scene.openFiles(of: try scene.daemon())
      let slow = try (0..<40).map { _ in try RawClient(scene) }
      for client in slow { client.send([0x7B]) }
      #expect(try scene.daemon().pid > 0)
      for client in slow { client.send([0x22]) }
      #expect(try scene.daemon().pid > 0)
      for client in slow {
        #expect(client.answer().contains("within 2 seconds"))
      }
      try expectEventually(before + startingFiles, "descriptors are given back") {
        try scene.openFiles(of: try scene.daemon())
      }
      try scene.unmount()
    }
  }

  @Test func whoDoesNotReadAnAnswerLosesItAndNothingElseHappens() throws {
    try withMountingScene { scene in
      try scene.mount()
      let before = try scene.openFiles(of: try scene.daemon())
      // The answer has a line for each mistake, and is longer than what a socket keeps.
      var configuration = scene.configuration
      configuration.layers[0].text = Array(String(repeating: "/a raed\n", count: 20_000).utf8)
      let message = configuration.encoded()
      var request = FlatObjectWriter()
      request.add("command", "policy".utf8)
      request.add("bytes", message.count)
      let silent = try (0..<3).map { _ in
        let client = try RawClient(scene)
        client.send(request.line + [10] + message)
        return client
      }
      for _ in 0..<200 {
        // Abrupt ends: in the middle of a line, and before the answer.
        try RawClient(scene).send("{\"comm".utf8)
        try RawClient(scene).send("{\"command\":\"status\"}\n".utf8)
      }
      #expect(try scene.daemon().pid > 0)
      try expectEventually(before + startingFiles, "descriptors are given back") {
        try scene.openFiles(of: try scene.daemon())
      }
      #expect(silent.count == 3)
      #expect(mkdir("\(scene.target)/Documents/d", 0o700) == 0)
      try scene.unmount()
    }
  }

  @Test(.enabled(if: isInstalled("perl"), "needs perl"))
  func aStrangerWhoGetsToTheSocketIsNotHeard() throws {
    try withMountingScene { scene in
      try scene.mount()
      #expect(try scene.connect(as: 12_345) == "connect: Permission denied\n")
      let open = try run(
        "sh",
        [
          "-c",
          "chmod 711 '\(scene.store)' '\(scene.container)' && chmod 666 '\(scene.container)/control'",
        ])
      #expect(open.status == 0)
      #expect(try scene.connect(as: 12_345) == "heard: \n")
      #expect(try scene.connect(as: 0).hasPrefix("heard: {\"status\":\"ok\""))
      try scene.unmount()
    }
  }

  @Test(
    "an app in a container finds no control socket, its own neither",
    .enabled(if: isInstalled("perl"), "needs perl"), arguments: RunScene.Person.allCases)
  func fromInside(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try scene.install(scene.makeBundle("Notes"))
      let app = "org.example.Notes"
      let said = try scene.script(
        app,
        """
        for name in \(scene.container(app))/control /proc/self/root\(scene.container(app))/control \
          /proc/1/root\(scene.container(app))/control control ../control /home/control
        do
          perl -MSocket -e '\(client)' "$name"
        done
        find / -type s -name control 2> /dev/null | wc -l
        grep -c control /proc/net/unix || :
        """)
      let lines = said.split(separator: "\n")
      #expect(
        lines.dropLast(2).allSatisfy { $0 == "connect: No such file or directory" }, "\(said)")
      #expect(lines.count == 8 && lines.suffix(2) == ["0", "0"], "\(said)")
    }
  }

  private func expectEventually(
    _ want: Int, _ what: String, _ measure: () throws -> Int
  ) throws {
    // Measuring connects too, so one look after it was right may be wrong again.
    for _ in 0..<1000 {
      if try measure() <= want { return }
      usleep(10_000)
    }
    Issue.record("\(what)")
  }
}

/// Connects to the socket that it is given and asks for the status.
private let client = #"""
  socket(S, AF_UNIX, SOCK_STREAM, 0) or die; $| = 1; $SIG{PIPE} = "IGNORE";
  if (!connect(S, pack_sockaddr_un($ARGV[0]))) { print "connect: $!\n"; exit }
  syswrite(S, "{\"command\":\"status\"}\n"); sysread(S, $answer, 1000); chomp $answer;
  print "heard: $answer\n";
  """#

extension MountingScene {
  /// What somebody hears from the control socket.
  fileprivate func connect(as uid: Int) throws -> String {
    try run(
      "setpriv",
      [
        "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", "perl", "-MSocket", "-e",
        client, "\(container)/control",
      ]
    ).text
  }
}
