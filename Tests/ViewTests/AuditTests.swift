// What becomes of refusals on their way to the log: under a flood the first of each kind arrives,
// and every one is counted.
import Glibc
import LinuxKit
import Policy
import Synchronization
import Testing

@testable import View

/// A ring, and the memory that it is in.
private final class Scene: @unchecked Sendable {
  let memory: Mapping
  let ring: AuditRing

  init() throws {
    memory = try Mapping(reserving: AuditRing.byteCount)
    ring = AuditRing(at: memory.start)
  }

  /// Notes that `process` was refused to read `path`, by the rule in a line.
  func add(_ path: String, line: Int = 1, process: Int32 = 7) {
    let record = AuditRecord(
      seconds: 1, nanoseconds: 2, process: process, uid: 3,
      operation: UInt32(Operation.read.rawValue), code: EACCES,
      rule: RuleID(rawValue: UInt32(line - 1)), policy: 1, commandCount: 2,
      pathCount: UInt16(path.utf8.count), secondPathCount: 0)
    path.withCString {
      ring.add(record, rule: "p:\(line)", command: "sh", path: $0, secondPath: $0)
    }
  }
}

extension AuditRing {
  /// Takes all that there is, as if it were written.
  fileprivate func takeAll() -> (records: [Taken], lost: Int) {
    var taken: (records: [Taken], lost: Int) = ([], 0)
    takeAll { batch in
      taken = batch
      willAppend(Append(inode: 0, size: 0, byteCount: 0), keeping: [])
      didAppend()
    }
    return taken
  }
}

/// How many threads go on.
private final class Running: Sendable {
  let count: Atomic<Int>

  init(_ count: Int) { self.count = Atomic(count) }
}

@Suite struct AuditRingTests {
  @Test func sameRecordsAreOneAlsoWhenOthersComeBetween() throws {
    let scene = try Scene()
    for round in 0..<1000 {
      scene.add("/a")
      scene.add("/b", line: 2)
      if round == 0 { scene.add("/a", process: 8) }
    }
    let (records, lost) = scene.ring.takeAll()
    #expect(
      records.map { "\($0.path.count) \($0.process) \($0.rule) \($0.count) \($0.more)" } == [
        "2 7 p:1 1000 0", "2 7 p:2 1000 0", "2 8 p:1 1 0",
      ])
    #expect(lost == 0)
    #expect(scene.ring.takeAll().records.isEmpty)
  }

  @Test func whatMakesTheRecordIsKeptByteByByte() throws {
    let scene = try Scene()
    let path = "/" + String(repeating: "x", count: AuditRecord.pathLimit - 1)
    scene.add(path, line: 399)
    let record = try #require(scene.ring.takeAll().records.first)
    #expect(record.path == Array(path.utf8) && record.command == Array("sh".utf8))
    #expect(record.rule == "p:399" && record.code == EACCES && record.uid == 3)
    #expect(record.time == WallTime(seconds: 1, nanoseconds: 2) && record.secondPath.isEmpty)
  }

  @Test func aNewKindHasItsPlaceBehindAnyNumberOfAnother() throws {
    let scene = try Scene()
    for number in 0..<10_000 { scene.add("/\(number)") }
    for line in 2...100 { scene.add("/late", line: line) }
    let (records, lost) = scene.ring.takeAll()
    #expect(Set(records.map(\.rule)).count == 100 && lost == 0)
    #expect(records.reduce(0) { $0 + $1.count + $1.more } == 10_099)
  }

  @Test func kindsBeyondAllThatAreToldApartAreCountedAsLost() throws {
    let scene = try Scene()
    for number in 0..<1000 { scene.add("/\(number)") }
    for line in 2...400 { scene.add("/late", line: line) }
    let (records, lost) = scene.ring.takeAll()
    #expect(records.count <= AuditBatch.recordLimit + AuditBatch.kindLimit && lost > 0)
    #expect(records.reduce(lost) { $0 + $1.count + $1.more } == 1399)
  }

  @Test func aFloodFromManyThreadsLosesNoKindAndNoCount() throws {
    let scene = try Scene()
    let (threadCount, perThread, kindCount) = (8, 100_000, 40)
    let running = Running(threadCount)
    // Each kind begins when half of the flood is over, with others between.
    for thread in 0..<threadCount {
      try DaemonProcess.startThread {
        for number in 0..<perThread {
          let line = number < perThread / 2 ? 1 : 1 + number % kindCount
          scene.add("/\(thread)/\(number % 5000)", line: line, process: Int32(thread))
        }
        running.count.subtract(1, ordering: .releasing)
      }
    }
    var (total, kinds) = (0, Set<String>())
    func take() {
      let (records, lost) = scene.ring.takeAll()
      kinds.formUnion(records.map(\.rule))
      total += records.reduce(lost) { $0 + $1.count + $1.more }
    }
    while running.count.load(ordering: .acquiring) > 0 { take() }
    take()
    #expect(total == threadCount * perThread)
    #expect(kinds.count == kindCount)
  }
}

