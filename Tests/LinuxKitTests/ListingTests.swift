// Directories that are read from a place.

import Foundation
import Glibc
import LinuxKit
import Testing

@Suite struct ListingTests {
  @Test("a directory that was first read at its end is read from its beginning")
  func endFirst() throws {
    let directory = "/tmp/listing-\(UUID().uuidString)"
    try #require(mkdir(directory, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    _ = try Descriptor.open(directory + "/f", O_CREAT | O_WRONLY, mode: 0o600)
    let listing = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 8)
    defer { buffer.deallocate() }
    func names(from offset: Int64) throws -> Int {
      var names = 0
      var place = 0
      let count = try FileIO.list(
        listing.rawValue, from: offset, into: buffer, byteCount: 4096)
      while place < count {
        place += DirectoryRecord(at: buffer + place).byteCount
        names += 1
      }
      return names
    }
    // Where the end is differs; ext4's is the largest there is, and others have nothing there.
    #expect(try names(from: Int64.max) == 0)
    #expect(try names(from: 0) == 3)
    #expect(try names(from: 0) == 3)
  }
}
