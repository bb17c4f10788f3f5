// The walker against what an app plants in its way.
import Foundation
import Glibc
import LinuxKit
import Synchronization
import Testing

/// A directory of the test's own, removed at its end.
private func withScratch(_ body: (borrowing Walker, String) throws -> Void) throws {
  let name = "walker-\(UUID().uuidString)"
  let temporary = try Walker.open(path: "/tmp".utf8)
  let scratch = try temporary.createDirectory(name.utf8, mode: 0o755)
  defer { try? temporary.removeTree(name.utf8) }
  try body(scratch, "/tmp/" + name)
}

private func errno(_ body: () throws -> Void) -> CInt {
  do {
    try body()
    return 0
  } catch let error as Errno {
    return error.code
  } catch {
    return -1
  }
}

@Suite struct WalkerTests {
  struct Refusal: CustomTestStringConvertible, Sendable {
    let label: String
    let name: String
    let wanted: CInt
    var testDescription: String { label }
  }

  @Test(
    "Entering never follows, leaves or takes a path",
    arguments: [
      Refusal(label: "a link to a directory", name: "link", wanted: ELOOP),
      Refusal(label: "a link to a file", name: "fileLink", wanted: ELOOP),
      Refusal(label: "a dangling link", name: "dangling", wanted: ELOOP),
      Refusal(label: "a file", name: "file", wanted: ENOTDIR),
      Refusal(label: "a fifo", name: "fifo", wanted: ENOTDIR),
      Refusal(label: "nothing", name: "absent", wanted: ENOENT),
      Refusal(label: "the parent", name: "..", wanted: EINVAL),
      Refusal(label: "itself", name: ".", wanted: EINVAL),
      Refusal(label: "an empty name", name: "", wanted: EINVAL),
      Refusal(label: "a path", name: "directory/below", wanted: EINVAL),
      Refusal(label: "an absolute path", name: "/etc", wanted: EINVAL),
      Refusal(label: "a name with NUL", name: "directory\0x", wanted: EINVAL),
      Refusal(label: "a directory", name: "directory", wanted: 0),
    ])
  func entering(_ row: Refusal) throws {
    try withScratch { walker, _ in
      _ = try walker.createDirectory("directory".utf8, mode: 0o755)
      _ = try walker.createFile("file".utf8, mode: 0o644)
      try walker.createPipe("fifo".utf8, mode: 0o644)
      try walker.createLink("link".utf8, to: "/etc".utf8)
      try walker.createLink("fileLink".utf8, to: "file".utf8)
      try walker.createLink("dangling".utf8, to: "nowhere".utf8)
      #expect(errno { _ = try walker.enter(row.name.utf8) } == row.wanted)
    }
  }

  @Test("A mount point is not crossed, by entering, opening, removing or copying")
  func mountPoints() throws {
    try withScratch { walker, path in
      let inside = try walker.createDirectory("a".utf8, mode: 0o755)
      _ = try inside.createDirectory("mounted".utf8, mode: 0o755)
      try #require(mount("none", path + "/a/mounted", "tmpfs", 0, nil) == 0)
      defer { umount2(path + "/a/mounted", CInt(MNT_DETACH)) }
      let target = try walker.createDirectory("target".utf8, mode: 0o755)
      #expect(errno { _ = try inside.enter("mounted".utf8) } == EXDEV)
      #expect(errno { try walker.removeTree("a".utf8) } == EXDEV)
      #expect(errno { try inside.copyContents(into: target) } == EXDEV)
    }
  }

  @Test("A regular file is opened, and a fifo neither opened nor waited for")
  func regularFiles() throws {
    try withScratch { walker, _ in
      try walker.createFile("file".utf8, mode: 0o600).writeAll(Array("hello".utf8))
      try walker.createPipe("fifo".utf8, mode: 0o644)
      try walker.createLink("link".utf8, to: "file".utf8)
      let contents = try walker.openRegularFile("file".utf8).readToEnd(atMost: 5)
      #expect(contents == Array("hello".utf8))
      #expect(errno { _ = try walker.openRegularFile("file".utf8).readToEnd(atMost: 4) } == EFBIG)
      #expect(errno { _ = try walker.openRegularFile("fifo".utf8) } == EINVAL)
      #expect(errno { _ = try walker.openRegularFile("link".utf8) } == ELOOP)
    }
  }

