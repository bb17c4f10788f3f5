// A path or a word as bytes, on its way to the kernel.

extension [UInt8] {
  /// The bytes of a C string, which may be no UTF-8.
  public init(cString: UnsafePointer<CChar>) {
    var end = cString
    while end.pointee != 0 { end += 1 }
    self = UnsafeBufferPointer(start: cString, count: end - cString).map(UInt8.init(bitPattern:))
  }

  /// Calls `body` with these bytes and a NUL behind them; throws EINVAL if there is one inside.
  public func withCPath<Result>(
    _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    if contains(0) { throw .invalid }
    var copy = self
    copy.append(0)
    return try copy.withUnsafeBufferPointer { bytes throws(Errno) -> Result in
      // An array that is not empty has an address.
      let start = bytes.baseAddress.unsafelyUnwrapped
      return try start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        path throws(Errno) -> Result in try body(path)
      }
    }
  }
}
