// The file system of one view: each operation is a decision of the policy, a system call on the
// backing store, and an answer.
//
// This file is the table of contents: one line an opcode, and what they share. The operations are
// in the files beside it, by what they act on.
public import Containers
public import FuseKit
public import LinuxKit
public import Policy

/// One container as one tree.
///
/// All state of a view hangs on this object; nothing is process-wide.
public final class ViewFileSystem: FileSystem, @unchecked Sendable {
  let arena: Arena
  let nodes: NodeTable
  let books: Books
  let handles: HandleTable
  let permutation: InodePermutation
  let caller: Caller
  let bundleName: [UInt8]
  let ownerUID: UInt32
  let ownerGID: UInt32
  let backing: Backing
  /// The bundle's seal; nil if it has none.
  let sealedBundle: SealedBundle?
  /// Where the kernel may do I/O itself; set before the first request.
  public var backingFiles: BackingFiles? {
    get { nodes.backingFiles }
    set { nodes.backingFiles = newValue }
  }
  /// Told of what the view itself has come to; set before the first request.
  @exclusivity(unchecked) public var report: @Sendable (String) -> Void = { _ in }
  /// What the kernel knows; set before the first request.
  @exclusivity(unchecked) public var kernelNodes: KernelNodes?
  /// Whether the kernel keeps what is written and owns sizes and times of files; set at INIT.
  @exclusivity(unchecked) public private(set) var cachesWrites = false
  private let without: ViewConfiguration.Features
  private let judgesWrites: Bool
  /// Rung when a file is opened for writing.
  public let writing: Doorbell
  /// The same for who counts no references: the view keeps it alive.
  let writingBell: Unmanaged<Doorbell>
  /// Whether the store's file system keeps no trace of reading.
  let forgetsAccess: Bool
  /// What was refused, for whoever writes it down.
  public let audit: AuditRing

  /// The property lists that were written, for whoever looks at them.
  let propertyLists = PropertyListWatch()

  /// How long the kernel may keep what it was told: nobody else writes to the backing.
  let lifetimeSeconds: Double = 86_400

  /// Where a view's state comes from.
  public enum Origin: Sendable {
    /// It is new, and ends with this process.
    case own
    /// It is new, and other processes may have to go on with it.
    case shared
    /// Another program has left it in an open file, which is taken; it is yet to be taken over.
    case inherited(CInt)
    /// There is none: another program's view is only looked at.
    case rehearsed
  }

  /// What of a view's state another program has to have alike to go on with it.
  public static var layout: [Int] { Arena.layout }

  /// A view of the container in `directory`.
  ///
  /// `descriptorLimit` is how many descriptors the nodes may hold. Throws what opening the
  /// container's directories throws, EPROTO for a state of another layout, or ENOMEM.
  public init(
    _ configuration: ViewConfiguration, _ policy: PolicyEngine, container: borrowing Descriptor,
    caller: Caller, descriptorLimit: Int, _ origin: Origin = .own
  ) throws(Errno) {
    let backing = try Backing.open(
      container, bundleName: configuration.bundleName, keepsOrphans: origin.isOfAnother)
    let arena = try Arena(origin.ofArena)
    self.arena = arena
    sealedBundle =
      configuration.bundleName.isEmpty
      ? nil
      : try SealedBundle(
        configuration.seal, bundleName: configuration.bundleName, container: container)
    self.caller = caller
    without = configuration.without
    judgesWrites = policy.judgesWrites || !configuration.limits.isEmpty
    bundleName = configuration.bundleName
    ownerUID = configuration.ownerUID
    ownerGID = configuration.ownerGID
    permutation = InodePermutation(key: configuration.inodeKey)
    nodes = try NodeTable(
      arena, policy, root: backing.dataPath, bundle: backing.bundlePath,
      bundleName: configuration.bundleName, orphans: backing.orphansPath,
      descriptorLimit: descriptorLimit, isInherited: origin.ofArena.isInherited)
    if sealedBundle != nil, !origin.ofArena.isInherited { nodes.sealBundle() }
    books = nodes.books
    handles = HandleTable(arena)
    audit = arena.audit
    let writing = Doorbell()
    self.writing = writing
    writingBell = .passUnretained(writing)
    forgetsAccess = (try? backing.data.space().forgetsAccess) ?? false
    self.backing = backing
    super.init()
  }

  /// Whether anything of the bundle was found to differ from its seal; nil if it has none.
  public var isBundleModified: Bool? { sealedBundle?.isModified }

  /// Whether the view has extended attributes.
  public var hasExtendedAttributes: Bool { !without.contains(.extendedAttributes) }

  /// Whether the store is on an overlay, which is a level of stacking of its own.
  public var isOnOverlay: Bool { backing.isOnOverlay }

  /// Whether a file is open for writing now.
  public var isBeingWritten: Bool {
    arena.lock.lock()
    defer { arena.lock.unlock() }
    var isWritten = false
    handles.forEach { if $0.state.contains(.writable) { isWritten = true } }
    return isWritten
  }

