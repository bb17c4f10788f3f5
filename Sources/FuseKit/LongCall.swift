// Calls that may take as long as a disk likes: they must not keep threads from everyone else.
public import CFuse3
public import LinuxKit

/// A system call, for the request that this thread serves, that may take seconds.
public enum LongCall {
  /// Runs it; if too few threads are left that serve, another one takes this one's place meanwhile.
  @inlinable
  public static func run<Result>(_ call: () throws(Errno) -> Result) throws(Errno) -> Result {
    cfuse_begin_long()
    defer { cfuse_end_long() }
    return try call()
  }
}
