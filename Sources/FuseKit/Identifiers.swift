// The numbers by which the kernel names things of ours.

/// A node as the kernel names it: an index of the node table and the generation of its slot.
public struct NodeID: Hashable, Sendable {
  /// The number in the protocol.
  ///
  /// The view's root is 1.
  public let rawValue: UInt64

  /// Wraps a number from the protocol.
  @inlinable
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An open file or directory as the kernel names it.
public struct HandleID: Hashable, Sendable {
  /// The number in the protocol.
  public let rawValue: UInt64

  /// Wraps a number from the protocol.
  @inlinable
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// How many of the kernel's references to a node are taken back at once.
public typealias LookupCount = UInt64
