// The message that a daemon is started with: what goes in comes out, and nothing else is taken.
import Containers
import Policy
import Testing

private let sample = ViewConfiguration(
  identifier: Array("com.example.Notes".utf8), ownerUID: 0x7000_0001, ownerGID: 0x7000_0002,
  bundleName: [0x4e, 0xff, 0x2e, 0x61, 0x70, 0x70], inodeKey: (.max, 1),
  layers: [
    ProfileSource(rank: .shipped, name: Array("default.profile".utf8), text: [1, 0, 2]),
    ProfileSource(rank: .included, name: [], text: []),
  ],
  transport: .fusermount, target: Array("/srv/notes".utf8), source: [], mountFlags: 1 << 63,
  pressure: ViewConfiguration.Pressure(
    lowByteCount: 1 << 40, highByteCount: .max, store: Array("/s".utf8), settings: [0xff]))

@Suite struct ViewConfigurationTests {
  @Test("A configuration survives the pipe")
  func roundTrip() {
    #expect(ViewConfiguration(decoding: sample.encoded()) == sample)
  }

  @Test("A message that is cut short at any byte is refused")
  func cutShort() {
    let message = sample.encoded()
    for count in message.indices {
      #expect(ViewConfiguration(decoding: Array(message.prefix(count))) == nil, "\(count) bytes")
    }
  }

  @Test("A message with something behind it, or of another version, is refused")
  func foreign() {
    #expect(ViewConfiguration(decoding: sample.encoded() + [0]) == nil)
    var other = sample.encoded()
    other[7] += 1
    #expect(ViewConfiguration(decoding: other) == nil)
  }

  @Test("Lengths and numbers that promise more than there is are refused, whatever they are")
  func lies() {
    let message = sample.encoded()
    for position in 8..<message.count {
      for byte in [UInt8(0xff), 0x80, 0x7f] {
        var lie = message
        lie[position] = byte
        _ = ViewConfiguration(decoding: lie)
      }
    }
  }
}

@Suite struct ContainerLayoutTests {
  @Test("Parents come before what lies in them")
  func order() {
    var seen: Set<String> = []
    for entry in ContainerLayout.structuralEntries {
      let parent = entry.path.split(separator: "/").dropLast().joined(separator: "/")
      #expect(parent.isEmpty || seen.contains(parent), "\(entry.path)")
      seen.insert(entry.path)
    }
  }
}

@Suite struct AuditEntryTests {
  @Test("Every byte of a name comes back from the line that the log has of it")
  func bytes() throws {
    let path = (UInt8.min...UInt8.max).map { $0 }
    var line = FlatObjectWriter()
    line.add("time", "2026-01-01T00:00:00.000Z".utf8)
    line.add("operation", "rename".utf8)
    line.add("path", path)
    line.add("path2", path.reversed())
    line.add("result", "EPERM".utf8)
    guard case .request(let request) = AuditEntry(line: line.line) else {
      Issue.record("it is no entry")
      return
    }
    #expect(request.path == path && request.secondPath == path.reversed())
    #expect(request.count == 1 && request.command == [])
  }

  @Test("What is written is what is read, of each sort")
  func roundTrip() {
    let kind = AuditedKind(uid: 3, operation: "read", result: "EACCES", rule: [1, 0xFF])
    let entries: [AuditEntry] = [
      .lost(time: "t", count: 4), .more(time: "t", kind: kind, count: 5),
      .request(AuditedRequest(time: "t", process: 1, command: [2], kind: kind, path: [3])),
      .request(
        AuditedRequest(
          time: "t", process: 1, command: [2], kind: kind, path: [3], secondPath: [4], count: 2)),
    ]
    for entry in entries { #expect(AuditEntry(line: entry.line) == entry) }
  }

  @Test(
    "What is no line of the log is none",
    arguments: [
      "", "{}", "{\"time\":\"now\"}", "{\"lost\":3}", "{\"time\":\"t\",\"lost\":\"many\"}",
      "{\"time\":\"t\",\"more\":3}", "{\"time\":\"t\",\"more\":3,\"operation\":\"read\"}",
      "{\"time\":\"t\",\"operation\":\"read\",\"path\":\"\\u20ac\",\"result\":\"EPERM\"}",
    ])
  func others(_ line: String) {
    #expect(AuditEntry(line: Array(line.utf8)) == nil)
  }
}
