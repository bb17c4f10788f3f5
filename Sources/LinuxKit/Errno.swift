// An error number: what a system call said when it failed.
public import Glibc

/// A failed call, as the positive number that the kernel gave.
public struct Errno: Error, Hashable, Sendable {
  /// The number, as in errno(3).
  public let code: CInt

  /// Wraps a positive error number.
  @inlinable
  public init(_ code: CInt) { self.code = code }

  /// The error of the call just made.
  ///
  /// To be read in the statement after it.
  @inlinable
  public static var last: Errno { Errno(errno) }

  /// Its name in errno.h, such as `EACCES`; `OK` for 0, the number where it has none.
  public var symbol: String {
    if code == 0 { return "OK" }
    return strerrorname_np(code).map { String(cString: $0) } ?? String(code)
  }

  /// The C library's words for it, for a message on stderr.
  public var message: String { String(cString: strerror(code)) }
}

extension Errno {
  /// EPERM.
  public static var notPermitted: Errno { Errno(EPERM) }
  /// ENOENT.
  public static var noEntry: Errno { Errno(ENOENT) }
  /// ENOMEM.
  public static var noMemory: Errno { Errno(ENOMEM) }
  /// EBADF.
  public static var badDescriptor: Errno { Errno(EBADF) }
  /// ENFILE.
  public static var fileTableOverflow: Errno { Errno(ENFILE) }
  /// ENODATA.
  public static var noData: Errno { Errno(ENODATA) }
  /// ERANGE.
  public static var outOfRange: Errno { Errno(ERANGE) }
  /// ETXTBSY.
  public static var textBusy: Errno { Errno(ETXTBSY) }
  /// EMFILE.
  public static var tooManyOpenFiles: Errno { Errno(EMFILE) }
  /// EWOULDBLOCK.
  public static var wouldBlock: Errno { Errno(EWOULDBLOCK) }
  /// ENXIO.
  public static var noSuchAddress: Errno { Errno(ENXIO) }
  /// EIO.
  public static var inputOutput: Errno { Errno(EIO) }
  /// EACCES.
  public static var accessDenied: Errno { Errno(EACCES) }
  /// EBUSY.
  public static var busy: Errno { Errno(EBUSY) }
  /// EEXIST.
  public static var exists: Errno { Errno(EEXIST) }
  /// EXDEV.
  public static var crossDevice: Errno { Errno(EXDEV) }
  /// ENOTDIR.
  public static var notDirectory: Errno { Errno(ENOTDIR) }
  /// EINVAL.
  public static var invalid: Errno { Errno(EINVAL) }
  /// EROFS.
  public static var readOnly: Errno { Errno(EROFS) }
  /// ENAMETOOLONG.
  public static var nameTooLong: Errno { Errno(ENAMETOOLONG) }
  /// ENOSYS.
  public static var unsupported: Errno { Errno(ENOSYS) }
  /// ENOTEMPTY.
  public static var notEmpty: Errno { Errno(ENOTEMPTY) }
  /// ESTALE.
  public static var stale: Errno { Errno(ESTALE) }
  /// ENOTCONN.
  public static var notConnected: Errno { Errno(ENOTCONN) }
  /// ECONNREFUSED.
  public static var connectionRefused: Errno { Errno(ECONNREFUSED) }
  /// ECONNRESET.
  public static var connectionReset: Errno { Errno(ECONNRESET) }
  /// EPIPE.
  public static var brokenPipe: Errno { Errno(EPIPE) }
  /// ENOSPC.
  public static var noSpace: Errno { Errno(ENOSPC) }
  /// EFBIG.
  public static var fileTooLarge: Errno { Errno(EFBIG) }
  /// EDQUOT.
  public static var quotaExceeded: Errno { Errno(EDQUOT) }
  /// ELOOP.
  public static var tooManyLinks: Errno { Errno(ELOOP) }
  /// EMSGSIZE.
  public static var messageTooLong: Errno { Errno(EMSGSIZE) }
  /// EPROTO: what is there is of another kind.
  public static var protocolMismatch: Errno { Errno(EPROTO) }
  /// EOPNOTSUPP.
  public static var notSupported: Errno { Errno(EOPNOTSUPP) }
}

/// Runs `call` until it stops failing with EINTR, and throws what it fails with otherwise.
///
/// Not for close(2): Linux frees the descriptor even then.
@inlinable
@inline(__always)
@discardableResult
public func retrying<Count: FixedWidthInteger>(_ call: () -> Count) throws(Errno) -> Count {
  while true {
    let count = call()
    if count != -1 { return count }
    let code = errno
    if code != EINTR { throw Errno(code) }
  }
}
