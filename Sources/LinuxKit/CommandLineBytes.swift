// The arguments that the process was started with, as the kernel gave them.

extension CommandLine {
  /// The arguments behind the program's name, byte for byte.
  ///
  /// `CommandLine.arguments` repairs what is not UTF-8, and would so name another file.
  public static var argumentBytes: [[UInt8]] {
    (0..<Int(argc)).dropFirst().compactMap { index in
      unsafeArgv[index].map { Array(UnsafeBufferPointer(start: $0, count: length(of: $0))) }
        .map { $0.map(UInt8.init(bitPattern:)) }
    }
  }

  private static func length(of string: UnsafePointer<CChar>) -> Int {
    var length = 0
    while string[length] != 0 { length += 1 }
    return length
  }
}
