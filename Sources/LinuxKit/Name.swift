// A file name as the kernel hands it over: bytes that end in NUL and belong to the request.

/// One component of a path, borrowed from the request that carries it.
///
/// Bytes, never text: two names are the same only if every byte is. Valid during the request.
public struct Name {
  /// The bytes and their NUL, for system calls.
  public let cString: UnsafePointer<CChar>
  /// The number of bytes without the NUL.
  public let count: Int

  /// The longest name that Linux file systems take, in bytes.
  public static let maximumByteCount = 255

  /// Borrows a C string.
  @inlinable
  public init(_ cString: UnsafePointer<CChar>) {
    self.cString = cString
    var count = 0
    while cString[count] != 0 { count += 1 }
    self.count = count
  }

  /// The bytes as a buffer, for code that takes spans.
  @inlinable
  public var bytes: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self), count: count)
  }

  /// Whether it is `.` or `..`, which never name an entry of their own.
  @inlinable
  public var isDots: Bool {
    cString[0] == 46 && (count == 1 || (count == 2 && cString[1] == 46))
  }

  /// Whether the first bytes are these.
  public func begins(with prefix: StaticString) -> Bool {
    guard prefix.utf8CodeUnitCount <= count else { return false }
    for index in 0..<prefix.utf8CodeUnitCount
    where UInt8(bitPattern: cString[index]) != prefix.utf8Start[index] {
      return false
    }
    return true
  }

  /// Whether the bytes are these.
  public func equals(_ other: [UInt8]) -> Bool {
    guard other.count == count else { return false }
    for index in 0..<count where UInt8(bitPattern: cString[index]) != other[index] { return false }
    return true
  }
}
