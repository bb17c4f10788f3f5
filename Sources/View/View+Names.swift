// Making, removing and moving names. What is made belongs to the caller.
//
// The kernel holds the locks of the directories until it is answered, so no two of these meet at
// one name; what else looks for the node meanwhile waits for `endMove`.
import Accounting
import Containers
import FuseKit
import LinuxKit
import Policy

/// Flags of renameat2(2).
private enum RenameFlag {
  static let noReplace: UInt32 = 1 << 0
  static let exchange: UInt32 = 1 << 1
}

extension ViewFileSystem {
  // MARK: Making

  func makeSpecial(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ reply: consuming Reply
  ) {
    make(request, parent, name, mode, kind(mode), reply) { directory throws(Errno) in
      try Names.makeNode(name.cString, in: directory, mode: mode)
    }
  }

  func makeFolder(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ reply: consuming Reply
  ) {
    make(request, parent, name, mode, .directory, reply) { directory throws(Errno) in
      try Names.makeDirectory(name.cString, in: directory, mode: mode)
    }
  }

  func makeSymbolicLink(
    _ request: Request, _ target: UnsafePointer<CChar>, _ parent: NodeID, _ name: Name,
    _ reply: consuming Reply
  ) {
    make(request, parent, name, 0, .symlink, reply) { directory throws(Errno) in
      try Names.makeSymbolicLink(target, name.cString, in: directory)
    }
  }

  @inline(__always)
  private func make(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ kind: NodeKind,
    _ reply: consuming Reply, _ call: (CInt) throws(Errno) -> Void
  ) {
    do throws(Errno) {
      let scratch = try ThreadScratch.current()
      let parent = try nodes.index(of: parent.rawValue)
      let ruling = try requireCreate(request, name, in: parent, kind, scratch)
      let directory = try nodes.pin(parent, scratch)
      defer { nodes.unpin(parent) }
      try naming(
        request, name, in: parent, directory, kind,
        contents: kind == .directory || kind == .symlink ? Charge.unit : 0
      ) { () throws(Errno) in
        try mutate(.makesName) { () throws(Errno) in
          try caller.acting(
            uid: request.uid, gid: request.gid, mask: request.mask,
            keepsSetGroupID: mode & 0o2000 != 0
          ) { () throws(Errno) in
            try once(.exists) { () throws(Errno) in try call(directory) }
          }
        }
      }
      let status = try InodeStatus.of(name.cString, in: directory)
      answer(try entry(name, in: parent, ruling, status), reply)
    } catch {
      reply.fail(error)
    }
  }

  /// The ruling about a name that may be made.
  func requireCreate(
    _ request: Request, _ name: Name, in parent: NodeIndex, _ kind: NodeKind,
    _ scratch: ThreadScratch
  ) throws(Errno) -> Ruling {
    try check(name)
    let ruling = ruling(name, in: parent, scratch)
    try require(
      ruling.decideCreate(name, kind), by: ruling,
      Inquiry(request, .create, Subject(parent, name), kind))
    return ruling
  }