  @Test("Names are bytes, with their kinds, however many there are")
  func listing() throws {
    try withScratch { walker, _ in
      let odd: [UInt8] = [0xff, 0x0a, 0x20, 0xc3]
      _ = try walker.createFile(odd, mode: 0o644)
      for number in 0..<3_000 { _ = try walker.createFile("file-\(number)".utf8, mode: 0o644) }
      try walker.createLink("link".utf8, to: [0xfe])
      let entries = try walker.entries()
      #expect(entries.count == 3_002)
      #expect(Set(entries.map(\.name)).count == 3_002)
      #expect(entries.first { $0.name == odd }?.kind == .regular)
      #expect(entries.first { $0.name.elementsEqual("link".utf8) }?.kind == .symbolicLink)
      #expect(try walker.readLink("link".utf8) == [0xfe])
    }
  }

  @Test("Removing a tree leaves what its links point to")
  func removal() throws {
    try withScratch { walker, path in
      let outside = try walker.createDirectory("outside".utf8, mode: 0o755)
      _ = try outside.createFile("kept".utf8, mode: 0o644)
      let tree = try walker.createDirectory("tree".utf8, mode: 0o755)
      try tree.createLink("link".utf8, to: "../outside".utf8)
      try tree.createLink("absolute".utf8, to: (path + "/outside").utf8)
      try tree.createPipe("fifo".utf8, mode: 0o644)
      let below = try tree.createDirectory("below".utf8, mode: 0o000)
      for number in 0..<2_500 { _ = try below.createDirectory("d\(number)".utf8, mode: 0o755) }
      try walker.removeTree("tree".utf8)
      try walker.removeTree("absent".utf8)
      #expect(errno { _ = try walker.status(of: "tree".utf8) } == ENOENT)
      #expect(try outside.entries().map(\.name) == [Array("kept".utf8)])
    }
  }

  @Test("A tree deeper than any path or descriptor table is copied and removed")
  func depth() throws {
    try withScratch { walker, _ in
      var place = try walker.createDirectory("deep".utf8, mode: 0o755)
      for _ in 0..<3_000 { place = try place.createDirectory("d".utf8, mode: 0o755) }
      _ = try place.createFile("bottom".utf8, mode: 0o644)
      let copy = try walker.createDirectory("copy".utf8, mode: 0o755)
      try walker.enter("deep".utf8).copyContents(into: copy)
      var found = try copy.enter("d".utf8)
      for _ in 1..<3_000 { found = try found.enter("d".utf8) }
      #expect(try found.status(of: "bottom".utf8).kind == .regular)
      try walker.removeTree("deep".utf8)
      try walker.removeTree("copy".utf8)
      #expect(try walker.entries().isEmpty)
    }
  }

  @Test("A copy has contents, holes, modes, times, links and attributes of the original")
  func copying() throws {
    try withScratch { walker, _ in
      let source = try walker.createDirectory("source".utf8, mode: 0o755)
      let time = timespec(tv_sec: 1_000_000_000, tv_nsec: 123_456_789)
      let below = try source.createDirectory("below".utf8, mode: 0o750)
      let file = try below.createFile("file".utf8, mode: 0o4640)
      try file.writeAll(Array("contents".utf8))
      try file.setExtendedAttribute("user.colour".utf8, to: [1, 0, 2])
      #expect(ftruncate(file.rawValue, 64 << 20) == 0)
      try file.setTimes(accessed: time, modified: time)
      try below.createLink("link".utf8, to: "../../elsewhere".utf8)
      try below.createPipe("fifo".utf8, mode: 0o620)
      try below.descriptor.setTimes(accessed: time, modified: time)
      try below.descriptor.setPermissions(0o550)

      let target = try walker.createDirectory("target".utf8, mode: 0o755)
      try source.copyContents(into: target, options: .extendedAttributes)
      let copied = try target.enter("below".utf8)
      let status = try copied.status(of: "file".utf8)
      #expect(status.permissions == 0o640, "set-id bits go without the owner")
      #expect(status.byteCount == 64 << 20)
      #expect(status.modified.tv_sec == time.tv_sec && status.modified.tv_nsec == time.tv_nsec)
      let copy = try copied.openRegularFile("file".utf8)
      var blocks = stat()
      #expect(fstat(copy.rawValue, &blocks) == 0 && blocks.st_blocks < 1_000, "holes stay holes")
      #expect(try copy.extendedAttribute("user.colour".utf8) == [1, 0, 2])
      #expect(try copied.readLink("link".utf8) == Array("../../elsewhere".utf8))
      #expect(try copied.status(of: "fifo".utf8).kind == .fifo)
      #expect(try copied.status().permissions == 0o550)
      #expect(try copied.status().modified.tv_sec == time.tv_sec)
    }
  }

