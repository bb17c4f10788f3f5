// Memory at a fixed address: reserved at once, taken page by page.
internal import Glibc

/// A mapping, which lives as long as the process.
public struct Mapping: @unchecked Sendable {
  /// Where it begins; page-aligned and zero.
  public let start: UnsafeMutableRawPointer
  /// How long it is, in bytes.
  public let byteCount: Int

  /// Reserves address space without memory behind it.
  ///
  /// Throws ENOMEM where the limits of the process don't allow it.
  public init(reserving byteCount: Int) throws(Errno) {
    let start = mmap(
      nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    guard let start, start != MAP_FAILED else { throw Errno.last }
    self.start = start
    self.byteCount = byteCount
  }

  /// Lets nobody write to it any more.
  public func protect() { mprotect(start, byteCount, PROT_READ) }

  /// Maps a file in memory, which a process shares with those that it is continued by.
  ///
  /// It is left out of core files, for what is in them would fill the disk of who has a crash.
  /// Throws ENOMEM, or EFBIG where files may not be so large.
  public init(sharing file: borrowing Descriptor, byteCount: Int) throws(Errno) {
    let protection = PROT_READ | PROT_WRITE
    let start = mmap(nil, byteCount, protection, MAP_SHARED | MAP_NORESERVE, file.rawValue, 0)
    guard let start, start != MAP_FAILED else { throw Errno.last }
    madvise(start, byteCount, MADV_DONTDUMP)
    self.start = start
    self.byteCount = byteCount
  }

  /// Makes a range ready to be read and written at once, as far as that can be had.
  ///
  /// What was given back takes memory again.
  public static func populate(_ start: UnsafeMutableRawPointer, byteCount: Int) {
    madvise(start, byteCount, MADV_POPULATE_WRITE)
  }

  /// Gives the memory of a range of a shared mapping back; it reads as zero from then on.
  public static func discardShared(_ start: UnsafeMutableRawPointer, byteCount: Int) {
    madvise(start, byteCount, MADV_REMOVE)
  }

  /// Gives the memory of a range of a private mapping back; it reads as zero from then on.
  public static func discard(_ start: UnsafeMutableRawPointer, byteCount: Int) {
    madvise(start, byteCount, MADV_DONTNEED)
  }
}