  func makeLink(
    _ request: Request, _ node: NodeID, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      try check(name)
      let scratch = try ThreadScratch.current()
      let node = try nodes.index(of: node.rawValue)
      let parent = try nodes.index(of: parent.rawValue)
      let ruling = ruling(name, in: parent, scratch)
      let source = nodes.ruling(of: node, like: ruling, scratch)
      let kind = kind(nodes.record(node).pointee.type)
      try require(
        source.decideLink(to: ruling, name, kind), by: ruling,
        Inquiry(request, .link, Subject(node), second: Subject(parent, name), kind))
      let descriptor = try nodes.pin(node, scratch)
      defer { nodes.unpin(node) }
      let directory = try nodes.pin(parent, scratch)
      defer { nodes.unpin(parent) }
      let departure = books.isKept ? try beginLink(descriptor) : .free
      defer { end(departure, isDone: true) }
      try mutate(.makesName) { () throws(Errno) in
        try once(.exists) { () throws(Errno) in
          try Names.link(descriptor, name.cString, in: directory)
        }
      }
      let status = try InodeStatus.of(name.cString, in: directory)
      answer(try entry(name, in: parent, ruling, status), reply)
    } catch {
      reply.fail(error)
    }
  }

  // MARK: Removing

  func removeEntry(
    _ request: Request, _ parent: NodeID, _ name: Name, isDirectory: Bool, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      try check(name)
      let scratch = try ThreadScratch.current()
      let parent = try nodes.index(of: parent.rawValue)
      let ruling = ruling(name, in: parent, scratch)
      try requireVisible(ruling)
      let kind: NodeKind = isDirectory ? .directory : .file
      try require(
        ruling.decide(.remove, kind), by: ruling,
        Inquiry(request, .remove, Subject(parent, name), kind))
      let directory = try nodes.pin(parent, scratch)
      defer { nodes.unpin(parent) }
      try remove(name, parent, directory, isDirectory: isDirectory, scratch)
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  private func remove(
    _ name: Name, _ parent: NodeIndex, _ directory: CInt, isDirectory: Bool,
    _ scratch: ThreadScratch
  ) throws(Errno) {
    if RequestRecord.isRepeated, try finishRemoval(name, parent, directory, scratch) { return }
    let doomed = try nodes.openPath(name.cString, in: directory)
    let status = try InodeStatus.of(doomed.rawValue)
    var departure = try beginRemoval(name, in: parent, doomed.rawValue, status)
    defer { end(departure, isDone: false) }
    nodes.beginMove()
    defer { nodes.endMove() }
    let orphan = isDirectory ? nil : setAside(name, parent, doomed.rawValue, status, scratch)
    do throws(Errno) {
      try mutate(.removesName(Identity(status), doomed.rawValue)) { () throws(Errno) in
        if isDirectory {
          try Names.removeDirectory(name.cString, in: directory)
        } else {
          try Names.unlink(name.cString, in: directory)
        }
      }
    } catch {
      takeBack(orphan)
      throw error
    }
    noteRemoval(&departure)
    leave(name, parent, status, isLast: status.linkCount <= 1, doomed, orphan)
  }

  // MARK: Moving

  func move(
    _ request: Request, _ parent: NodeID, _ name: Name, _ newParent: NodeID, _ newName: Name,
    _ flags: UInt32,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      try check(name)
      try check(newName)
      guard flags & ~(RenameFlag.noReplace | RenameFlag.exchange) == 0 else { throw .invalid }
      let scratch = try ThreadScratch.current()
      let parent = try nodes.index(of: parent.rawValue)
      let newParent = try nodes.index(of: newParent.rawValue)
      let directory = try nodes.pin(parent, scratch)
      defer { nodes.unpin(parent) }
      let newDirectory = try nodes.pin(newParent, scratch)
      defer { nodes.unpin(newParent) }
      let source = End(
        name: name, parent: parent, directory: directory,
        ruling: ruling(name, in: parent, scratch))
      let target = End(
        name: newName, parent: newParent, directory: newDirectory,
        ruling: nodes.ruling(of: newParent, like: source.ruling, scratch).below(newName))
      if RequestRecord.isRepeated,
        try finishMove(source, target, isExchange: flags & RenameFlag.exchange != 0, scratch)
      {
        return reply.succeed()
      }
      try requireVisible(source.ruling)
      if flags & RenameFlag.exchange != 0 {
        try requireVisible(target.ruling)
        try exchange(request, source, target)
      } else {
        try move(request, source, to: target, flags, scratch)
      }
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  /// One side of a rename.
  struct End {
    let name: Name
    let parent: NodeIndex
    let directory: CInt
    let ruling: Ruling

    var subject: Subject { Subject(parent, name) }
  }

  private func move(
    _ request: Request, _ source: End, to target: End, _ flags: UInt32, _ scratch: ThreadScratch
  ) throws(Errno) {
    let status = try InodeStatus.of(source.name.cString, in: source.directory)
    let replaced = try doomed(target)
    let replacedStatus = replaced.status
    try require(
      source.ruling.decideRename(
        renamed(source, status),
        to: RenameTarget(
          zone: target.ruling.zone, existing: replacedStatus.map { kind($0.mode) }),
        target.name), by: source.ruling,
      Inquiry(
        request, .rename, source.subject, second: target.subject, kind(status.mode)))
    var departure = try beginMove(
      request, source, status, to: target, replacing: replaced.path, replacedStatus, scratch)
    var isDone = false
    defer { end(departure, isDone: isDone) }
    nodes.beginMove()
    defer { nodes.endMove() }
    var orphan: Name?
    if flags & RenameFlag.noReplace == 0, let replacedStatus {
      orphan = setAside(target.name, target.parent, replaced.path, replacedStatus, scratch)
    }
    let isMarked = flags & RenameFlag.noReplace == 0 && takesOverMark(of: replaced, source, scratch)
    do throws(Errno) {
      try mutate(.movesName(Identity(status), replaced.path)) { () throws(Errno) in
        try Names.rename(
          source.name.cString, in: source.directory, to: target.name.cString,
          in: target.directory, flags: flags)
      }
    } catch {
      takeBack(orphan)
      if isMarked { removeMark(source, scratch) }
      throw error
    }
    isDone = true
    noteRemoval(&departure)
    if let replacedStatus, let descriptor = replaced.take() {
      leave(
        target.name, target.parent, replacedStatus, isLast: replacedStatus.linkCount <= 1,
        descriptor, orphan)
    }
    nodes.moved(
      source.name, source.parent, to: target.name, target.parent, status, target.ruling)
    notePropertyList(status, by: request)
  }

  /// What a rename is about to replace, and a way to it that outlives its name.
  private struct Doomed: ~Copyable {
    private let descriptor: Descriptor?
    let path: CInt
    let status: InodeStatus?

    /// Nothing is replaced.
    init() {
      descriptor = nil
      path = -1
      status = nil
    }

    init(_ found: consuming Descriptor) throws(Errno) {
      status = try InodeStatus.of(found.rawValue)
      path = found.rawValue
      descriptor = .some(consume found)
    }

    consuming func take() -> Descriptor? { descriptor }
  }

  private func doomed(_ target: End) throws(Errno) -> Doomed {
    do throws(Errno) {
      return try Doomed(try nodes.openPath(target.name.cString, in: target.directory))
    } catch {
      guard error == .noEntry else { throw error }
      return Doomed()
    }
  }

  private func exchange(_ request: Request, _ source: End, _ target: End) throws(Errno) {
    let status = try InodeStatus.of(source.name.cString, in: source.directory)
    let other = try InodeStatus.of(target.name.cString, in: target.directory)
    try require(
      source.ruling.decideExchange(renamed(source, status), renamed(target, other)),
      by: source.ruling,
      Inquiry(
        request, .exchange, source.subject, second: target.subject, kind(status.mode)))
    let departure = beginExchange(status, other)
    defer { end(departure, isDone: true) }
    nodes.beginMove()
    defer { nodes.endMove() }
    try mutate(.movesName(Identity(status), -1)) { () throws(Errno) in
      try Names.rename(
        source.name.cString, in: source.directory, to: target.name.cString, in: target.directory,
        flags: RenameFlag.exchange)
    }
    nodes.moved(
      source.name, source.parent, to: target.name, target.parent, status, target.ruling)
    nodes.moved(
      target.name, target.parent, to: source.name, source.parent, other, source.ruling)
    notePropertyList(status, by: request)
    notePropertyList(other, by: request)
  }

  private func renamed(_ end: End, _ status: borrowing InodeStatus) -> RenamedEntry {
    let open = nodes.openCounts(status)
    let kind = kind(status.mode)
    let linkCount = status.linkCount
    return RenamedEntry(
      zone: end.ruling.zone, kind: kind,
      hasSeveralLinks: kind != .directory && linkCount > 1,
      isOpen: open.opens > 0, isOpenForWriting: open.writers > 0)
  }
}

// MARK: - The mark that keeps a file out of backups

extension ViewFileSystem {
  /// Gives a file the mark of the one that it is about to replace; whether it was given.
  ///
  /// A program that saves by renaming a new file over the old one does not mean to take the mark
  /// away. No rename is refused because of it.
  private func takesOverMark(
    of replaced: borrowing Doomed, _ source: End, _ scratch: ThreadScratch
  ) -> Bool {
    guard let status = replaced.status, kind(status.mode) == .file else { return false }
    let value = scratch.name(ScratchName.attribute)
    let count = try? ExtendedAttributes.get(
      replaced.path, Self.mark, into: value, byteCount: Name.maximumByteCount)
    guard let count, let file = try? nodes.openPath(source.name.cString, in: source.directory)
    else { return false }
    let content = UnsafeRawBufferPointer(start: value, count: count)
    let raw = file.rawValue
    let given: Void? = try? changingMark(raw, scratch) { () throws(Errno) in
      try ExtendedAttributes.set(raw, Self.mark, content, flags: ExtendedAttributes.onlyNew)
    }
    return given != nil
  }

  private func removeMark(_ end: End, _ scratch: ThreadScratch) {
    guard let file = try? nodes.openPath(end.name.cString, in: end.directory) else { return }
    let raw = file.rawValue
    try? changingMark(raw, scratch) { () throws(Errno) in
      try ExtendedAttributes.remove(raw, Self.mark)
    }
  }

  /// The mark is counted like any value; nobody asked for it, so it is not refused.
  private func changingMark(
    _ file: CInt, _ scratch: ThreadScratch, _ change: () throws(Errno) -> Void
  ) throws(Errno) {
    let node = books.isKept ? nodes.known(try InodeStatus.of(file)) : 0
    guard node != 0 else { return try change() }
    let set = nodes.books(of: node, scratch)
    if set.isEmpty { return try change() }
    try revalue(node, file, set, by: 0, nil, change)
  }

  private static var mark: UnsafePointer<CChar> {
    UnsafeRawPointer(BackupMark.storedName.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
