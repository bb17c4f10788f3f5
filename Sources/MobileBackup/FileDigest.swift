// The digest by which a file's content is known again.
internal import Crypto
internal import Glibc
internal import LinuxKit

/// The digest of a file from its beginning on.
func sha1(of file: borrowing Descriptor) throws(Errno) -> [UInt8] {
  guard var digest = try? SHA1() else { throw .unsupported }
  let raw = file.rawValue
  let capacity = 1 << 20
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 64)
  defer { buffer.deallocate() }
  var position = 0
  while true {
    let count = try retrying { pread(raw, buffer.baseAddress, capacity, position) }
    if count == 0 { return digest.finish() }
    digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    position += count
  }
}
