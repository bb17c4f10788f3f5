// Attributes: stat, chmod and its kin, link targets, xattrs, free space.
import Containers
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  func answerAttributes(_ node: NodeID, _ handle: HandleID?, _ reply: consuming Reply) {
    do throws(Errno) {
      let index = try nodes.index(of: node.rawValue)
      if let sealed = sealed(index) {
        return reply.attributes(try shown(sealed), lifetimeSeconds: lifetimeSeconds)
      }
      let status = try status(index, handle)
      reply.attributes(
        shown(status, of: index),
        lifetimeSeconds: attributeLifetimeSeconds(index))
    } catch {
      reply.fail(error)
    }
  }

  private func status(_ index: NodeIndex, _ handle: HandleID?) throws(Errno) -> InodeStatus {
    if let handle, let open = try? handles.find(handle.rawValue), open.node == index,
      open.descriptor >= 0
    {
      return try InodeStatus.of(open.descriptor)
    }
    do throws(Errno) {
      return try nodes.status(of: index, try ThreadScratch.current())
    } catch {
      // Its directory may no longer be searched, which is nothing to whom has it open.
      guard error == .accessDenied, let open = handles.duplicate(of: index) else { throw error }
      return try InodeStatus.of(open.rawValue)
    }
  }

  // MARK: Changing

  func changeAttributes(
    _ request: Request, _ node: NodeID, _ attributes: FileAttributes, _ changes: AttributeChanges,
    _ handle: HandleID?, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let index = try nodes.index(of: node.rawValue)
      let scratch = try ThreadScratch.current()
      let isKernels = isOfKernel(changes, handle)
      if !isKernels { try requireChange(request, index, changes, scratch) }
      if let sealed = sealed(index) {
        // Nothing is left that could be changed.
        return reply.attributes(try shown(sealed), lifetimeSeconds: lifetimeSeconds)
      }
      let reached = try reach(index, scratch)
      defer { leave(index, reached) }
      let descriptor = reached.number
      // The size first: it is what can fail for want of space, and then nothing has changed.
      try mutate(.setsValue) { () throws(Errno) in
        if changes.contains(.size) {
          try resizing(request, index, descriptor, .write, to: { _ in attributes.size }) {
            () throws(Errno) in try setSize(descriptor, attributes, handle)
          }
        }
        try setOwner(request, descriptor, attributes, changes)
        try setMode(descriptor, attributes, changes)
        try setTimes(descriptor, attributes, changes)
        if !isKernels && changes.isSubset(of: .changeTime) {
          try clearSetID(request, index, descriptor, scratch)
        }
      }
      let status = try InodeStatus.of(descriptor)
      reply.attributes(
        shown(status, of: index),
        lifetimeSeconds: attributeLifetimeSeconds(index))
    } catch {
      reply.fail(error)
    }
  }

  /// Whether the kernel brings the times of what it had cached, which it owns then.
  ///
  /// It names a file that is open for writing, which no caller's change of times does.
  private func isOfKernel(_ changes: AttributeChanges, _ handle: HandleID?) -> Bool {
    guard cachesWrites, let handle, changes.contains(.modificationTime),
      changes.isSubset(of: [.modificationTime, .changeTime])
    else { return false }
    return (try? handles.find(handle.rawValue))?.state.contains(.writable) ?? false
  }

  private func requireChange(
    _ request: Request, _ index: NodeIndex, _ changes: AttributeChanges, _ scratch: ThreadScratch
  ) throws(Errno) {
    let ruling = nodes.ruling(of: index, scratch)
    let kind = kind(nodes.record(index).pointee.type)
    if changes.contains(.size) {
      try require(
        ruling.decide(.write, kind), by: ruling,
        Inquiry(request, .write, Subject(index), kind))
    }
    // What a write or truncation implies, such as the time of modification, is no change of its
    // own.
    if !changes.isDisjoint(with: [.mode, .uid, .gid, .accessTime, .modificationTime]) {
      try require(
        ruling.decide(.setattr, kind), by: ruling,
        Inquiry(request, .setattr, Subject(index), kind))
    }
  }

  private func setSize(
    _ descriptor: CInt, _ attributes: FileAttributes, _ handle: HandleID?
  ) throws(Errno) {
    try LongCall.run { () throws(Errno) in
      if let handle, let open = try? handles.find(handle.rawValue), open.state.contains(.writable) {
        return try Attributes.setSizeOfOpen(open.descriptor, attributes.size)
      }
      try Attributes.setSize(descriptor, attributes.size)
    }
  }

  private func setOwner(
    _ request: Request, _ descriptor: CInt, _ attributes: FileAttributes,
    _ changes: AttributeChanges
  ) throws(Errno) {
    guard !changes.isDisjoint(with: [.uid, .gid]) else { return }
    let uid = changes.contains(.uid) ? attributes.uid : nil
    let gid = changes.contains(.gid) ? attributes.gid : nil
    guard request.uid == 0 else {
      return try Attributes.setOwner(descriptor, uid: uid, gid: gid)
    }
    // An S_ISGID that does not mean execution stays where root changes the owner.
    try caller.keepingSetGroupID { () throws(Errno) in
      try Attributes.setOwner(descriptor, uid: uid, gid: gid)
    }
  }

  /// A SETATTR that changes nothing is a chown(2) to nobody, or comes before a write.
  ///
  /// Both take set-id bits away. The kernel has not asked whose the file is: a stranger changes
  /// nothing here, and loses nothing by it, since a write clears them by itself.
  private func clearSetID(
    _ request: Request, _ index: NodeIndex, _ descriptor: CInt, _ scratch: ThreadScratch
  ) throws(Errno) {
    let kind = kind(nodes.record(index).pointee.type)
    let status = try InodeStatus.of(descriptor)
    guard request.uid == 0 || request.uid == status.shown.uid,
      nodes.ruling(of: index, scratch).decide(.setattr, kind).isAllowed
    else { return }
    try Attributes.setOwner(descriptor, uid: nil, gid: nil)
  }

  private func setMode(
    _ descriptor: CInt, _ attributes: FileAttributes, _ changes: AttributeChanges
  ) throws(Errno) {
    guard changes.contains(.mode) else { return }
    let mode = attributes.mode & 0o7777
    if mode & 0o2000 == 0 { return try Attributes.setMode(descriptor, mode) }
    // The kernel has already taken S_ISGID away from those who may not set it.
    try caller.keepingSetGroupID { () throws(Errno) in try Attributes.setMode(descriptor, mode) }
  }

  private func setTimes(
    _ descriptor: CInt, _ attributes: FileAttributes, _ changes: AttributeChanges
  ) throws(Errno) {
    let access = time(
      changes, .accessTime, .accessTimeNow, attributes.accessTime)
    let modification = time(
      changes, .modificationTime, .modificationTimeNow, attributes.modificationTime)
    if case .omitted = access, case .omitted = modification { return }
    try Attributes.setTimes(descriptor, access: access, modification: modification)
  }

  private func time(
    _ changes: AttributeChanges, _ set: AttributeChanges, _ now: AttributeChanges,
    _ value: (seconds: Int, nanoseconds: Int)
  ) -> Attributes.Time {
    if changes.contains(now) { return .now }
    guard changes.contains(set) else { return .omitted }
    return .at(seconds: value.seconds, nanoseconds: value.nanoseconds)
  }

  // MARK: Link targets

  func answerTarget(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    do throws(Errno) {
      let link = try admit(request, .read, node)
      if let sealed = sealed(link.index) {
        return answerSealedTarget(sealed, link.scratch, reply)
      }
      let descriptor = try nodes.pin(link.index, link.scratch)
      defer { nodes.unpin(link.index) }
      let target = link.scratch.data.assumingMemoryBound(to: CChar.self)
      let count = try Names.readLink(
        nodes.emptyPath, in: descriptor, into: target, byteCount: 4096)
      target[count] = 0
      reply.target(UnsafePointer(target))
    } catch {
      reply.fail(error)
    }
  }

  // MARK: Extended attributes

  func getAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ count: Int,
    _ reply: consuming Reply
  ) {
    // What the kernel asks for itself, before it writes, executes or judges permissions, is no
    // reading of the caller's.
    let isKernels = ExtendedAttributes.isOfKernel(Name(name))
    let isCapability = ExtendedAttributes.isCapability(Name(name))
    answerBytes(
      request, isKernels ? .readAttributes : .read, node, count, isCapability: isCapability, reply
    ) {
      descriptor, buffer, count throws(Errno) in
      try ExtendedAttributes.get(
        descriptor, try stored(name), into: buffer, byteCount: count)
    }
  }

  func listAttributes(
    _ request: Request, _ node: NodeID, _ count: Int, _ reply: consuming Reply
  ) {
    let seesTrusted = request.uid == 0
    answerBytes(request, .readAttributes, node, count, isList: true, reply) {
      descriptor, buffer, room throws(Errno) in
      if seesTrusted {
        return try ExtendedAttributes.list(descriptor, into: buffer, byteCount: room)
      }
      // The backing shows names in `trusted.` to our privilege; they are for nobody else.
      let names = try ThreadScratch.current().data
      let size = try ExtendedAttributes.listUntrusted(
        descriptor, into: names, byteCount: ThreadScratch.dataByteCount)
      if count != 0 && size > count { throw .outOfRange }
      return size
    }
  }

  /// Answers with a size if `count` is 0, and else with at most `count` bytes.
  ///
  /// The kernel asks for capabilities before the first write behind each opening, and seldom finds
  /// any: of a node that has none this is kept in mind.
  @inline(__always)
  private func answerBytes(
    _ request: Request, _ operation: Operation, _ node: NodeID, _ count: Int,
    isList: Bool = false, isCapability: Bool = false, _ reply: consuming Reply,
    _ read: (CInt, UnsafeMutableRawPointer?, Int) throws(Errno) -> Int
  ) {
    do throws(Errno) {
      let subject = try admit(request, operation, node)
      if sealed(subject.index) != nil {
        // What is sealed has none.
        guard isList else { throw .noData }
        return count == 0 ? reply.size(0) : reply.bytes(subject.scratch.data, count: 0)
      }
      let known = isCapability ? nodes.capability(of: subject.index) : (isAbsent: false, changes: 0)
      if known.isAbsent { throw .noData }
      let reached = try reach(subject.index, subject.scratch)
      defer { leave(subject.index, reached) }
      let descriptor = reached.number
      let room = min(count, ThreadScratch.dataByteCount)
      let size: Int
      do throws(Errno) {
        size = try read(descriptor, count == 0 ? nil : subject.scratch.data, room)
      } catch {
        if isCapability && error == .noData {
          nodes.noteIncapable(subject.index, since: known.changes)
        }
        throw error
      }
      if count == 0 { return reply.size(size) }
      reply.bytes(subject.scratch.data, count: size)
    } catch {
      reply.fail(error)
    }
  }

  func setAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>,
    _ value: UnsafeRawBufferPointer, _ flags: CInt, clearsSetGroupID: Bool,
    _ reply: consuming Reply
  ) {
    let isACL = ExtendedAttributes.isAccessACL(Name(name))
    let create: CInt = 1
    let mustBeNew: Bool? = flags & create != 0 ? true : nil
    changeAttribute(request, node, reply, name, mustBeNew: mustBeNew, newCount: value.count) {
      descriptor, name throws(Errno) in
      guard isACL && !clearsSetGroupID else {
        return try ExtendedAttributes.set(
          descriptor, name, value, flags: RequestRecord.isRepeated ? flags & ~create : flags)
      }
      try caller.keepingSetGroupID { () throws(Errno) in
        try ExtendedAttributes.set(descriptor, name, value, flags: flags)
      }
    }
  }

  /// Whether S_ISGID stays where the removal of an ACL changes the mode: for root and the group.
  ///
  /// The kernel does not say, as it does where an ACL is set; of supplementary groups nothing is
  /// known.
  private func mayKeepSetGroupID(_ request: Request, _ descriptor: CInt) throws(Errno) -> Bool {
    if request.uid == 0 { return true }
    let status = try InodeStatus.of(descriptor)
    return status.shown.gid == request.gid
  }

  func removeAttribute(
    _ request: Request, _ node: NodeID, _ name: UnsafePointer<CChar>, _ reply: consuming Reply
  ) {
    let isACL = ExtendedAttributes.isAccessACL(Name(name))
    changeAttribute(request, node, reply, name, mustBeNew: false) {
      descriptor, name throws(Errno) in
      try once(.noData) { () throws(Errno) in
        guard isACL, try mayKeepSetGroupID(request, descriptor) else {
          return try ExtendedAttributes.remove(descriptor, name)
        }
        try caller.keepingSetGroupID { () throws(Errno) in
          try ExtendedAttributes.remove(descriptor, name)
        }
      }
    }
  }

  /// Changes an xattr that must not be there yet, must be there, or may be.
  ///
  /// A change that fails for that reason is not begun: should it come again, that it is there says
  /// that it was made.
  @inline(__always)
  private func changeAttribute(
    _ request: Request, _ node: NodeID, _ reply: consuming Reply, _ name: UnsafePointer<CChar>,
    mustBeNew: Bool?, newCount: Int = 0,
    _ change: (CInt, UnsafePointer<CChar>) throws(Errno) -> Void
  ) {
    do throws(Errno) {
      let subject = try admit(request, .setattr, node)
      let name = try stored(name)
      let reached = try reach(subject.index, subject.scratch)
      defer { leave(subject.index, reached) }
      let descriptor = reached.number
      if let mustBeNew, !RequestRecord.isRepeated {
        try require(name, of: descriptor, isNew: mustBeNew)
      }
      // Before, since this process may die behind the call; and behind it, for who asks meanwhile.
      nodes.noteAttributeChange(subject.index)
      defer { nodes.noteAttributeChange(subject.index) }
      try revaluing(
        request, subject.index, descriptor,
        by: { () throws(Errno) in try growth(name, of: descriptor, to: newCount) }
      ) { () throws(Errno) in
        try mutate(.setsValue) { () throws(Errno) in try change(descriptor, name) }
      }
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  /// By how much an attribute becomes larger, of those that are counted.
  private func growth(
    _ name: UnsafePointer<CChar>, of descriptor: CInt, to count: Int
  ) throws(Errno) -> Int64 {
    guard ExtendedAttributes.isOwners(Name(name)) else { return 0 }
    // What is not there, or can't be, the change itself will say.
    let old = try? ExtendedAttributes.get(descriptor, name, into: nil, byteCount: 0)
    return Int64(count - (old ?? 0))
  }

  private func require(
    _ name: UnsafePointer<CChar>, of descriptor: CInt, isNew: Bool
  ) throws(Errno) {
    // To remove an ACL that is not there is no error.
    if ExtendedAttributes.isOfKernel(Name(name)) { return }
    let isThere: Bool
    do throws(Errno) {
      _ = try ExtendedAttributes.get(descriptor, name, into: nil, byteCount: 0)
      isThere = true
    } catch {
      // What else is wrong the change itself will say.
      guard error == .noData else { return }
      isThere = false
    }
    if isThere && isNew { throw .exists }
    if !isThere && !isNew { throw .noData }
  }

  /// The name under which the store's file system keeps an attribute: one of Apple's, which has no
  /// namespace, in `user.`.
  private func stored(_ name: UnsafePointer<CChar>) throws(Errno) -> UnsafePointer<CChar> {
    let given = Name(name)
    guard given.begins(with: BackupMark.applePrefix) else { return name }
    let namespace = BackupMark.namespace
    let length = namespace.utf8CodeUnitCount
    // As the kernel says it of a name that is too long.
    guard given.count + length <= Name.maximumByteCount else { throw .outOfRange }
    let buffer = try ThreadScratch.current().name(ScratchName.attribute)
    for index in 0..<length { buffer[index] = CChar(bitPattern: namespace.utf8Start[index]) }
    for index in 0...given.count { buffer[length + index] = name[index] }
    return UnsafePointer(buffer)
  }
}
