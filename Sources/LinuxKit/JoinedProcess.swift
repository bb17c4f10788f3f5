// A process that has joined a container which others have made.
internal import CLinux
internal import Glibc

/// The namespaces of a process, held open.
public struct NamespaceSet: ~Copyable {
  fileprivate var files: [CInt]

  /// Those of a process.
  ///
  /// Throws EACCES if the caller may not look at it, and ENOENT or ESRCH if it has ended.
  public init(of process: Int32) throws(Errno) {
    var files = [CInt](repeating: -1, count: Int(CLINUX_NAMESPACES))
    try retrying { clinux_open_namespaces(process, &files) }
    self.files = files
  }

  deinit { for file in files where file >= 0 { _ = Descriptor(owning: file) } }
}

/// Why a process did not come to execute its program in a container.
public struct JoinFailure: Error, Equatable, Sendable {
  /// What could not be done.
  public let what: String
  /// What the kernel said.
  public let errno: Errno

  /// A failure with every field given.
  public init(what: String, errno: Errno) {
    self.what = what
    self.errno = errno
  }
}

/// A program in a container of others, and the process that waits for it; both die with the thread
/// that made them.
///
/// Whoever holds it must `wait`: dropping it leaves a zombie until the caller ends.
public struct JoinedProcess: ~Copyable {
  /// How it begins.
  public struct Start {
    /// Whom root becomes.
    public var uid: UInt32
    /// The group of it.
    public var gid: UInt32
    /// What becomes 0, 1 and 2.
    public var streams: [CInt]
    /// Whether 0 becomes the terminal that controls it.
    public var hasTerminal: Bool
    /// Whether it is kept from sockets without a file whose makers are outside.
    public var isScoped = false
    /// A program of seccomp's.
    public var filter: [UInt8]
    /// The working directory, inside.
    public var directory: [UInt8]
    /// What is executed, inside.
    public var program: [UInt8]
    /// Its arguments, with the name by which it is called.
    public var arguments: [[UInt8]]
    /// Its environment.
    public var environment: [[UInt8]]

    /// A start with every field given.
    public init(
      uid: UInt32, gid: UInt32, streams: [CInt], hasTerminal: Bool, filter: [UInt8],
      directory: [UInt8], program: [UInt8], arguments: [[UInt8]], environment: [[UInt8]]
    ) {
      self.uid = uid
      self.gid = gid
      self.streams = streams
      self.hasTerminal = hasTerminal
      self.filter = filter
      self.directory = directory
      self.program = program
      self.arguments = arguments
      self.environment = environment
    }
  }

  /// The process that waits.
  private let pid: Int32
  /// Readable once it has ended.
  public let handle: Descriptor
  /// The program, which leads a session and a group of its own.
  public let program: Int32

  /// Executes a program in the namespaces of another; it has begun when this returns.
  public init(_ namespaces: borrowing NamespaceSet, _ start: Start) throws(JoinFailure) {
    let memory = CMemory()
    var report = clinux_join_report()
    var (handle, program): (CInt, pid_t) = (-1, -1)
    let pid = namespaces.files.withUnsafeBufferPointer { files in
      start.filter.withUnsafeBytes { filter in
        var join = clinux_join()
        join.namespaces = files.baseAddress
        (join.uid, join.gid) = (start.uid, start.gid)
        join.streams = (start.streams[0], start.streams[1], start.streams[2])
        join.is_scoped = start.isScoped ? 1 : 0
        join.has_terminal = start.hasTerminal ? 1 : 0
        (join.filter, join.filter_size) = (filter.baseAddress, filter.count)
        join.directory = UnsafePointer(memory.string(start.directory))
        join.program = UnsafePointer(memory.string(start.program))
        join.arguments = UnsafePointer(memory.vector(start.arguments))
        join.environment = UnsafePointer(memory.vector(start.environment))
        return clinux_join(&join, &handle, &program, &report)
      }
    }
    guard pid > 0 else {
      let what = withUnsafeBytes(of: report.what) { $0.prefix { $0 != 0 }.map { $0 } }
      throw JoinFailure(
        what: String(decoding: what, as: UTF8.self), errno: Errno(report.error))
    }
    self.pid = pid
    self.handle = Descriptor(owning: handle)
    self.program = program
  }

  /// Waits for the program's end: its exit status, or 128 and the number of the signal.
  public borrowing func wait() throws(Errno) -> Int32 {
    var status: CInt = 0
    let pid = pid
    try retrying { waitpid(pid, &status, 0) }
    return clinux_exit_status(status)
  }
}
