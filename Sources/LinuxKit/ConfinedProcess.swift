// A child that left its caller's world step by step before it executed another program.
internal import CLinux
internal import Glibc

/// Why a child did not come to execute its program.
public struct SpawnFailure: Error, Equatable, Sendable {
  /// The step that failed; nil if it was the execution itself, or the fork.
  public let step: NamespaceStep?
  /// What the kernel said.
  public let errno: Errno

  /// A failure of one step.
  public init(step: NamespaceStep?, errno: Errno) {
    self.step = step
    self.errno = errno
  }
}

/// A child that dies with the thread that made it.
///
/// Whoever holds it must `wait`: dropping it leaves a zombie until the caller ends.
public struct ConfinedProcess: ~Copyable {
  /// Its pid, which stays its own until `wait` has returned.
  public let pid: Int32
  /// Readable once it has ended.
  public let handle: Descriptor

  /// Starts `program` behind `steps`, with `descriptors` as 3, 4, … besides 0 to 2.
  ///
  /// It leads a session of its own, has no other descriptor, and no signal is blocked or ignored.
  /// The program has begun when this returns.
  public init(
    program: [UInt8], arguments: [[UInt8]], environment: [[UInt8]], steps: [NamespaceStep],
    descriptors: [CInt]
  ) throws(SpawnFailure) {
    let memory = CMemory()
    let cSteps = steps.map { memory.step($0) }
    var failure = clinux_step_failure()
    var handle: CInt = -1
    let pid = clinux_spawn_through(
      memory.string(program), memory.vector(arguments), memory.vector(environment), cSteps,
      CInt(cSteps.count), descriptors, CInt(descriptors.count), &handle, &failure)
    guard pid > 0 else {
      let number = Int(failure.step)
      throw SpawnFailure(
        step: steps.indices.contains(number) ? steps[number] : nil, errno: Errno(failure.error))
    }
    self.pid = pid
    self.handle = Descriptor(owning: handle)
  }

  /// Waits for its end: the exit status, or 128 and the number of the signal.
  public borrowing func wait() throws(Errno) -> Int32 {
    var status: CInt = 0
    let pid = pid
    try retrying { waitpid(pid, &status, 0) }
    return clinux_exit_status(status)
  }
}

/// C's view of Swift's values, for as long as it lives.
final class CMemory {
  private var blocks: [UnsafeMutableRawPointer] = []

  deinit { for block in blocks { block.deallocate() } }

  func string(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar> {
    precondition(!bytes.contains(0), "a string for the kernel holds no NUL")
    let block = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
    blocks.append(UnsafeMutableRawPointer(block))
    UnsafeMutableRawBufferPointer(start: block, count: bytes.count).copyBytes(from: bytes)
    block[bytes.count] = 0
    return block
  }

  func bytes(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8> {
    let block = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, bytes.count))
    blocks.append(UnsafeMutableRawPointer(block))
    block.initialize(from: bytes, count: bytes.count)
    return block
  }

  func string(_ text: String) -> UnsafeMutablePointer<CChar> { string(Array(text.utf8)) }

  func vector(_ strings: [[UInt8]]) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
    let block = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
      capacity: strings.count + 1)
    blocks.append(UnsafeMutableRawPointer(block))
    for (index, bytes) in strings.enumerated() {
      (block + index).initialize(to: string(bytes))
    }
    (block + strings.count).initialize(to: nil)
    return block
  }

  func step(_ step: NamespaceStep) -> clinux_step {
    var result = clinux_step()
    func kind(_ kind: clinux_step_kind) { result.kind = CInt(kind.rawValue) }
    switch step {
    case .streams(let streams, let descriptor):
      kind(CLINUX_STEP_STREAMS)
      result.uid = UInt32(descriptor)
      result.mode = streams.reduce(0) { $0 | 1 << UInt32($1) }
    case .leave(let user):
      kind(CLINUX_STEP_UNSHARE)
      result.set = UInt64(CLONE_NEWNS) | (user ? UInt64(CLONE_NEWUSER) : 0)
    case .mapRoot(let uid, let gid):
      kind(CLINUX_STEP_MAP_ROOT)
      (result.uid, result.gid) = (uid, gid)
    case .keepMountsInside:
      kind(CLINUX_STEP_SLAVE)
    case .bind(let source, let target, let attributes, let recursive):
      kind(CLINUX_STEP_BIND)
      result.path = UnsafePointer(string(source))
      result.other = UnsafePointer(string(target))
      result.set = attributes.rawValue
      result.recursive = recursive ? 1 : 0
    case .show(let source, let target, let attributes):
      kind(CLINUX_STEP_SHOW)
      result.path = UnsafePointer(string(source))
      result.other = UnsafePointer(string(target))
      result.set = attributes.rawValue
    case .bindBeneath(let source, let base, let path, let attributes):
      kind(CLINUX_STEP_BIND_BENEATH)
      result.path = UnsafePointer(string(source))
      result.base = UnsafePointer(string(base))
      result.other = UnsafePointer(string(path))
      result.set = attributes.rawValue
      result.recursive = 1
    case .lend(let source, let device, let inode, let base, let path, let attributes):
      kind(CLINUX_STEP_LEND)
      result.path = UnsafePointer(string(source))
      result.base = UnsafePointer(string(base))
      result.other = UnsafePointer(string(path))
      result.set = attributes.rawValue
      (result.device, result.inode) = (device, inode)
    case .mount(let type, let target, let options, let attributes):
      kind(CLINUX_STEP_FILESYSTEM)
      result.type = UnsafePointer(string(type))
      result.path = UnsafePointer(string(target))
      result.options = UnsafePointer(string(options))
      result.set = attributes.rawValue
    case .restrict(let path, let attributes):
      kind(CLINUX_STEP_ATTRIBUTES)
      result.path = UnsafePointer(string(path))
      result.set = attributes.rawValue
    case .directory, .file, .link, .directoryBeneath:
      make(step, &result)
    case .become(let uid, let gid):
      kind(CLINUX_STEP_IDENTITY)
      (result.uid, result.gid) = (uid, gid)
    case .owner(let uid, let gid):
      kind(CLINUX_STEP_OWNER)
      (result.uid, result.gid) = (uid, gid)
    case .keepFromAbstractSockets:
      kind(CLINUX_STEP_SCOPE)
    }
    return result
  }

  /// What a step makes that is no mount.
  private func make(_ step: NamespaceStep, _ result: inout clinux_step) {
    func kind(_ kind: clinux_step_kind) { result.kind = CInt(kind.rawValue) }
    switch step {
    case .directory(let path, let mode):
      kind(CLINUX_STEP_DIRECTORY)
      result.path = UnsafePointer(string(path))
      result.mode = mode
    case .file(let path, let mode, let content):
      kind(CLINUX_STEP_FILE)
      result.path = UnsafePointer(string(path))
      result.mode = mode
      result.content = UnsafePointer(bytes(content))
      result.content_size = content.count
    case .link(let path, let target):
      kind(CLINUX_STEP_LINK)
      result.path = UnsafePointer(string(path))
      result.other = UnsafePointer(string(target))
    case .directoryBeneath(let base, let path, let mode):
      kind(CLINUX_STEP_DIRECTORY_BENEATH)
      result.base = UnsafePointer(string(base))
      result.other = UnsafePointer(string(path))
      result.mode = mode
    default: preconditionFailure("the caller knows what it makes")
    }
  }
}
