// Files that change while they are hashed.
import Glibc
import LinuxKit
import TestSupport
import Testing

@testable import Store

@Suite struct HashedFileTests {
  @Test("A file that becomes shorter while it is hashed is stale, whatever is computed of it")
  func cut() throws {
    let size = 2 * HashedFile.mappedByteCount + 1
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: HashedFile.bufferByteCount, alignment: 4096)
    defer { buffer.deallocate() }
    for digests in [BundleDigests.sha256, .chunks, [.sha1, .sha256, .chunks]] {
      for left in [0, HashedFile.mappedByteCount, size - 4096, size - 1] {
        try withTemporaryDirectory { directory in
          let path = directory + "/file"
          let descriptor = try Descriptor.open(path, O_CREAT | O_RDWR, mode: 0o600)
          try #require(ftruncate(descriptor.rawValue, size) == 0)
          let file = try HashedFile(descriptor, digests, number: 0)
          #expect(file.hashNextBlock(buffer)?.result == nil)
          try #require(truncate(path, left) == 0)
          var result: Result<FileDigests, Errno>?
          while result == nil, let block = file.hashNextBlock(buffer) { result = block.result }
          #expect(result == .failure(.stale), "\(digests.rawValue) of \(left) bytes")
        }
      }
    }
  }
}
