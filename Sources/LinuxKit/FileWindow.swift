// Looking at a file's bytes where the kernel keeps them, which saves the copy that read(2) makes.
internal import CLinux
internal import Glibc

/// What has become of a look at a part of a file.
public enum FileLook: Sendable {
  /// The file can't be looked at like that, and nobody has.
  case impossible
  /// All of it was there.
  case whole
  /// Some of it was not there, or went meanwhile, and was seen as zeros.
  case torn
}

extension Descriptor {
  /// Calls `look` with a part of the file, from a multiple of the page size on.
  ///
  /// Whoever writes to the file meanwhile changes what is seen: who looks twice may see two things.
  /// A call must not be made from within `look`.
  public borrowing func withWindow(
    at offset: Int64, byteCount: Int, _ look: (UnsafeRawBufferPointer) -> Void
  ) throws(Errno) -> FileLook {
    guard byteCount > 0, let start = clinux_window_open(rawValue, Int(offset), byteCount) else {
      return .impossible
    }
    look(UnsafeRawBufferPointer(start: start, count: byteCount))
    guard clinux_window_close(start, byteCount) == 1 else { return .torn }
    // The rest of the last page reads as zeros without anybody noticing.
    return try status().byteCount - offset < byteCount ? .torn : .whole
  }
}