  /// The room of the file system that holds the store.
  public func storeSpace() throws(Errno) -> FileSystemSpace { try backing.data.space() }

  // MARK: INIT

  override public func negotiate(_ connection: inout Connection) {
    connection.useDefaults()
    connection.want(.rawMode)
    connection.want(.symbolicLinkCache)
    connection.want(.atomicTruncate)
    if backing.hasACL && hasExtendedAttributes { connection.want(.posixACL) }
    // What judges a write must do so at write(2), not when the kernel has time to write.
    if !connection.passesThrough && !without.contains(.writeback) && !judgesWrites {
      cachesWrites = connection.want(.writebackCache)
    }
    connection.refuse(.automaticInvalidation)
    connection.refuse(.exportSupport)
    connection.refuse(.spliceRead)
  }

  override public func giveUp(
    _ operation: String, _ node: NodeID, uid: UInt32, process: Int32
  ) {
    report(gaveUp(operation, node, uid: uid, process: process))
  }

  // MARK: Names

  override public func lookup(
    _ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    find(request, parent, name, reply)
  }

  override public func forget(_ node: NodeID, _ count: LookupCount) {
    nodes.forget(node.rawValue, count)
  }

  override public func makeNode(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ device: UInt64,
    _ reply: consuming Reply
  ) {
    makeSpecial(request, parent, name, mode, reply)
  }

  override public func makeDirectory(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ reply: consuming Reply
  ) {
    makeFolder(request, parent, name, mode, reply)
  }

  override public func symbolicLink(
    _ request: Request, _ target: UnsafePointer<CChar>, _ parent: NodeID, _ name: Name,
    _ reply: consuming Reply
  ) {
    makeSymbolicLink(request, target, parent, name, reply)
  }

  override public func link(
    _ request: Request, _ node: NodeID, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    makeLink(request, node, parent, name, reply)
  }

  override public func unlink(
    _ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    removeEntry(request, parent, name, isDirectory: false, reply)
  }

  override public func removeDirectory(
    _ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    removeEntry(request, parent, name, isDirectory: true, reply)
  }

  override public func rename(
    _ request: Request, _ parent: NodeID, _ name: Name, _ newParent: NodeID, _ newName: Name,
    _ flags: UInt32, _ reply: consuming Reply
  ) {
    move(request, parent, name, newParent, newName, flags, reply)
  }

  // MARK: Attributes

  override public func getAttributes(
    _ request: Request, _ node: NodeID, _ handle: HandleID?, _ reply: consuming Reply
  ) {
    answerAttributes(node, handle, reply)
  }

  override public func setAttributes(
    _ request: Request, _ node: NodeID, _ attributes: FileAttributes,
    _ changes: AttributeChanges, _ handle: HandleID?, _ reply: consuming Reply
  ) {
    changeAttributes(request, node, attributes, changes, handle, reply)
  }

  override public func readLink(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    answerTarget(request, node, reply)
  }

  // Where there are none, the kernel asks once for each of these and then no more.

  override public func setExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>,
    _ value: UnsafeRawBufferPointer, _ flags: CInt, clearsSetGroupID: Bool,
    _ reply: consuming Reply
  ) {
    guard hasExtendedAttributes else { return reply.fail(.unsupported) }
    setAttribute(
      request, node, name, value, flags, clearsSetGroupID: clearsSetGroupID, reply)
  }

  override public func getExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ count: Int,
    _ reply: consuming Reply
  ) {
    guard hasExtendedAttributes else { return reply.fail(.unsupported) }
    getAttribute(request, node, name, count, reply)
  }

  override public func listExtendedAttributes(
    _ request: Request, _ node: NodeID, _ count: Int, _ reply: consuming Reply
  ) {
    guard hasExtendedAttributes else { return reply.fail(.unsupported) }
    listAttributes(request, node, count, reply)
  }

  override public func removeExtendedAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ reply: consuming Reply
  ) {
    guard hasExtendedAttributes else { return reply.fail(.unsupported) }
    removeAttribute(request, node, name, reply)
  }

  override public func fileSystemStatus(
    _ request: Request, _ node: NodeID, _ reply: consuming Reply
  ) {
    answerFree(node, reply)
  }

  // MARK: Files

  override public func open(
    _ request: Request, _ node: NodeID, _ flags: CInt, _ reply: consuming Reply
  ) {
    openFile(request, node, flags, reply)
  }

  override public func create(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ flags: CInt,
    _ reply: consuming Reply
  ) {
    createFile(request, parent, name, mode, flags, reply)
  }

  override public func read(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ reply: consuming Reply
  ) {
    readFile(request, handle, offset, count, reply)
  }

  override public func write(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ bytes: UnsafeRawBufferPointer,
    _ offset: Int64, _ reply: consuming Reply
  ) {
    writeFile(request, handle, bytes, offset, reply)
  }

  override public func release(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ reply: consuming Reply
  ) {
    releaseFile(handle, reply)
  }

  override public func synchronize(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ dataOnly: Bool,
    _ reply: consuming Reply
  ) {
    synchronizeFile(handle, dataOnly, reply)
  }

  override public func allocate(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ mode: CInt, _ offset: Int64,
    _ length: Int64, _ reply: consuming Reply
  ) {
    allocateFile(request, handle, mode, offset, length, reply)
  }

  override public func copyRange(
    _ request: Request, _ source: (node: NodeID, handle: HandleID, offset: Int64),
    _ target: (node: NodeID, handle: HandleID, offset: Int64), _ count: Int, _ flags: UInt32,
    _ reply: consuming Reply
  ) {
    copyFile(
      request, (source.handle, source.offset), (target.handle, target.offset), count, flags, reply)
  }

  override public func seek(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ whence: CInt,
    _ reply: consuming Reply
  ) {
    seekFile(handle, offset, whence, reply)
  }

  // MARK: Directories

  override public func openDirectory(
    _ request: Request, _ node: NodeID, _ reply: consuming Reply
  ) {
    openFolder(request, node, reply)
  }

  override public func readDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ withAttributes: Bool, _ reply: consuming Reply
  ) {
    listFolder(request, node, handle, offset, count, withAttributes, reply)
  }

  override public func releaseDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ reply: consuming Reply
  ) {
    releaseFile(handle, reply)
  }

  override public func synchronizeDirectory(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ dataOnly: Bool,
    _ reply: consuming Reply
  ) {
    synchronizeFolder(request, node, handle, dataOnly, reply)
  }
}

