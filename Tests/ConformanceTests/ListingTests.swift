// Listings that go on while the directory changes, on stores that keep places in them and on stores
// that do not: there the kernel holds directories open.

import Glibc
import LinuxKit
import TestSupport
import Testing

private let fileCount = 3000
/// A user's view can be entered by its user alone.
private let grounds: [Ground] = [.disk, .memory]

/// Reads a directory entry by entry with as little read ahead as the kernel allows, and calls
/// `body` with each name but the dots.
///
/// Stops after three times as many entries as there were files.
private func forEachEntry(
  of path: String, byteCount: Int = 1024, _ body: (_ directory: CInt, _ name: String) -> Void
) throws -> Int {
  let directory = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
  let buffer = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 8)
  defer { buffer.deallocate() }
  var seen = 0
  while seen < 3 * fileCount {
    let count = try FileIO.listOn(directory.rawValue, into: buffer, byteCount: byteCount)
    if count == 0 { return seen }
    var position = 0
    while position < count {
      let record = DirectoryRecord(at: buffer + position)
      position += record.byteCount
      let name = String(cString: record.name.cString)
      if name == "." || name == ".." { continue }
      seen += 1
      body(directory.rawValue, name)
    }
  }
  return seen
}

private func makeFiles(in path: String) throws {
  try #require(mkdir(path, 0o755) == 0)
  for number in 0..<fileCount {
    close(open("\(path)/file-\(number)", O_CREAT | O_WRONLY, 0o644))
  }
}

@Suite(.serialized) struct ListingTests {
  @Test(
    "what is removed while it is listed is gone, and each name was seen once", arguments: grounds)
  func removing(_ ground: Ground) throws {
    try withView(on: ground) { view in
      let path = view + "/many"
      try makeFiles(in: path)
      var names: Set<String> = []
      let seen = try forEachEntry(of: path) { directory, name in
        #expect(names.insert(name).inserted, "\(name) came twice")
        #expect(unlinkat(directory, name, 0) == 0)
      }
      #expect(seen == fileCount)
      #expect(rmdir(path) == 0)
    }
  }

  @Test("a listing ends whose reader renames what it reads", arguments: grounds)
  func renaming(_ ground: Ground) throws {
    try withView(on: ground) { view in
      let path = view + "/many"
      try makeFiles(in: path)
      let seen = try forEachEntry(of: path) { directory, name in
        #expect(renameat(directory, name, directory, name + "_") == 0)
      }
      #expect(seen < 3 * fileCount)
      let left = try forEachEntry(of: path) { directory, name in
        #expect(name.hasSuffix("_"))
        #expect(unlinkat(directory, name, 0) == 0)
      }
      #expect(left == fileCount)
    }
  }

  @Test(
    "a place in a listing is found again, also after half of it was removed", arguments: grounds)
  func seeking(_ ground: Ground) throws {
    try withView(on: ground) { view in
      let path = view + "/many"
      try makeFiles(in: path)
      let stream = try #require(opendir(path))
      defer { closedir(stream) }
      var places: [(place: Int, name: String)] = []
      while true {
        let place = telldir(stream)
        guard let name = nextName(stream) else { break }
        places.append((place, name))
      }
      #expect(places.count == fileCount + 2)
      for number in stride(from: 0, to: places.count, by: 2) {
        _ = unlink("\(path)/\(places[number].name)")
      }
      for number in stride(from: places.count - 1, to: 0, by: -97)
      where number % 2 == 1 && !places[number].name.hasPrefix(".") {
        seekdir(stream, places[number].place)
        #expect(nextName(stream) == places[number].name)
      }
    }
  }

  private func nextName(_ stream: OpaquePointer) -> String? {
    guard let entry = readdir(stream) else { return nil }
    return withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  @Test("a directory that a rule keeps from being read tells nothing", arguments: grounds)
  func refusing(_ ground: Ground) throws {
    let rules = "/ read write exec backup\n/Documents/closed -read\n"
    try withView(on: ground, profile: rules) { view in
      let path = view + "/closed"
      try #require(mkdir(path, 0o755) == 0)
      close(open(path + "/file", O_CREAT | O_WRONLY, 0o644))
      do {
        _ = try forEachEntry(of: path) { _, name in Issue.record("\(name) is told") }
        Issue.record("it is listed")
      } catch let error as Errno {
        #expect(error == .accessDenied)
      }
      let outcome = try run("ls", [path])
      #expect(outcome.status != 0)
      #expect(outcome.text.isEmpty)
    }
  }

  @Test("a directory can be brought to the disk", arguments: grounds)
  func synchronizing(_ ground: Ground) throws {
    try withView(on: ground) { view in
      let directory = try Descriptor.open(view, O_RDONLY | O_DIRECTORY)
      #expect(fsync(directory.rawValue) == 0)
    }
  }

  private func withView(
    on ground: Ground, profile: String = "/ read write exec backup\n",
    _ body: (_ documents: String) throws -> Void
  ) throws {
    try withGround(ground) { directory in
      let view = try TestView(in: directory, TestView.Settings(profile: profile))
      try body(view.path + "/Documents")
      try view.unmount()
    }
  }
}