  @Test("A replaced file is whole, and a refused one leaves nothing behind")
  func replacing() throws {
    try withScratch { walker, _ in
      try walker.replaceFile("record".utf8, contents: [1, 2, 3], mode: 0o600)
      try walker.replaceFile("record".utf8, contents: [4], mode: 0o640)
      #expect(try walker.openRegularFile("record".utf8).readToEnd(atMost: 9) == [4])
      #expect(try walker.status(of: "record".utf8).permissions == 0o640)
      _ = try walker.createDirectory("directory".utf8, mode: 0o755)
      #expect(errno { try walker.replaceFile("directory".utf8, contents: [], mode: 0) } == EISDIR)
      #expect(try walker.entries().count == 2)
    }
  }

  @Test("Of two locks one waits for the other")
  func locking() throws {
    try withScratch { walker, _ in
      let first = try walker.createFile("lock".utf8, mode: 0o600)
      let second = try walker.openRegularFile("lock".utf8)
      #expect(try first.tryLock(.exclusive))
      #expect(try !second.tryLock(.exclusive))
      #expect(try !second.tryLock(.shared))
      try first.close()
      #expect(try second.tryLock(.exclusive))
    }
  }

  @Test("While a directory and a link change places, no step reaches what the link points to")
  func swaps() throws {
    try withScratch { walker, path in
      let outside = try walker.createDirectory("outside".utf8, mode: 0o755)
      _ = try outside.createFile("secret".utf8, mode: 0o644)
      _ = try walker.createDirectory("place".utf8, mode: 0o755)
      try walker.createLink("other".utf8, to: (path + "/outside").utf8)
      withSwapping(path + "/place", path + "/other") {
        var entered = 0
        for _ in 0..<20_000 {
          guard let place = try? walker.enter("place".utf8) else { continue }
          entered += 1
          if (try? place.status(of: "secret".utf8)) != nil {
            Issue.record("came into the link's target")
          }
          try? walker.removeTree("absent".utf8)
        }
        #expect(entered > 0)
      }
      for _ in 0..<200 {
        let tree = try walker.createDirectory("tree".utf8, mode: 0o755)
        let below = try tree.createDirectory("place".utf8, mode: 0o755)
        _ = try below.createFile("a".utf8, mode: 0o644)
        try tree.createLink("other".utf8, to: (path + "/outside").utf8)
        withSwapping(path + "/tree/place", path + "/tree/other") {
          for _ in 0..<10_000 where (try? walker.removeTree("tree".utf8)) != nil { break }
        }
        try walker.removeTree("tree".utf8)
      }
      #expect(try outside.entries().map(\.name) == [Array("secret".utf8)])
    }
  }

  /// Runs `body` while another thread exchanges two entries as fast as it can.
  private func withSwapping(
    _ one: String, _ other: String, _ body: () throws -> Void
  ) rethrows {
    let swap = Swap(one: one, other: other)
    Thread { swap.run() }.start()
    defer { swap.stop() }
    try body()
  }
}

/// Exchanges two entries until it is told to stop.
private final class Swap: Sendable {
  let one: String
  let other: String
  let isOver = Atomic(false)
  let hasEnded = Atomic(false)

  init(one: String, other: String) {
    self.one = one
    self.other = other
  }

  func run() {
    while !isOver.load(ordering: .relaxed) {
      renameat2(AT_FDCWD, one, AT_FDCWD, other, UInt32(RENAME_EXCHANGE))
    }
    hasEnded.store(true, ordering: .releasing)
  }

  func stop() {
    isOver.store(true, ordering: .relaxed)
    while !hasEnded.load(ordering: .acquiring) { sched_yield() }
  }
}
