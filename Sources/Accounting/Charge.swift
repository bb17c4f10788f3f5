// What a file costs its container: the one place that says it.
//
// Sizes are apparent ones, so that a hole is paid for when it is made, and nothing that fills it
// later, through a mapping for instance, can cost more.

/// A number of bytes and of entries.
public struct Charge: Hashable, Sendable {
  /// Bytes: 128 bits, since two files without a block can have more than 64 bits count.
  public var bytes: Int128
  /// Entries.
  public var entries: Int64

  /// So many of each.
  public init(bytes: Int128 = 0, entries: Int64 = 0) {
    self.bytes = bytes
    self.entries = entries
  }

  /// Both figures added.
  public static func += (left: inout Charge, right: Charge) {
    left.bytes &+= right.bytes
    left.entries &+= right.entries
  }
}

extension Charge {
  /// What things are counted in.
  public static let unit: Int64 = 4096

  /// A length, rounded up to whole units.
  @inlinable
  public static func rounded(_ size: Int64) -> Int64 {
    guard size > 0 else { return 0 }
    // The largest file there can be would need one more bit.
    let last = (size - 1) / unit
    return last >= Int64.max / unit ? Int64.max : (last + 1) * unit
  }

  /// What the contents of something cost: of a file or a link by its length, of a directory one
  /// unit, of anything else nothing.
  @inlinable
  public static func contents(type: UInt32, size: Int64) -> Int64 {
    switch type & 0o170000 {
    case 0o100000, 0o120000: rounded(size)
    case 0o040000: unit
    default: 0
    }
  }
}
