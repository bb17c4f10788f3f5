// Copying what is in a regular file.
internal import CLinux
internal import Glibc

extension Descriptor {
  /// Fills an empty file with what this one holds: by sharing blocks where the file system can,
  /// with its holes where it can't.
  ///
  /// Throws EFBIG if there is more than `byteCount`, the size that was looked at before.
  public borrowing func copyContents(
    to target: borrowing Descriptor, byteCount: Int64
  ) throws(Errno) {
    let from = rawValue
    let to = target.rawValue
    if clinux_clone(to, from) == 0 { return }
    var position: Int64 = 0
    while position < byteCount {
      guard let data = try seek(from, position, SEEK_DATA), data < byteCount else { break }
      let end = min(try seek(from, data, SEEK_HOLE) ?? byteCount, byteCount)
      try copyRange(from, to, Int(data)..<Int(end))
      position = end
    }
    try retrying { ftruncate(to, Int(byteCount)) }
  }
}

/// The next data or hole; nil where there is none any more.
private func seek(_ file: CInt, _ position: Int64, _ whence: CInt) throws(Errno) -> Int64? {
  do {
    return try retrying { Int64(lseek(file, Int(position), whence)) }
  } catch Errno(ENXIO) {
    return nil
  }
}

private func copyRange(_ from: CInt, _ to: CInt, _ range: Range<Int>) throws(Errno) {
  var source = range.lowerBound
  var target = range.lowerBound
  while source < range.upperBound {
    let rest = range.upperBound - source
    let count: Int
    do throws(Errno) {
      count = try retrying { copy_file_range(from, &source, to, &target, rest, 0) }
    } catch {
      guard Errno.refusedCopies.contains(error) else { throw error }
      return try copyChunks(from, to, source..<range.upperBound)
    }
    if count == 0 { return }  // It was cut shorter meanwhile: the rest is a hole.
  }
}

extension Errno {
  /// What copy_file_range(2) says where read and write still work.
  fileprivate static let refusedCopies: Set<Errno> = [
    .crossDevice, .invalid, .notSupported, .unsupported, Errno(EBADF), .notPermitted,
  ]
}

private func copyChunks(_ from: CInt, _ to: CInt, _ range: Range<Int>) throws(Errno) {
  var buffer = [UInt8](repeating: 0, count: min(range.count, 128 << 10))
  var position = range.lowerBound
  while position < range.upperBound {
    let wanted = min(buffer.count, range.upperBound - position)
    let count = try retrying {
      buffer.withUnsafeMutableBytes { pread(from, $0.baseAddress, wanted, position) }
    }
    if count == 0 { return }
    var written = 0
    while written < count {
      written += try retrying {
        buffer.withUnsafeBytes {
          pwrite(to, $0.baseAddress?.advanced(by: written), count - written, position + written)
        }
      }
    }
    position += count
  }
}

extension Descriptor {
  /// How much a caller like this one may still write to the file system of the open file.
  public borrowing func freeByteCount() throws(Errno) -> Int64 {
    Int64(clamping: try space().freeByteCount)
  }

  /// Sets the times of the last access and of the last change, in seconds since 1970.
  public borrowing func setModified(seconds: Int, nanoseconds: Int = 0) throws(Errno) {
    let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    try setTimes(accessed: time, modified: time)
  }
}

extension Walker {
  /// Sets the times of the last access and of the last change of an entry, of the link itself where
  /// it is one, in seconds since 1970.
  public borrowing func setModified(
    of name: [UInt8], seconds: Int, nanoseconds: Int
  ) throws(Errno) {
    let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    try setTimes(of: name, accessed: time, modified: time)
  }
}

extension Descriptor {
  /// Fills a buffer with what the file holds from an offset on.
  ///
  /// Throws ESTALE if the file ends before.
  public borrowing func readExactly(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    let raw = rawValue
    var count = 0
    while count < buffer.count {
      let got = try retrying {
        pread(
          raw, buffer.baseAddress?.advanced(by: count), buffer.count - count, Int(offset) + count)
      }
      if got == 0 { throw .stale }
      count += got
    }
  }
}

extension Descriptor {
  /// Where there is data in the first `byteCount` bytes, and no hole.
  public borrowing func dataRegions(of byteCount: Int64) throws(Errno) -> [Range<Int64>] {
    var regions: [Range<Int64>] = []
    var position: Int64 = 0
    while position < byteCount, let data = try seek(rawValue, position, SEEK_DATA),
      data < byteCount
    {
      let end = min(try seek(rawValue, data, SEEK_HOLE) ?? byteCount, byteCount)
      regions.append(data..<end)
      position = end
    }
    return regions
  }

  /// What the file holds from an offset on, at most so many bytes; fewer only at its end.
  public borrowing func readChunk(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    let raw = rawValue
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let start = done
      let got = try retrying {
        bytes.withUnsafeMutableBytes {
          pread(raw, $0.baseAddress?.advanced(by: start), count - start, Int(offset) + start)
        }
      }
      if got == 0 { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }

  /// Writes all bytes from an offset on.
  public borrowing func writeChunk(
    _ bytes: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    let raw = rawValue
    var done = 0
    while done < bytes.count {
      done += try retrying {
        pwrite(raw, bytes.baseAddress?.advanced(by: done), bytes.count - done, Int(offset) + done)
      }
    }
  }

  /// Cuts the file, or lengthens it by a hole.
  public borrowing func setByteCount(_ count: Int64) throws(Errno) {
    let raw = rawValue
    try retrying { ftruncate(raw, Int(count)) }
  }
}

extension Descriptor {
  /// What a path leads to, for reading; links are followed.
  public static func readable(_ path: [UInt8]) throws(Errno) -> Descriptor {
    try Descriptor.following(path).reopened(O_RDONLY)
  }

  /// A copy of standard input.
  public static func standardInput() throws(Errno) -> Descriptor { try duplicate(STDIN_FILENO) }

  /// A copy of one of the streams that a program writes to.
  public static func copy(of stream: StandardStream) throws(Errno) -> Descriptor {
    try duplicate(stream.rawValue)
  }

  /// How much of the file was read.
  public borrowing func position() throws(Errno) -> Int64 {
    let raw = rawValue
    return try retrying { Int64(lseek(raw, 0, SEEK_CUR)) }
  }
}