@Suite struct AuditDigestTests {
  private func record(_ rule: String, count: Int = 1, more: Int = 0) -> AuditRing.Taken {
    AuditRing.Taken(
      time: WallTime(seconds: 0, nanoseconds: 0), process: 1, command: [], uid: 0,
      operation: .read, code: EACCES, rule: rule, path: Array("/a".utf8), secondPath: [],
      count: count, more: more)
  }

  @Test func aKindGetsLinesForItsShareAndACountForTheRest() {
    var digest = AuditDigest()
    let flood = (0..<1000).map { _ in record("a", count: 3) } + [record("b", more: 5)]
    let lines = digest.lines(for: (flood, 2), at: 0) { _ in 1 << 10 }
    let share = Int(AuditDigest.burstByteCount >> 10)
    let expected = [.lost(2)] + Array(repeating: AuditDigest.Line.record(flood[0]), count: share)
    #expect(lines == expected + [.record(flood[1000])])
    #expect(digest.isWaiting)
    let later = digest.lines(for: ([], 0), at: AuditDigest.countMilliseconds) { _ in 0 }
    #expect(
      Set(later.map { "\($0)" }) == [
        "\(AuditDigest.Line.more(record("a").kind, (1000 - share) * 3))",
        "\(AuditDigest.Line.more(record("b").kind, 5))",
      ])
    #expect(!digest.isWaiting && digest.rest().isEmpty)
  }

  @Test func aShareGrowsAgainWithTime() {
    var digest = AuditDigest()
    _ = digest.lines(for: ([record("a")], 0), at: 0) { _ in Int(AuditDigest.burstByteCount) }
    #expect(digest.lines(for: ([record("a")], 0), at: 10) { _ in 64 } == [])
    let second = digest.lines(for: ([record("a")], 0), at: 1000) { _ in 64 }
    #expect(second == [.record(record("a"))])
    #expect(digest.rest() == [.more(record("a").kind, 1)])
  }

  @Test func kindsWithoutEndTakeMemoryWithAnEnd() {
    var digest = AuditDigest()
    var total = 0
    for number in 0..<5000 {
      let lines = digest.lines(for: ([record("\(number)", more: 1)], 0), at: 0) { _ in 1 }
      for case .more(_, let count) in lines { total += count }
    }
    let rest = digest.rest()
    #expect(rest.count <= AuditDigest.kindLimit)
    for case .more(_, let count) in rest { total += count }
    #expect(total == 5000)
  }

  @Test func theJournalHearsOfAKindAtOnceAndOfItsRepeatsNowAndThen() {
    var digest = JournalDigest()
    func told(_ records: [AuditRing.Taken], at time: Int64) -> [String] {
      digest.messages(for: records, at: time).map { "\($0.record.rule) \($0.count)" }
    }
    #expect(
      told([record("a"), record("a", count: 4, more: 2), record("b")], at: 0) == ["a 1", "b 1"])
    #expect(digest.isWaiting)
    #expect(told([record("a")], at: 9999) == [])
    #expect(told([], at: JournalDigest.quietMilliseconds) == ["a 7"])
    #expect(!digest.isWaiting)
    #expect(told([record("a")], at: 10_001) == [])
    #expect(told([record("b")], at: 10_002) == ["b 1"])
    #expect(digest.rest().map { "\($0.record.rule) \($0.count)" } == ["a 1"])
  }
}
