// A path as a view shows it: absolute, without `.` and `..`.

/// A path inside a view, as the names on the way from its root.
public struct ViewPath: Hashable, Sendable {
  /// The most bytes that one name may have.
  public static let maximumNameByteCount = 255

  /// The names from the root on; none for the root itself.
  public let components: [[UInt8]]
  /// Whether a slash stood at the end: a directory was meant.
  public let namesDirectory: Bool

  /// Why bytes are no path of a view.
  public struct Malformed: Error, Hashable, Sendable {
    /// What should have been there.
    public let expected: String
  }

  /// The path of some names.
  public init(components: [[UInt8]], namesDirectory: Bool = false) {
    self.components = components
    self.namesDirectory = namesDirectory
  }

  /// Reads `/Documents/a`; several slashes in a row count as one.
  public init(_ bytes: some Collection<UInt8>) throws(Malformed) {
    guard bytes.first == UInt8(ascii: "/") else {
      throw Malformed(expected: "a path that begins with /")
    }
    let names = bytes.split(separator: UInt8(ascii: "/")).map { Array($0) }
    for name in names { try Self.check(name) }
    components = names
    namesDirectory = names.isEmpty || bytes.suffix(1).first == UInt8(ascii: "/")
  }

  private static func check(_ name: [UInt8]) throws(Malformed) {
    if name.contains(0) { throw Malformed(expected: "a path without a zero byte") }
    if name == Array(".".utf8) || name == Array("..".utf8) {
      throw Malformed(expected: "a path without . and ..")
    }
    guard name.count <= maximumNameByteCount else {
      throw Malformed(expected: "names of at most \(maximumNameByteCount) bytes")
    }
  }
}