extension ViewFileSystem.Origin {
  /// Whether another process has a part in what is in the store.
  fileprivate var isOfAnother: Bool {
    switch self {
    case .own, .shared: false
    case .inherited, .rehearsed: true
    }
  }

  fileprivate var ofArena: Arena.Origin {
    switch self {
    case .own, .rehearsed: .own
    case .shared: .shared
    case .inherited(let file): .inherited(file)
    }
  }
}

// MARK: - What the operations share

extension ViewFileSystem {
  /// Throws for what no entry can be called.
  @inline(__always)
  func check(_ name: Name) throws(Errno) {
    #if DEBUG
      meet(name)
    #endif
    if name.isDots { throw .invalid }
    if name.count > Name.maximumByteCount { throw .nameTooLong }
  }

  /// The ruling about a name in a directory.
  @inline(__always)
  func ruling(_ name: Name, in parent: NodeIndex, _ scratch: ThreadScratch) -> Ruling {
    nodes.ruling(of: parent, scratch).below(name)
  }

  /// How long the kernel may keep a node's attributes: not at all while it can be mapped shared in
  /// passthrough, since what is stored there moves its times without a message.
  @inline(__always)
  func attributeLifetimeSeconds(_ index: NodeIndex) -> Double {
    nodes.changesUnseen(index) ? 0 : lifetimeSeconds
  }

  /// What the kernel is shown of a status.
  @inline(__always)
  func shown(_ status: borrowing InodeStatus, of index: NodeIndex) -> FileAttributes {
    let state = nodes.state(of: index)
    var attributes = status.shown
    attributes.inode = permutation(attributes.inode)
    if status.isDirectory && mayHoldHiddenNames(index) { attributes.hideEntryCount() }
    if state.contains(.bundle) { fixBundle(&attributes) }
    // An orphan's one name is not the app's.
    if state.contains(.orphaned) && attributes.linkCount > 0 { attributes.linkCount -= 1 }
    return attributes
  }

  /// Whether the links, the size or the blocks of a directory would count names that are hidden.
  private func mayHoldHiddenNames(_ index: NodeIndex) -> Bool {
    guard let scratch = try? ThreadScratch.current() else { return true }
    return nodes.ruling(of: index, scratch).mayHideNamesBelow
  }

  /// The bundle's modes are fixed, so that the mount's EROFS is the answer to every change.
  private func fixBundle(_ attributes: inout FileAttributes) {
    attributes.uid = ownerUID
    attributes.gid = ownerGID
    let type = attributes.mode & 0o170000
    let isExecutable = type == 0o040000 || attributes.mode & 0o111 != 0
    if type != 0o120000 { attributes.mode = type | (isExecutable ? 0o755 : 0o644) }
  }

  func kind(_ type: UInt32) -> NodeKind {
    switch type & 0o170000 {
    case 0o040000: .directory
    case 0o100000: .file
    case 0o120000: .symlink
    case 0o010000: .fifo
    case 0o140000: .socket
    default: .device
    }
  }
}

extension Errno {
  /// The errno of a refusal, as in the design's table.
  @inline(__always)
  init(_ denial: Denial) {
    self =
      switch denial {
      case .notFound: .noEntry
      case .readOnly: .readOnly
      case .accessDenied: .accessDenied
      case .notPermitted: .notPermitted
      case .crossZone: .crossDevice
      }
  }
}
