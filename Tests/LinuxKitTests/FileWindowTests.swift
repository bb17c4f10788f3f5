// Files that are looked at where the kernel keeps them, whatever becomes of them meanwhile.

import Foundation
import Glibc
import LinuxKit
import Testing

@Suite struct FileWindowTests {
  private static let page = sysconf(Int32(_SC_PAGESIZE))

  /// A file of some pages of ones, open to be looked at, and its path.
  private static func withFile(
    pages: Int, _ body: (borrowing Descriptor, String) throws -> Void
  ) throws {
    let path = "/tmp/window-\(UUID().uuidString)"
    defer { unlink(path) }
    let file = try Descriptor.open(path, O_CREAT | O_RDWR, mode: 0o600)
    let ones = [UInt8](repeating: 1, count: pages * page)
    try #require(write(file.rawValue, ones, ones.count) == ones.count)
    try body(try Descriptor.open(path, O_RDONLY), path)
  }

  /// What a look says, and how many ones it has seen; nil if nobody has looked.
  private struct Outcome: Equatable {
    let look: FileLook
    var ones: Int?

    init(_ look: FileLook, _ ones: Int?) {
      self.look = look
      self.ones = ones
    }
  }

  private static func look(
    _ file: borrowing Descriptor, at offset: Int = 0, pages: Int, first: () -> Void = {}
  ) throws -> Outcome {
    var ones: Int?
    let look = try file.withWindow(at: Int64(offset), byteCount: pages * page) { bytes in
      first()
      ones = bytes.count { $0 == 1 }
    }
    return Outcome(look, ones)
  }

  @Test("what is there is seen, from any page on")
  func whole() throws {
    try Self.withFile(pages: 3) { file, _ in
      let seen = try Self.look(file, pages: 3)
      #expect(seen == Outcome(.whole, 3 * Self.page))
      let behind = try Self.look(file, at: Self.page, pages: 2)
      #expect(behind == Outcome(.whole, 2 * Self.page))
    }
  }

  @Test("what is cut off before or meanwhile is seen as zeros, and said")
  func cut() throws {
    for left in [0, 1, Self.page, Self.page + 1, 2 * Self.page, 40 * Self.page - 1] {
      try Self.withFile(pages: 40) { file, path in
        let meanwhile = try Self.look(file, pages: 40) { truncate(path, left) }
        #expect(meanwhile == Outcome(.torn, left), "cut to \(left) while it is looked at")
        let seen = try Self.look(file, pages: 40)
        #expect(seen == Outcome(.torn, left), "cut to \(left) before")
      }
    }
  }

  @Test("what is cut off and there again is torn")
  func restored() throws {
    try Self.withFile(pages: 2) { file, path in
      var seen: [UInt8] = []
      let look = try file.withWindow(at: 0, byteCount: 2 * Self.page) { bytes in
        truncate(path, 0)
        seen.append(bytes[Self.page])
        truncate(path, 2 * Self.page)
        seen.append(bytes[0])
      }
      #expect(look == .torn && seen == [0, 0])
    }
  }

  @Test("threads have windows of their own")
  func threads() async throws {
    let looks = try await withThrowingTaskGroup(of: FileLook.self) { group in
      for number in 0..<16 {
        group.addTask {
          var look = FileLook.impossible
          try Self.withFile(pages: 64) { file, path in
            look = try Self.look(file, pages: 64) {
              if number % 2 == 0 { truncate(path, Self.page) }
            }.look
          }
          return look
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(looks.count { $0 == .torn } == 8 && looks.count { $0 == .whole } == 8)
  }

  @Test("what can't be mapped is not looked at")
  func impossible() throws {
    let directory = try Descriptor.open("/tmp", O_RDONLY | O_DIRECTORY)
    let seen = try Self.look(directory, pages: 1)
    #expect(seen == Outcome(.impossible, nil))
    try Self.withFile(pages: 1) { file, _ in
      let seen = try Self.look(file, pages: 0)
      #expect(seen == Outcome(.impossible, nil))
    }
  }

  @Test("an access outside of a window ends the process, as it does without windows")
  func outside() async {
    await #expect(processExitsWith: .signal(SIGBUS)) {
      try Self.withFile(pages: 2) { file, path in
        let other = mmap(nil, Self.page, PROT_READ, MAP_SHARED, file.rawValue, Self.page)
        _ = try Self.look(file, pages: 2) {
          truncate(path, Self.page)
          _ = other?.load(as: UInt8.self)
        }
      }
    }
    await #expect(processExitsWith: .signal(SIGBUS)) {
      try Self.withFile(pages: 2) { file, _ in
        _ = try Self.look(file, pages: 2)
        raise(SIGBUS)
      }
    }
  }
}
