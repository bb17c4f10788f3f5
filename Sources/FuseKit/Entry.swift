// What a lookup answers: a node, its attributes, and how long the kernel may believe them.
public import CFuse3

/// The answer to everything that names a node for the kernel.
public struct Entry {
  @usableFromInline
  var raw = fuse_entry_param()

  /// An entry whose fields are still to be set.
  @inlinable
  public init() {}

  /// The node; 0 says that the name does not exist.
  @inlinable
  public var node: NodeID {
    get { NodeID(UInt64(raw.ino)) }
    set { raw.ino = fuse_ino_t(newValue.rawValue) }
  }

  /// The attributes.
  @inlinable
  public var attributes: stat {
    get { raw.attr }
    set { raw.attr = newValue }
  }

  /// How long the kernel may keep the name.
  @inlinable
  public var lifetimeSeconds: Double {
    get { raw.entry_timeout }
    set { raw.entry_timeout = newValue }
  }

  /// How long the kernel may keep the attributes.
  @inlinable
  public var attributeLifetimeSeconds: Double {
    get { raw.attr_timeout }
    set { raw.attr_timeout = newValue }
  }
}
