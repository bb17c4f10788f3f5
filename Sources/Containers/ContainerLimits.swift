// How much a container may hold in all.

/// The limits that a container's record sets; nil where there is none.
public struct ContainerLimits: Hashable, Sendable {
  /// The most bytes.
  public var byteCount: UInt64?
  /// The most entries.
  public var entryCount: UInt64?
  /// Beyond so many bytes a line is written into the log.
  public var softByteCount: UInt64?

  /// Limits, each of which may be absent.
  public init(byteCount: UInt64? = nil, entryCount: UInt64? = nil, softByteCount: UInt64? = nil) {
    self.byteCount = byteCount
    self.entryCount = entryCount
    self.softByteCount = softByteCount
  }

  /// Whether nothing is limited.
  public var isEmpty: Bool { self == ContainerLimits() }
}
