// What a run needs whatever its container holds. It takes about as long as the view's daemon to
// answer, and is made meanwhile.
internal import LinuxKit

/// What is made ahead.
struct Groundwork {
  /// What the host's root directory has.
  let host: HostTree
  /// The program that refuses system calls, or why there is none.
  let filter: Result<[UInt8], Errno>

  /// Makes it for what a run reaches.
  init(_ reach: Reach) {
    host = .current()
    filter = Result { () throws(Errno) in try SystemCallFilter.program(of: reach.systemCallRules) }
  }
}
