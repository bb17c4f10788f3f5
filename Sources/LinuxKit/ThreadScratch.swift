// Memory that belongs to one thread: a buffer for data, a few for names and one for numbers.
//
// Nothing in it outlives a request.
internal import CLinux

/// The calling thread's scratch memory.
public struct ThreadScratch {
  /// Room for data, in bytes: one full READ.
  public static let dataByteCount = 1 << 20
  /// How much more fits behind it, for a READ whose ends are widened to those of chunks.
  public static let marginByteCount = 128 << 10
  /// How many names fit beside it, of 256 bytes each.
  public static let nameCount = 16
  /// How many numbers fit behind the names and the paths.
  public static let numberCount = 4096

  private let start: UnsafeMutableRawPointer

  /// The calling thread's.
  ///
  /// Throws ENOMEM.
  @inline(__always)
  public static func current() throws(Errno) -> ThreadScratch {
    guard let start = clinux_thread_buffer() else { throw .noMemory }
    return ThreadScratch(start: start)
  }

  /// Room for `dataByteCount` bytes, and `marginByteCount` more.
  @inline(__always)
  public var data: UnsafeMutableRawPointer { start }

  @inline(__always)
  private var behind: UnsafeMutableRawPointer {
    start + ThreadScratch.dataByteCount + ThreadScratch.marginByteCount
  }

  /// Room for a name and its NUL; `slot` is below `nameCount`.
  @inline(__always)
  public func name(_ slot: Int) -> UnsafeMutablePointer<CChar> {
    (behind + slot * 256).assumingMemoryBound(to: CChar.self)
  }

  /// Room for the 2048 bytes of a path; `slot` is 0 or 1.
  public func path(_ slot: Int) -> UnsafeMutableRawPointer {
    behind + ThreadScratch.nameCount * 256 + slot * 2048
  }

  /// Room for `numberCount` numbers.
  @inline(__always)
  public var numbers: UnsafeMutablePointer<UInt32> {
    (behind + 8192).assumingMemoryBound(to: UInt32.self)
  }
}
