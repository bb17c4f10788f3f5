// Starting another program, without fork: the child is the program from its first instruction.
internal import CLinux
internal import Glibc

/// A program that we started and that is waited for by nobody else.
public struct ChildProcess: Sendable {
  /// The child's number; valid until `wait` has returned.
  public let pid: Int32

  /// How a child begins.
  public struct Start: Sendable {
    /// The program's path.
    public var path: [UInt8]
    /// Its arguments, with the name by which it is called.
    public var arguments: [[UInt8]]
    /// Its environment, such as `HOME=/`; nil for the caller's.
    public var environment: [[UInt8]]?
    /// Whether it gets a session of its own, so that no terminal's signals reach it.
    public var newSession: Bool

    /// A start with every field given.
    public init(
      path: [UInt8], arguments: [[UInt8]], environment: [[UInt8]]? = nil, newSession: Bool = false
    ) {
      self.path = path
      self.arguments = arguments
      self.environment = environment
      self.newSession = newSession
    }
  }

  /// Starts a program.
  ///
  /// Its descriptors 0, 1, ... are copies of `descriptors`, in that order, and no other is open in
  /// it; no signal is blocked, ignored or handled. Throws what execve(2) says, such as ENOENT.
  public static func spawn(_ start: Start, descriptors: [CInt]) throws(Errno) -> ChildProcess {
    let environment = start.environment ?? callersEnvironment()
    return try start.path.withCPath { path throws(Errno) in
      try withCStrings(start.arguments) { arguments throws(Errno) in
        try withCStrings(environment) { environment throws(Errno) in
          var pid: pid_t = 0
          let failure = clinux_spawn(
            &pid, path, arguments, environment, descriptors, CInt(descriptors.count),
            start.newSession ? 1 : 0)
          if failure != 0 { throw Errno(failure) }
          return ChildProcess(pid: pid)
        }
      }
    }
  }

  /// Waits for its end: its exit status, or 128 and the number of the signal that ended it.
  @discardableResult
  public func wait() throws(Errno) -> Int32 {
    var status: CInt = 0
    try retrying { waitpid(pid, &status, 0) }
    return clinux_exit_status(status)
  }

  /// Its exit status if it has ended, as `wait` gives it; nil while it runs.
  public func exitStatusIfEnded() throws(Errno) -> Int32? {
    var status: CInt = 0
    let ended = try retrying { waitpid(pid, &status, WNOHANG) }
    return ended == 0 ? nil : clinux_exit_status(status)
  }

  /// Ends it at once, with SIGKILL; it is still to be waited for.
  public func kill() throws(Errno) {
    try retrying { Glibc.kill(pid, SIGKILL) }
  }
}

/// The environment of this process, as bytes.
public func callersEnvironment() -> [[UInt8]] {
  var words: [[UInt8]] = []
  // Null only where a program has thrown its environment away.
  guard var next = clinux_environment() else { return [] }
  while let word = next.pointee {
    let characters = UnsafeBufferPointer(start: word, count: strlen(word))
    words.append(characters.map(UInt8.init(bitPattern:)))
    next += 1
  }
  return words
}

/// Calls `body` with a null-terminated array of C strings.
func withCStrings<Result>(
  _ words: [[UInt8]],
  _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws(Errno) -> Result
) throws(Errno) -> Result {
  if words.contains(where: { $0.contains(0) }) { throw .invalid }
  var pointers: [UnsafeMutablePointer<CChar>?] = []
  defer { for pointer in pointers { pointer?.deallocate() } }
  for word in words {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: word.count + 1)
    for (index, byte) in word.enumerated() { copy[index] = CChar(bitPattern: byte) }
    copy[word.count] = 0
    pointers.append(copy)
  }
  pointers.append(nil)
  return try pointers.withUnsafeBufferPointer { buffer throws(Errno) -> Result in
    // The null at the end makes sure that it is not empty.
    try body(buffer.baseAddress.unsafelyUnwrapped)
  }
}
