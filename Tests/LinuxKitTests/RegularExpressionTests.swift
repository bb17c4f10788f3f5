// POSIX extended regular expressions over bytes.
import LinuxKit
import Synchronization
import Testing

@Suite struct RegularExpressionTests {
  @Test(
    "A pattern is searched for, by bytes",
    arguments: [
      ("^a.c$", Array("abc".utf8), true), ("^a.c$", [0x61, 0xff, 0x63], true),
      ("^a.c$", Array("abbc".utf8), false), ("(x|y)+z", Array("--xyz--".utf8), true),
      ("^(.*/)?\\.DS_Store$", Array("a/b/.DS_Store".utf8), true),
      ("^(.*/)?\\.DS_Store$", Array("a/b.DS_Store".utf8), false), ("", Array("a".utf8), true),
      ("^$", [], true), ("^\u{e9}", Array("\u{e9}".utf8), true),
    ])
  func matches(_ pattern: String, _ text: [UInt8], _ wanted: Bool) throws {
    let expression = try #require(RegularExpression(Array(pattern.utf8)))
    #expect(expression.matches(text) == wanted)
  }

  @Test(
    "What is no pattern is none", arguments: ["(", "[a", "a\0b", "*(", "[z-a]", "[[:nonsense:]]"])
  func mistakes(_ pattern: String) {
    #expect(RegularExpression(Array(pattern.utf8)) == nil)
  }
}

@Suite struct WorkersTests {
  @Test("Every piece is done once, and who watches is not in the way")
  func share() {
    let counts = Counts()
    Workers.watching({}) {
      Workers.share(1_000) { counts.add($0) }
    }
    #expect(counts.all == [Int](repeating: 1, count: 1_000))
    Workers.share(0) { counts.add($0) }
    #expect(counts.all == [Int](repeating: 1, count: 1_000))
  }
}

private final class Counts: Sendable {
  private let counts = Mutex([Int](repeating: 0, count: 1_000))

  func add(_ index: Int) { counts.withLock { $0[index] += 1 } }
  var all: [Int] { counts.withLock { $0 } }
}
