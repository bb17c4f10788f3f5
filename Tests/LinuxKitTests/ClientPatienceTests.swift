// A client may be slow, and may not keep its listener for ever, whatever it sends meanwhile.
import Glibc
import LinuxKit
import Testing

private let long = String(repeating: "x", count: 5000)

@Suite struct ClientPatienceTests {
  /// Both ends of a connection.
  private func pair() throws -> (ours: CInt, theirs: CInt) {
    var ends: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private func send(_ text: String, to end: CInt) throws {
    let bytes = Array(text.utf8)
    try #require(write(end, bytes, bytes.count) == bytes.count)
  }

  @Test func whatComesInTimeIsRead() throws {
    let (ours, theirs) = try pair()
    defer { close(theirs) }
    let connection = Descriptor(owning: ours)
    try send("a line\nand bytes", to: theirs)
    let patience = ClientPatience(milliseconds: 60_000)
    #expect(try connection.readLine(limit: 100, patience) == Array("a line".utf8))
    #expect(try connection.readBytes(exactly: 9, patience) == Array("and bytes".utf8))
  }

  @Test(
    arguments: [
      ("abc\nrest", 3, "abc", "rest"), ("\n\n", 3, "", "\n"), ("abcd\n", 3, nil, ""),
      ("abcd", 3, nil, ""),
      (long + "\nrest", 5000, long, "rest"),
    ] as [(String, Int, String?, String)])
  func aLineEndsAtTheFirstLineFeedAndIsNoLongerThanItMayBe(
    _ row: (text: String, limit: Int, line: String?, rest: String)
  ) throws {
    let (ours, theirs) = try pair()
    let connection = Descriptor(owning: ours)
    try send(row.text, to: theirs)
    close(theirs)
    let patience = ClientPatience(milliseconds: 60_000)
    guard let line = row.line else {
      #expect(throws: Errno(EMSGSIZE)) { try connection.readLine(limit: row.limit, patience) }
      return
    }
    #expect(try connection.readLine(limit: row.limit, patience) == Array(line.utf8))
    #expect(
      try connection.readBytes(exactly: row.rest.utf8.count, patience) == Array(row.rest.utf8))
    #expect(try connection.readLine(limit: row.limit, patience) == nil)
  }

  @Test func aLineOfAPipeIsReadAsOneOfAConnection() throws {
    var pipe = try Pipe()
    try pipe.writing?.writeAll(Array("a line\nand bytes".utf8))
    pipe.writing = nil
    let patience = ClientPatience(milliseconds: 60_000)
    #expect(try pipe.reading.readLine(limit: 6, patience) == Array("a line".utf8))
    #expect(try pipe.reading.readBytes(exactly: 9, patience) == Array("and bytes".utf8))
    #expect(try pipe.reading.readLine(limit: 6, patience) == nil)
  }

  @Test func oneWhoStillSendsWhenTheTimeIsOverIsNotHeard() throws {
    let (ours, theirs) = try pair()
    defer { close(theirs) }
    let connection = Descriptor(owning: ours)
    try send("never an end", to: theirs)
    let patience = ClientPatience(milliseconds: 0)
    #expect(throws: Errno(ETIMEDOUT)) { try connection.readLine(limit: 100, patience) }
    #expect(throws: Errno(ETIMEDOUT)) { try connection.readBytes(exactly: 5, patience) }
  }

  @Test func oneWhoFallsSilentIsWaitedForNoLongerThanThat() throws {
    let (ours, theirs) = try pair()
    defer { close(theirs) }
    let connection = Descriptor(owning: ours)
    try send("half", to: theirs)
    let patience = ClientPatience(milliseconds: 20)
    #expect(throws: Errno(ETIMEDOUT)) { try connection.readLine(limit: 100, patience) }
  }
}
