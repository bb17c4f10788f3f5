// INIT: what a file system wants of what the kernel offers.
internal import CFuse3

/// The terms of one connection, before they are agreed.
public struct Connection {
  /// A capability that libfuse itself negotiates.
  public struct Capability: Sendable {
    let bit: UInt32

    /// POSIX ACLs are stored, inherited and enforced.
    public static let posixACL = Capability(bit: UInt32(FUSE_CAP_POSIX_ACL))
    /// The caller's umask comes with the request and is applied by us.
    public static let rawMode = Capability(bit: UInt32(FUSE_CAP_DONT_MASK))
    /// The kernel keeps symbolic links.
    public static let symbolicLinkCache = Capability(bit: UInt32(FUSE_CAP_CACHE_SYMLINKS))
    /// The kernel drops pages when attributes that it did not ask for have changed.
    public static let automaticInvalidation = Capability(bit: UInt32(FUSE_CAP_AUTO_INVAL_DATA))
    /// The kernel may ask for `.` and `..`, to answer file handles of nodes that it has forgotten.
    public static let exportSupport = Capability(bit: UInt32(FUSE_CAP_EXPORT_SUPPORT))
    /// Data moves through pipes.
    public static let spliceRead = Capability(bit: UInt32(FUSE_CAP_SPLICE_READ))
    /// The kernel keeps what is written until it has time to write it, and owns size and times.
    public static let writebackCache = Capability(bit: UInt32(FUSE_CAP_WRITEBACK_CACHE))
    /// OPEN carries O_TRUNC.
    public static let atomicTruncate = Capability(bit: UInt32(FUSE_CAP_ATOMIC_O_TRUNC))
  }

  private let raw: UnsafeMutablePointer<fuse_conn_info>
  /// Whether the kernel will do the I/O of files itself where it is allowed to.
  public let passesThrough: Bool

  init(_ raw: UnsafeMutablePointer<fuse_conn_info>, passesThrough: Bool) {
    self.raw = raw
    self.passesThrough = passesThrough
  }

  /// Wants a capability; false if the kernel does not offer it.
  @discardableResult
  public mutating func want(_ capability: Capability) -> Bool {
    cfuse_want(raw, capability.bit) != 0
  }

  /// Does without a capability that libfuse would want by itself.
  public mutating func refuse(_ capability: Capability) {
    cfuse_refuse(raw, capability.bit)
  }

  /// Asks for times to the nanosecond and for as much read-ahead as the kernel gives.
  ///
  /// Where the kernel does the I/O itself few bytes come here, and each thread's buffer for a
  /// request, which is always in memory, can be smaller.
  public mutating func useDefaults() {
    if passesThrough { raw.pointee.max_write = 256 << 10 }
    raw.pointee.time_gran = 1
    raw.pointee.max_readahead = 1 << 20
    raw.pointee.max_background = 64
    raw.pointee.congestion_threshold = 48
  }
}
