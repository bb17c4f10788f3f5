// The single answer to one kernel request.
//
// Anything that the kernel may do with an answer, such as forgetting the node, can happen before
// the answering call returns: locks are dropped first.
public import CFuse3
internal import Glibc
public import LinuxKit

/// The single answer to one kernel request.
///
/// Consumed by exactly one method. Dropping it is a bug: it traps in debug, and answers EIO in
/// release, so that the caller never hangs in the kernel.
public struct Reply: ~Copyable {
  let request: Request

  init(_ request: Request) { self.request = request }

  deinit {
    assertionFailure("request dropped without an answer")
    fuse_reply_err(request.raw, EIO)
  }

  /// Takes the request out of the value, so that the deinit does not run.
  @inline(__always)
  private consuming func take() -> fuse_req_t {
    let raw = request.raw
    discard self
    return raw
  }

  /// The operation failed.
  public consuming func fail(_ error: Errno) {
    fuse_reply_err(take(), error.code)
  }

  /// The operation succeeded and has nothing to say.
  public consuming func succeed() {
    fuse_reply_err(take(), 0)
  }

  /// For a request that wants no answer, such as FORGET.
  public consuming func none() {
    fuse_reply_none(take())
  }

  /// A node.
  ///
  /// False if the kernel no longer waits for it, so that its lookup count must be undone.
  public consuming func entry(_ entry: borrowing Entry) -> Bool {
    withUnsafePointer(to: entry.raw) { [raw = take()] in fuse_reply_entry(raw, $0) == 0 }
  }

  /// A new open file.
  ///
  /// False if the kernel no longer waits for it.
  public consuming func created(
    _ entry: borrowing Entry, _ handle: HandleID, _ mode: OpenMode
  ) -> Bool {
    withUnsafePointer(to: entry.raw) { [raw = take()] in
      cfuse_reply_create(raw, $0, handle.rawValue, mode.flags.rawValue, mode.backing) == 0
    }
  }

  /// An open file or directory.
  ///
  /// False if the kernel no longer waits for it.
  public consuming func opened(_ handle: HandleID, _ mode: OpenMode) -> Bool {
    cfuse_reply_open(take(), handle.rawValue, mode.flags.rawValue, mode.backing) == 0
  }

  /// Attributes, and how long the kernel may believe them.
  public consuming func attributes(_ attributes: borrowing stat, lifetimeSeconds: Double) {
    withUnsafePointer(to: attributes) { [raw = take()] in
      _ = fuse_reply_attr(raw, $0, lifetimeSeconds)
    }
  }

  /// Bytes: of a file, a listing, an xattr.
  public consuming func bytes(_ bytes: UnsafeRawPointer, count: Int) {
    _ = fuse_reply_buf(take(), bytes.assumingMemoryBound(to: CChar.self), count)
  }

  /// A listing.
  ///
  /// False if the kernel no longer waits for it, so that the lookups in it must be undone.
  public consuming func listing(_ listing: DirectoryBuffer) -> Bool {
    fuse_reply_buf(
      take(), UnsafePointer(listing.start.assumingMemoryBound(to: CChar.self)), listing.count) == 0
  }

  /// The target of a symbolic link, which ends in NUL.
  public consuming func target(_ target: UnsafePointer<CChar>) {
    _ = fuse_reply_readlink(take(), target)
  }

  /// How many bytes were written or copied.
  public consuming func written(_ count: Int) {
    _ = fuse_reply_write(take(), count)
  }

  /// How many bytes an xattr or the list of their names has.
  public consuming func size(_ count: Int) {
    _ = fuse_reply_xattr(take(), count)
  }

  /// Where data or a hole begins.
  public consuming func offset(_ offset: Int64) {
    _ = fuse_reply_lseek(take(), off_t(offset))
  }

  /// What is free.
  public consuming func fileSystemStatus(_ status: borrowing statvfs) {
    withUnsafePointer(to: status) { [raw = take()] in _ = fuse_reply_statfs(raw, $0) }
  }
}

/// What an answer to OPEN, CREATE or OPENDIR says beside the handle.
public struct OpenFlags: OptionSet, Sendable {
  /// FOPEN_* bits as in the kernel's fuse.h.
  public let rawValue: UInt32

  /// Wraps bits of the protocol.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Every read and write comes to us, and nothing of the file can be mapped shared.
  public static let directIO = OpenFlags(rawValue: 1 << 0)
  /// The kernel keeps what it has cached of this inode.
  public static let keepCache = OpenFlags(rawValue: 1 << 1)
  /// The kernel reads and writes the backing file itself, by the number beside the flags.
  public static let passthrough = OpenFlags(rawValue: 1 << 7)
  /// The kernel caches the listing.
  public static let cacheDirectory = OpenFlags(rawValue: 1 << 3)
}

/// How the kernel is to do I/O on an open file.
public struct OpenMode: Equatable, Sendable {
  /// What the answer says.
  public let flags: OpenFlags
  /// The backing file's number for passthrough; 0 without.
  public let backing: Int32

  /// A mode without passthrough.
  public init(_ flags: OpenFlags) {
    self.flags = flags
    backing = 0
  }

  /// Passthrough to a backing file; with `isWatched` of all but what is written by calls, which
  /// comes to us.
  public init(backing: Int32, isWatched: Bool = false) {
    flags = isWatched ? [.passthrough, .directIO] : .passthrough
    self.backing = backing
  }
}
