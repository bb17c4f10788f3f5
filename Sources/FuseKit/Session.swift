// One connection to the kernel: made, mounted, answered its INIT, then served.
//
// Each step is apart, because a later worker serves what another process has mounted: mounting and
// unmounting never happen inside `serve`.
internal import CFuse3
public import LinuxKit

/// One FUSE connection.
///
/// After that any thread may call it. Order of use: `init`, one of the `mount` calls, `answerInit`
/// while the process has one thread, `serve`.
public final class Session: @unchecked Sendable {
  private let context: UnsafeMutablePointer<cfuse_context>
  private let table: UnsafeMutablePointer<fuse_lowlevel_ops>
  private let fileSystem: FileSystem

  /// A session for `fileSystem`, that is mounted nowhere.
  ///
  /// `journal` is empty, and stays where it is for as long as the process lives.
  ///
  /// `isOldKernel` hides what kernels before 6.9 can't do.
  ///
  /// `passthrough` is wanted where the process may have it; over an overlay it takes two levels.
  public init(
    _ fileSystem: FileSystem, journal: RequestJournal, passthrough: Passthrough = .none,
    isOldKernel: Bool = false
  ) {
    table = .allocate(capacity: 1)
    table.initialize(to: operations())
    context = .allocate(capacity: 1)
    context.initialize(to: cfuse_context())
    context.pointee.operations = UnsafePointer(table)
    context.pointee.device = -1
    context.pointee.journal = journal.raw
    context.pointee.bell = -1
    context.pointee.hidden_flags = isOldKernel ? CFUSE_PASSTHROUGH | CFUSE_HAS_RESEND : 0
    context.pointee.forget = { owner, node, count in
      // The owner outlives the session, which keeps it.
      Unmanaged<FileSystem>.fromOpaque(owner.unsafelyUnwrapped).takeUnretainedValue()
        .forget(NodeID(node), count)
    }
    context.pointee.give_up = { owner, opcode, node, uid, pid in
      Unmanaged<FileSystem>.fromOpaque(owner.unsafelyUnwrapped).takeUnretainedValue()
        .giveUp(Opcode.name(opcode), NodeID(node), uid: uid, process: Int32(bitPattern: pid))
    }
    context.pointee.owner = Unmanaged.passUnretained(fileSystem).toOpaque()
    context.pointee.wanted_flags =
      CFUSE_PARALLEL_DIROPS | CFUSE_HANDLE_KILLPRIV_V2 | CFUSE_SETXATTR_EXT
    context.pointee.stack_depth = passthrough == .overOverlay ? 2 : 1
    if passthrough != .none { context.pointee.wanted_flags |= CFUSE_PASSTHROUGH }
    self.fileSystem = fileSystem
  }

  /// Whether and how the kernel may do the I/O of files itself.
  public enum Passthrough: Sendable {
    /// All I/O comes to us.
    case none
    /// The store is on a file system of its own.
    case direct
    /// The store is on an overlay, which is a level of its own.
    case overOverlay
  }

  /// The kernel's backing files, if INIT has agreed on passthrough.
  public var backingFiles: BackingFiles? {
    guard context.pointee.agreed_flags & CFUSE_PASSTHROUGH != 0 else { return nil }
    return BackingFiles(descriptor)
  }

  /// What the kernel knows.
  public var kernelNodes: KernelNodes { KernelNodes(descriptor) }

  /// Takes /dev/fuse, open and already mounted.
  public func adopt(_ device: consuming Descriptor) { context.pointee.device = device.release() }

  /// Mounts through fusermount3, as an ordinary user; `options` is libfuse's string of them.
  ///
  /// fusermount3 says on stderr what it refuses; this throws EPERM then, and EINVAL for what
  /// libfuse refuses.
  public func mountByHelper(
    at target: UnsafePointer<CChar>, options: String
  ) throws(Errno) {
    let result = cfuse_mount_by_helper(context, options, target)
    if result != 0 { throw Errno(-result) }
  }

  /// Receives and answers INIT on this thread.
  ///
  /// Throws ENODEV if the mount went away before.
  public func answerInit() throws(Errno) {
    let result = cfuse_answer_init(context)
    if result != 0 { throw Errno(-result) }
  }

