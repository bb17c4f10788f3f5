// Going on after the death of the process that served: the memory and the descriptors are those
// that it left, and the kernel sends again what it had read and not answered.
public import FuseKit
public import LinuxKit
internal import Paths
public import Policy

extension ViewFileSystem {
  /// What is known about the requests under way.
  public var journal: RequestJournal { arena.journal }

  /// Goes on with what another process left, and closes what belongs to nobody.
  ///
  /// `own` are the descriptors that everything stands on. Only on the one thread of a process that
  /// does not serve yet. Throws where nothing can be trusted.
  public func takeOver(keeping own: [CInt], _ session: Session) throws(DamagedState) {
    let unused = try nodes.recover(handles)
    try audit.recover()
    session.sortKept()
    journal.takeOver()
    journal.forEachLeft { $0.settleAudit(audit.total) }
    session.finishForgetting()
    releaseRecords()
    settleAccounts()
    do throws(Errno) {
      // Before anything is closed: what a device had read is lost with it.
      try session.resend()
    } catch {
      throw DamagedState("the kernel does not repeat what was asked: \(error.message)")
    }
    #if DEBUG
      if FaultInjection.stopsResent { FaultInjection.stop() }
    #endif
    closeStrays(keeping: own)
    for backing in unused { backingFiles?.close(backing) }
    closeLeakedBackings()
    try? sweepOrphans()
    sealedBundle?.takeOver()
    arena.header.pointee.restarts += 1
  }

  /// Ends the nodes without a name that the kernel does not know any more.
  ///
  /// It says once that it forgets one, which is lost with a process that dies over reading it; and
  /// a lookup is counted before its answer is sent. Beside the requests.
  public func forgetLost() {
    guard let kernelNodes else { return }
    for node in nodes.unnamedNodes() where !kernelNodes.contains(NodeID(node)) {
      nodes.forget(node, .max)
    }
  }

  /// Has the kernel ask again for what it may not know, since a caller was killed while nobody
  /// served.
  ///
  /// On a thread that serves no request, and while others serve: it waits until the kernel has sent
  /// again what there was.
  public func doubtLost(_ session: Session) {
    var pause: UInt32 = 1000
    while !session.isDrained {
      Pause.microseconds(pause)
      pause = min(pause * 2, 1_000_000)
    }
    session.doubtLost { record in
      // What was moved or removed, and what is kept since it was replaced.
      let kept = try? InodeStatus.of(record.descriptor)
      return [record.notedIdentity, kept.map { Identity($0) }].compactMap { identity in
        identity.flatMap { nodes.known($0) }
      }
    }
  }

  /// The file in memory that the state is in; -1 if the view ends with this process.
  public var stateFile: CInt { arena.file }

  /// Makes what is to be logged whole, where nobody will go on with the rest.
  public func recoverAudit() throws(DamagedState) { try audit.recover() }

  /// What a node has got does not belong to a request any more.
  private func releaseRecords() {
    var isOpen = false
    journal.forEachLeft { isOpen = isOpen || $0.descriptor >= 0 }
    guard isOpen else { return }
    var owned = DescriptorSet([])
    nodes.addDescriptors(to: &owned)
    journal.forEachLeft { record in
      if owned.contains(record.descriptor) { record.descriptor = -1 }
    }
  }

  private func closeStrays(keeping own: [CInt]) {
    var kept = DescriptorSet(own)
    nodes.addDescriptors(to: &kept)
    handles.forEach { kept.insert($0.descriptor) }
    journal.forEachLeft { kept.insert($0.descriptor) }
    kept.insert(arena.header.pointee.policyFile)
    kept.insert(arena.header.pointee.formerPolicyFile)
    kept.insert(arena.header.pointee.program)
    OpenDescriptors.closeAll(but: kept)
  }

  /// Backing files that were registered and that no node got: their numbers follow the last one
  /// that a node did get.
  private func closeLeakedBackings() {
    guard let backingFiles, let file = try? Descriptor.memory(capacity: 1),
      let next = try? backingFiles.open(file.rawValue)
    else { return }
    backingFiles.close(next)
    let last = arena.header.pointee.lastBacking
    arena.header.pointee.lastBacking = next
    // Numbers begin anew when they have been through; then a few stay registered.
    guard last + 1 < next, next - last < 4096 else { return }
    let owned = nodes.ownedBackings()
    for number in last + 1..<next where !owned.contains(number) { backingFiles.close(number) }
  }

  /// Removes what an orphan's last release would have removed.
  private func sweepOrphans() throws(Errno) {
    var owned: Set<UInt64>?
    try Backing.sweep(backing.orphans) { inode in
      let known = owned ?? nodes.ownedOrphans()
      owned = known
      return !known.contains(inode)
    }
  }

  /// Keeps a policy for whoever has to take over: a view's configuration.
  ///
  /// Before it is set: from now on the books may be those of another, until `settlePolicy` or
  /// `keepFormerPolicy` is called.
  public func keepPolicy(_ configuration: [UInt8]) throws(Errno) {
    let file = try Descriptor.memory(holding: configuration).release()
    books.isInDoubt = true
    let oldest = arena.header.pointee.formerPolicyFile
    arena.header.pointee.formerPolicyFile = arena.header.pointee.policyFile
    // No two that were ever kept share one.
    arena.header.pointee.policyNumber =
      max(arena.header.pointee.policyNumber, nodes.generation.number) &+ 1
    arena.header.pointee.policyFile = file
    if oldest >= 0 { _ = Descriptor(owning: oldest) }
    FaultPoint.change(0)
  }

