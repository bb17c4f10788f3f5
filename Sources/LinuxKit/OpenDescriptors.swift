// What a process has open.
internal import CLinux
internal import Glibc

/// The descriptors of this process.
public enum OpenDescriptors {
  /// All of them, without the one that it takes to look.
  public static func all() throws(Errno) -> [CInt] {
    let directory = try Descriptor.open("/proc/self/fd", O_RDONLY | O_DIRECTORY)
    let scratch = try ThreadScratch.current()
    var found: [CInt] = []
    var count = try FileIO.list(
      directory.rawValue, from: 0, into: scratch.data, byteCount: ThreadScratch.dataByteCount)
    while count > 0 {
      var position = 0
      while position < count {
        let record = DirectoryRecord(at: scratch.data + position)
        if let number = CInt(String(cString: record.name.cString)) { found.append(number) }
        position += record.byteCount
      }
      count = try FileIO.listOn(
        directory.rawValue, into: scratch.data, byteCount: ThreadScratch.dataByteCount)
    }
    let own = directory.rawValue
    return found.filter { $0 != own }
  }

  /// Closes all of them but these.
  public static func closeAll(but kept: DescriptorSet) {
    kept.gaps { first, last in clinux_close_range(UInt32(first), UInt32(last)) }
  }

  /// Has all of them from 3 on closed when another program is executed.
  public static func closeOnExec() { clinux_keep_on_exec(0) }

  /// All bytes of an open file, wherever it stands.
  public static func contents(of descriptor: CInt, atMost limit: Int) throws(Errno) -> [UInt8] {
    try Descriptor.open("/proc/self/fd/\(descriptor)", O_RDONLY).readToEnd(atMost: limit)
  }
}