  /// Goes on with what INIT has agreed on, as the journal has it or as `agreement` says.
  ///
  /// Throws EPROTO where this program would have agreed on something else.
  public func repeatInit(_ agreement: InitAgreement? = nil) throws(Errno) {
    var agreed = agreement?.raw ?? context.pointee.journal.pointee.agreement
    let result = cfuse_repeat_init(context, &agreed)
    if result != 0 { throw Errno(-result) }
  }

  /// Whether the kernel can send again what was read and not answered.
  public var canResend: Bool { context.pointee.offered_flags & CFUSE_HAS_RESEND != 0 }

  /// Keeps what is read until it is answered, since the kernel can't send it again.
  ///
  /// Before anybody serves.
  public func keepRequests() { context.pointee.keeps = 1 }

  /// Sorts what was kept by threads that are dead.
  ///
  /// Only while nobody serves, and before the journal is taken over.
  public func sortKept() { cfuse_journal_sort(context, descriptor) }

  /// Has the kernel send again what was read and not answered.
  ///
  /// Only while nobody serves. Throws EINVAL where the kernel can't.
  public func resend() throws(Errno) {
    if context.pointee.keeps != 0 { return }
    let result = cfuse_resend(descriptor)
    if result < 0 { throw Errno(-result) }
  }

  /// Takes back the lookups that a process should have taken back that died.
  ///
  /// Only while nobody serves.
  public func finishForgetting() { cfuse_journal_forget(context) }

  /// Whether the kernel has nothing more to send again, as far as can be seen.
  public var isDrained: Bool { cfuse_journal_is_drained(context.pointee.journal) != 0 }

  /// Has the kernel ask again for what requests were about that were left behind and that nobody
  /// asks for any more: their callers were killed meanwhile, and they may have been carried out.
  ///
  /// `linked` says whose links a request may have changed. Waits as `invalidate(_:)` does.
  public func doubtLost(_ linked: (RequestRecord) -> [NodeID]) {
    let journal = RequestJournal(context.pointee.journal)
    for place in journal.leftPlaces where cfuse_journal_doubt(context, UInt32(place)) != 0 {
      for node in linked(journal.left(place)) {
        _ = cfuse_invalidate_attributes(descriptor, node.rawValue)
      }
    }
  }

  /// From here on a crash is noted in the record of the request that was being served.
  public func noteCrashes() { cfuse_note_crashes(context.pointee.journal) }

  /// The first request behind a silence rings this eventfd, if the journal says so.
  public func ring(_ bell: CInt) { context.pointee.bell = bell }

  /// Rings the eventfd, if there is one.
  public func ringBell() { cfuse_session_ring(context) }

  /// The descriptor of /dev/fuse.
  public var descriptor: CInt { context.pointee.device }

  /// How many requests the kernel has sent.
  public var requestCount: Int { Int(cfuse_journal_requests(context.pointee.journal)) }

  /// Waits until every request that is under way now has been answered; false if the time was over.
  public func quiesce(milliseconds: UInt32) -> Bool {
    cfuse_journal_quiesce(context.pointee.journal, milliseconds) == 0
  }

  /// Tells the kernel to forget a name in a directory.
  ///
  /// Waits as `invalidate(_:)` does.
  public func invalidate(_ name: [UInt8], in parent: NodeID) {
    let text = name.map { CChar(bitPattern: $0) }
    _ = cfuse_invalidate_name(descriptor, parent.rawValue, text, UInt32(name.count))
  }

  /// Tells the kernel to forget the listing of a directory.
  ///
  /// Waits for any operation in it: never to be called by a thread that serves, or under a lock.
  public func invalidate(_ node: NodeID) {
    // ENOENT: the kernel has forgotten the node itself meanwhile.
    _ = cfuse_invalidate(descriptor, node.rawValue)
  }

  /// Serves until the kernel ends the connection, with up to `threads` threads.
  ///
  /// Each stays once it is made: making and ending them with the load costs more than it saves.
  public func serve(threads: UInt32) throws(Errno) {
    let result = cfuse_serve(context, threads, context.pointee.keeps == 0 ? 1 : 0)
    if result < 0 { throw Errno(-result) }
  }
}