  /// The policy that was kept last was set, and the books are its.
  public func settlePolicy() { books.isInDoubt = false }

  /// The policy that was kept last could not be set: the one before it is kept again.
  public func keepFormerPolicy() {
    let file = arena.header.pointee.policyFile
    arena.header.pointee.policyFile = arena.header.pointee.formerPolicyFile
    arena.header.pointee.formerPolicyFile = -1
    if file >= 0 { _ = Descriptor(owning: file) }
    books.isInDoubt = false
  }

  /// Which policy is kept: another one is another pair; nil if it is that of the mount.
  public var keptPolicyIdentity: KeptPolicy? {
    let header = arena.header.pointee
    return header.policyFile < 0
      ? nil : KeptPolicy(file: header.policyFile, number: header.policyNumber)
  }

  /// What tells a policy that is kept from any other.
  public struct KeptPolicy: Equatable, Sendable {
    let file: CInt
    let number: UInt32
  }

  /// The configuration with the policy that was set last; nil if it is that of the mount.
  public func keptPolicy() throws(Errno) -> [UInt8]? {
    let file = arena.header.pointee.policyFile
    guard file >= 0 else { return nil }
    return try OpenDescriptors.contents(of: file, atMost: 64 << 20)
  }

  /// Judges by a policy that was kept.
  ///
  /// Only while nobody serves.
  public func restorePolicy(_ engine: PolicyEngine) {
    nodes.restorePolicy(PolicyGeneration(engine, number: arena.header.pointee.policyNumber))
  }
}

// MARK: - What people are told

extension ViewFileSystem {
  /// A line about a request that nobody could serve.
  func gaveUp(_ operation: String, _ node: NodeID, uid: UInt32, process: Int32) -> String {
    var place = "what is gone"
    if let index = try? nodes.index(of: node.rawValue), let scratch = try? ThreadScratch.current() {
      let path = nodes.path(
        of: Subject(index), into: scratch.path(0), limit: AuditRecord.pathLimit)
      place = Presentation.quoted(
        Array(UnsafeRawBufferPointer(start: path.start, count: path.count)))
    }
    return "\(operation) at \(place) by process \(process) of uid \(uid) has ended every process"
      + " that served it: it was answered EIO"
  }

  /// How a view has been watched over.
  public struct Supervision: Sendable {
    /// The process that watches; 0 if nobody does.
    public var supervisor: Int32
    /// How often another process had to take over.
    public var restarts: UInt32
    /// How long nobody served the last time, in microseconds.
    public var pauseMicroseconds: UInt32
    /// How often another program has gone on with it.
    public var upgrades: UInt32
    /// Why the last program that was to could not: an errno, or 0.
    public var upgradeError: Int32
  }

  /// How it has been watched over.
  public var supervision: Supervision {
    let header = arena.header.pointee
    return Supervision(
      supervisor: header.supervisor, restarts: header.restarts,
      pauseMicroseconds: header.pauseMicroseconds, upgrades: header.upgrades,
      upgradeError: header.upgradeError)
  }

  /// From now on a process watches over those that serve.
  public func setSupervisor(_ process: Int32) { arena.header.pointee.supervisor = process }

  /// When the process died that another one takes over from, by the monotonic clock.
  public var deathMicroseconds: Int64 {
    get { arena.header.pointee.deathMicroseconds }
    set { arena.header.pointee.deathMicroseconds = newValue }
  }

  /// Notes that nobody has served from the last death until now.
  public func notePause(until now: Int64) {
    arena.header.pointee.pauseMicroseconds = UInt32(clamping: now - deathMicroseconds)
  }

  /// What a guardian stands on: whether the view has ended, and where the time of a death goes.
  public var guarded: (ended: UnsafePointer<Int32>, death: UnsafeMutablePointer<Int64>) {
    let start = UnsafeMutableRawPointer(arena.header)
    let ended = start + (MemoryLayout<Arena.Header>.offset(of: \.hasEnded) ?? 0)
    let death = start + (MemoryLayout<Arena.Header>.offset(of: \.deathMicroseconds) ?? 0)
    return (
      UnsafePointer(ended.assumingMemoryBound(to: Int32.self)),
      death.assumingMemoryBound(to: Int64.self)
    )
  }

  /// The process that serves hangs, and is about to be killed.
  public func noteHang() { arena.header.pointee.hangs += 1 }

  /// Reports that others have hung, if they have and nobody has said so.
  public func reportHangs() {
    let header = arena.header
    guard header.pointee.loggedHangs < header.pointee.hangs else { return }
    header.pointee.loggedHangs = header.pointee.hangs
    report("a request has hung the process that served it, which was killed")
  }

  /// Whether whoever mounts has been told that the view is served.
  public var isAnnounced: Bool { arena.header.pointee.isAnnounced != 0 }

  /// Notes that they have.
  public func noteAnnouncement() { arena.header.pointee.isAnnounced = 1 }

  /// The view is gone: nobody is to take over.
  public func noteEnd() { arena.header.pointee.hasEnded = 1 }

  /// The program that is to go on with the view, open; -1 for none.
  public var nextProgram: CInt {
    get { arena.header.pointee.program }
    set { arena.header.pointee.program = newValue }
  }

  /// Notes whether another program has gone on with the view; nil if it has.
  public func noteUpgrade(_ error: Errno?) {
    arena.header.pointee.upgradeError = error?.code ?? 0
    if error == nil { arena.header.pointee.upgrades += 1 }
  }
}
