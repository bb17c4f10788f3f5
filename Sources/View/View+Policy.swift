// Another policy for a view that is mounted: what it means for those who have files open, and what
// the kernel must be told.
public import FuseKit
public import LinuxKit
public import Policy

extension ViewFileSystem {
  /// An open file that the new policy would not have let anyone open so.
  ///
  /// It keeps its access.
  public struct KeptAccess: Equatable, Sendable {
    /// The path in the view.
    public let path: [UInt8]
    /// Who opened it: a thread of the process.
    public let process: Int32
    /// What it would be refused.
    public let operation: Operation
  }

  /// What came of a change of policy.
  public struct PolicyChange: Sendable {
    /// What is open and would not be any more.
    public let kept: [KeptAccess]
    /// Whether names may have appeared or gone, or listings that the kernel keeps may be refused.
    public let changesNames: Bool
    /// Whether what may be executed besides bundles has changed, which a mount decides for its
    /// life.
    public let changesExecution: Bool
    /// The policy before, which requests that are under way may still use.
    let old: PolicyGeneration
  }

  /// Judges by another policy from now on: every request that begins after this returns.
  ///
  /// `quiesce` waits for requests that began before it was called. Throws what counting throws
  /// where there are limits; then nothing has changed.
  public func setPolicy(
    _ engine: PolicyEngine, quiesce: () -> Bool
  ) throws(Errno) -> PolicyChange {
    change(from: try replacePolicy(engine, quiesce: quiesce), to: engine)
  }

  /// Judges by a policy that lends what a lesson's own refuses; without a lesson, by its own again.
  ///
  /// The requests that tell the two apart are noted in the lesson. What is lent changes no limit,
  /// so that nothing is counted.
  public func lend(_ engine: PolicyEngine, _ lesson: Lesson?) -> PolicyChange {
    change(from: nodes.replacePolicy(engine, lesson), to: engine)
  }

  private func change(from old: PolicyGeneration, to engine: PolicyEngine) -> PolicyChange {
    PolicyChange(
      kept: keptAccess(),
      // Where no directory is opened, the rule about a listing is asked only when it is read.
      changesNames: old.engine.hidesNames || engine.hidesNames || backing.keepsPlaces,
      changesExecution: old.engine.executesBesidesBundles != engine.executesBesidesBundles,
      old: old)
  }

  /// The directories that the kernel knows, whose listings it may keep.
  public func knownDirectories() -> [NodeID] {
    nodes.directories().map { NodeID($0) }
  }

  /// Names that the kernel knows and that are hidden now.
  public func hiddenNames() -> [(parent: NodeID, name: [UInt8])] {
    guard let scratch = try? ThreadScratch.current() else { return [] }
    return nodes.named().compactMap { node in
      let ruling = nodes.ruling(of: node.index, scratch)
      guard ruling.decide(.lookup, .file).denial != nil else { return nil }
      return (NodeID(node.parent), node.name)
    }
  }

  /// Symbolic links whose targets the kernel may keep, and nobody may read now.
  public func closedLinks() -> [NodeID] {
    guard let scratch = try? ThreadScratch.current() else { return [] }
    return nodes.symbolicLinks().filter { link in
      !nodes.ruling(of: link, scratch).decide(.read, .symlink).isAllowed
    }.map { NodeID(nodes.id(of: $0)) }
  }

  private func keptAccess() -> [KeptAccess] {
    guard let scratch = try? ThreadScratch.current() else { return [] }
    var kept: [KeptAccess] = []
    for handle in handles.all() where !handle.state.contains(.directory) {
      let ruling = nodes.ruling(of: handle.node, scratch)
      guard let operation = refusedOperation(handle, ruling) else { continue }
      let path = nodes.path(
        of: Subject(handle.node), into: scratch.path(0), limit: AuditRecord.pathLimit)
      kept.append(
        KeptAccess(
          path: Array(UnsafeRawBufferPointer(start: path.start, count: path.count)),
          process: handle.process, operation: operation))
    }
    return kept
  }

  private func refusedOperation(_ handle: HandleRecord, _ ruling: Ruling) -> Operation? {
    if handle.state.contains(.writable) {
      let operation: Operation = handle.state.contains(.appendOnly) ? .append : .write
      if !ruling.decide(operation, .file).isAllowed { return operation }
    }
    if handle.state.contains(.readable), !ruling.decide(.read, .file).isAllowed { return .read }
    return nil
  }
}

extension NodeTable {
  /// All nodes that have a name, with it and its directory's number.
  func named() -> [(index: NodeIndex, parent: UInt64, name: [UInt8])] {
    lock.lock()
    defer { lock.unlock() }
    var found: [(NodeIndex, UInt64, [UInt8])] = []
    var text = [CChar](repeating: 0, count: 256)
    slab.forEach { index in
      let node = record(index).pointee
      guard node.parent != 0, node.parent != NodeTable.orphans else { return }
      let count = names.copy(node.name, to: &text)
      found.append((index, id(of: node.parent), text[..<count].map { UInt8(bitPattern: $0) }))
    }
    return found
  }

  /// All symbolic links.
  func symbolicLinks() -> [NodeIndex] {
    lock.lock()
    defer { lock.unlock() }
    var found: [NodeIndex] = []
    slab.forEach { index in
      if record(index).pointee.type & 0o170000 == 0o120000 { found.append(index) }
    }
    return found
  }

  /// The numbers of all directories that the kernel knows.
  func directories() -> [UInt64] {
    lock.lock()
    defer { lock.unlock() }
    var found: [UInt64] = []
    slab.forEach { index in
      if record(index).pointee.isDirectory && index != NodeTable.orphans {
        found.append(id(of: index))
      }
    }
    return found
  }
}
