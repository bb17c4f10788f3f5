// Regular files: opening, creating, their bytes, closing.
import FuseKit
import LinuxKit
import Policy

/// Flags of open(2) as the kernel hands them over.
private enum OpenFlag {
  static let accessMode: CInt = 0o3
  static let readOnly: CInt = 0o0
  static let writeOnly: CInt = 0o1
  static let readWrite: CInt = 0o2
  static let exclusive: CInt = 0o200
  static let truncate: CInt = 0o1000
  static let append: CInt = 0o2000
  static let noAccessTime: CInt = 0o1000000
  /// Not open(2)'s: the kernel sets it when execve(2) opens (FMODE_EXEC).
  static let execute: CInt = 0x20

  /// What is handed on.
  ///
  /// O_APPEND is not: offsets are the kernel's, and Linux ignores them on such a descriptor.
  /// O_DIRECT is not: the buffers of requests are not aligned. O_SYNC is not: the kernel sends an
  /// FSYNC behind each write.
  static let backing: CInt = accessMode | truncate | noAccessTime
}

/// Flags of fallocate(2).
private enum AllocationFlag {
  static let keepSize: CInt = 0x1
  static let punchHole: CInt = 0x2
}

extension Int64 {
  /// The sum, or the largest number where it would be larger.
  func saturating(adding other: Int64) -> Int64 {
    let (sum, isBeyond) = addingReportingOverflow(other)
    return isBeyond ? .max : sum
  }
}

extension ViewFileSystem {
  // MARK: Opening

  func openFile(
    _ request: Request, _ node: NodeID, _ flags: CInt, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let index = try nodes.index(of: node.rawValue)
      let scratch = try ThreadScratch.current()
      let ruling = nodes.ruling(of: index, scratch)
      try requireOpen(request, index, ruling, flags)
      if RequestRecord.isResent, let open = openedBefore() {
        if !reply.opened(open.handle, open.mode) { close(open.handle) }
        return
      }
      if let sealed = sealed(index) {
        return openSealed(request, index, sealed, flags, ruling, scratch, reply)
      }
      let path = try nodes.pin(index, scratch)
      defer { nodes.unpin(index) }
      let descriptor = try openForChange(request, index, path, flags)
      let open = try keep(request, index, descriptor, path: path, flags, ruling)
      FaultPoint.beforeAnswer.pass()
      if !reply.opened(open.handle, open.mode) { close(open.handle) }
    } catch {
      reply.fail(error)
    }
  }

  /// Opens a file that may be changed by its handle; nil if it is only to be read: then it is open
  /// when it has to be.
  ///
  /// The kernel opens what is in passthrough by itself, and calls it EIO if it can't. To read is
  /// refused to nobody who comes so far; to write may be.
  private func openForChange(
    _ request: Request, _ index: NodeIndex, _ path: CInt, _ flags: CInt
  ) throws(Errno) -> Descriptor? {
    // What was cut off for certain may have been written to since.
    let done = RequestRecord.wasExecuted ? OpenFlag.truncate : 0
    let given = flags & OpenFlag.backing & ~done
    guard given & OpenFlag.truncate == 0 else {
      return try resizing(request, index, path, .write, to: { _ in 0 }) { () throws(Errno) in
        try reopen(path, given)
      }
    }
    return given & OpenFlag.accessMode == OpenFlag.readOnly ? nil : try reopen(path, given)
  }

  /// Opens a file for a handle.
  ///
  /// A kernel that keeps what is written reads the rest of a page through the handle that writes.
  /// Where that may not be, it is told to keep nothing of the handle's.
  private func reopen(_ path: CInt, _ flags: CInt) throws(Errno) -> Descriptor {
    let wanted = flagsForCache(flags)
    return try nodes.withRoom { () throws(Errno) in
      try mutate(.setsValue) { () throws(Errno) in
        do throws(Errno) {
          return try Descriptor.reopen(path, wanted)
        } catch {
          guard error == .accessDenied, wanted != flags else { throw error }
          return try Descriptor.reopen(path, flags)
        }
      }
    }
  }

  @inline(__always)
  private func flagsForCache(_ flags: CInt) -> CInt {
    guard cachesWrites, flags & OpenFlag.accessMode == OpenFlag.writeOnly else { return flags }
    return flags & ~OpenFlag.accessMode | OpenFlag.readWrite
  }

  private func openSealed(
    _ request: Request, _ index: NodeIndex, _ node: SealedNode, _ flags: CInt, _ ruling: Ruling,
    _ scratch: ThreadScratch, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      // No policy lets anyone write there; if one did, this is where it ends.
      guard flags & (OpenFlag.accessMode | OpenFlag.truncate) == 0 else { throw .readOnly }
      try requireIntact(
        request, index, node, ruling, executes: flags & OpenFlag.execute != 0)
      let descriptor = try openSealed(request, index, node, ruling, scratch)
      let raw = descriptor.rawValue
      let open = try keep(request, index, descriptor, path: raw, flags, ruling)
      if !reply.opened(open.handle, open.mode) { close(open.handle) }
    } catch {
      reply.fail(error)
    }
  }

  private func requireOpen(
    _ request: Request, _ index: NodeIndex, _ ruling: Ruling, _ flags: CInt
  ) throws(Errno) {
    let access = flags & OpenFlag.accessMode
    if flags & OpenFlag.execute != 0 {
      try requireOpen(request, index, ruling, .exec)
    } else if access != OpenFlag.writeOnly {
      try requireOpen(request, index, ruling, .read)
    }
    if flags & OpenFlag.truncate != 0 {
      try requireOpen(request, index, ruling, .write)
    } else if access != OpenFlag.readOnly {
      // Whether each write begins at the end is asked when it comes.
      try requireOpen(request, index, ruling, .append)
    }
  }

  @inline(__always)
  private func requireOpen(
    _ request: Request, _ index: NodeIndex, _ ruling: Ruling, _ operation: Operation
  ) throws(Errno) {
    let kind = kind(nodes.record(index).pointee.type)
    try require(
      ruling.decide(operation, kind), by: ruling,
      Inquiry(request, operation, Subject(index), kind))
  }

  /// Makes a handle of an open descriptor; how the kernel is to do its I/O.
  ///
  /// Without one it is opened if its I/O comes to us. `path` is an O_PATH descriptor or any other
  /// of the inode. The backing file that is registered keeps this thread's credentials: the
  /// daemon's own.
  private func keep(
    _ request: Request, _ index: NodeIndex, _ descriptor: consuming Descriptor?, path: CInt,
    _ flags: CInt, _ ruling: Ruling
  ) throws(Errno) -> (handle: HandleID, mode: OpenMode) {
    let isAppendOnly = ruling.attributes.append
    var state: HandleRecord.State = []
    if flags & OpenFlag.accessMode != OpenFlag.readOnly { state.insert(.writable) }
    if flags & OpenFlag.accessMode != OpenFlag.writeOnly { state.insert(.readable) }
    if isAppendOnly { state.insert(.appendOnly) }
    if try isLimited(index) { state.insert(.watched) }
    // It was opened before its zone became `append`: its writes can't be watched.
    if isAppendOnly && state.contains(.writable) && isWrittenUnwatched(index) { throw .textBusy }
    let mayPass = !isAppendOnly && !nodes.state(of: index).contains(.bundle)
    let opening = try nodes.opened(index, state, path: mayPass ? path : -1)
    if opening.backing != 0 && opening.isFirstMapper {
      backingFiles?.forgetAttributes(of: NodeID(nodes.id(of: index)))
    }
    if state.contains(.writable) { writingBell._withUnsafeGuaranteedRef { $0.ring() } }
    noteUse(path, ruling)
    do throws(Errno) {
      if descriptor == nil && opening.backing == 0 {
        descriptor = try reopen(path, flags & OpenFlag.backing)
      }
      let mode = mode(opening.backing, state, descriptor?.rawValue ?? -1)
      let handle = HandleID(
        try handles.open(index, descriptor, state, process: request.pid))
      return (handle, mode)
    } catch {
      closed(index, state)
      throw error
    }
  }

  /// Keeps in mind that a file was used that goes when space is short, the one that was used least
  /// recently first: as its access time, where the file system would not, or where the kernel
  /// answers reads from its memory.
  ///
  /// As often as `relatime` does: once after each change, else once a day.
  private func noteUse(_ path: CInt, _ ruling: Ruling) {
    guard forgetsAccess || backingFiles == nil, ruling.attributes.purge.contains(.pressure),
      let status = try? InodeStatus.of(path)
    else { return }
    let accessed = status.shown.accessTime.seconds
    let isKnown = accessed > status.shown.modificationTime.seconds
    let secondsOfDay: Int64 = 86_400
    // An app may have set any time: nothing is subtracted from it.
    guard !isKnown || Int64(accessed) < WallTime.now.seconds - secondsOfDay else { return }
    try? Attributes.setTimes(path, access: .now, modification: .omitted)
  }

  /// Whether a file is open so that the kernel writes it by itself, or when it has time to.
  private func isWrittenUnwatched(_ index: NodeIndex) -> Bool {
    if nodes.isOpenInPassthrough(index) { return true }
    return cachesWrites && handles.hasWatchlessWriter(of: index)
  }

  /// In an `append` zone the kernel may cache nothing: a page that is mapped shared could be
  /// changed without a message.
  ///
  /// Nor may it keep what is written through a descriptor that can't read the rest of a page. Where
  /// there is a limit, what is written to a file in passthrough comes to us all the same.
  func mode(_ backing: Int32, _ state: HandleRecord.State, _ descriptor: CInt) -> OpenMode {
    guard backing == 0 else {
      return OpenMode(
        backing: backing, isWatched: state.isSuperset(of: [.writable, .watched]))
    }
    let isUncached =
      state.contains(.appendOnly) || cachesWrites && FileIO.isOpenOnlyForWriting(descriptor)
    return OpenMode(isUncached ? .directIO : .keepCache)
  }

  /// Whether what a file costs is in any book.
  @inline(__always)
  private func isLimited(_ index: NodeIndex) throws(Errno) -> Bool {
    guard books.isKept else { return false }
    return !nodes.books(of: index, try ThreadScratch.current()).isEmpty
  }

  func createFile(
    _ request: Request, _ parent: NodeID, _ name: Name, _ mode: UInt32, _ flags: CInt,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let scratch = try ThreadScratch.current()
      let parent = try nodes.index(of: parent.rawValue)
      let ruling = try requireCreate(request, name, in: parent, .file, scratch)
      if RequestRecord.isResent, let open = openedBefore() {
        return answerCreated(open, reply)
      }
      let directory = try nodes.pin(parent, scratch)
      defer { nodes.unpin(parent) }
      let descriptor = try naming(
        request, name, in: parent, directory, .file, contents: 0
      ) { () throws(Errno) in try create(request, name, directory, mode, flags) }
      let status = try InodeStatus.of(descriptor.rawValue)
      var entry = try entry(name, in: parent, ruling, status)
      let index = try nodes.index(of: entry.node.rawValue)
      // It is new: nobody can have set an xattr of it before this is answered.
      if !RequestRecord.isRepeated { nodes.noteIncapable(index) }
      do throws(Errno) {
        let path = descriptor.rawValue
        let open = try keep(request, index, descriptor, path: path, flags, ruling)
        entry.attributeLifetimeSeconds = attributeLifetimeSeconds(index)
        FaultPoint.beforeAnswer.pass()
        if !reply.created(entry, open.handle, open.mode) {
          close(open.handle)
          nodes.forget(entry.node.rawValue, 1)
        }
      } catch {
        // What can't be opened is not left behind.
        try? unmake(name, in: parent, directory)
        nodes.forget(entry.node.rawValue, 1)
        throw error
      }
    } catch {
      reply.fail(error)
    }
  }

  private func unmake(_ name: Name, in parent: NodeIndex, _ directory: CInt) throws(Errno) {
    let file = try nodes.openPath(name.cString, in: directory)
    var departure = try beginRemoval(
      name, in: parent, file.rawValue, try InodeStatus.of(file.rawValue))
    defer { end(departure, isDone: false) }
    try Names.unlink(name.cString, in: directory)
    noteRemoval(&departure)
  }

  /// Creates the file as the caller.
  ///
  /// The kernel has seen that there is none and holds the directory. What is there all the same was
  /// put there beside the view: ESTALE makes the kernel look again, and judge by what it finds.
  private func create(
    _ request: Request, _ name: Name, _ directory: CInt, _ mode: UInt32, _ flags: CInt
  ) throws(Errno) -> Descriptor {
    let permissions = mode & 0o7777
    let failure: Errno
    do throws(Errno) {
      return try nodes.withRoom { () throws(Errno) in
        try caller.acting(
          uid: request.uid, gid: request.gid, mask: request.mask,
          keepsSetGroupID: permissions & 0o2000 != 0
        ) { () throws(Errno) in
          try mutate(.makesName) { () throws(Errno) in
            try Descriptor.create(
              name.cString, in: directory,
              flagsForCache(flags & OpenFlag.backing & ~OpenFlag.truncate),
              mode: permissions)
          }
        }
      }
    } catch {
      failure = error
    }
    if failure == .exists, RequestRecord.isRepeated {
      return try reopenCreated(
        name, directory, flagsForCache(flags & OpenFlag.accessMode))
    }
    throw failure == .exists && flags & OpenFlag.exclusive == 0 ? .stale : failure
  }

  // MARK: Closing

  func releaseFile(_ handle: HandleID, _ reply: consuming Reply) {
    close(handle)
    reply.succeed()
  }

  func close(_ handle: HandleID) {
    guard let closed = try? handles.close(handle.rawValue) else { return }
    if books.isKept { settleUnwatched(closed.node) }
    // The node may end with the handle.
    let list = closed.state.contains(.writable) ? nodes.propertyList(closed.node) : nil
    self.closed(closed.node, closed.state)
    if let list { propertyLists.note(.init(node: list, process: closed.process)) }
  }

  private func closed(_ index: NodeIndex, _ state: HandleRecord.State) {
    if let orphan = nodes.closed(index, state) { dropOrphan(orphan) }
  }

  // MARK: Bytes

  /// A descriptor of an open file, which is opened now if the kernel was to read it by itself.
  private func descriptor(of open: HandleRecord, _ handle: HandleID) throws(Errno) -> CInt {
    if open.descriptor >= 0 { return open.descriptor }
    let path = try nodes.pin(open.node, try ThreadScratch.current())
    defer { nodes.unpin(open.node) }
    return try handles.give(try reopen(path, OpenFlag.readOnly), to: handle.rawValue)
  }

  func readFile(
    _ request: Request, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let open = try handles.find(handle.rawValue)
      if let sealed = sealed(open.node) {
        return readSealed(request, open, sealed, offset, count, reply)
      }
      let scratch = try ThreadScratch.current()
      let room = min(count, ThreadScratch.dataByteCount)
      let file = try descriptor(of: open, handle)
      let size = try FileIO.read(file, into: scratch.data, count: room, at: offset)
      reply.bytes(scratch.data, count: size)
    } catch {
      reply.fail(error)
    }
  }

  func writeFile(
    _ request: Request, _ handle: HandleID, _ bytes: UnsafeRawBufferPointer, _ offset: Int64,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let open = try handles.find(handle.rawValue)
      try requirePosition(request, open, offset)
      let count = try resizing(
        request, open.node, open.descriptor, .write,
        to: { max($0, offset.saturating(adding: Int64(bytes.count))) }
      ) { () throws(Errno) in
        try mutate(.setsValue) { () throws(Errno) in
          try FileIO.write(open.descriptor, bytes, at: offset)
        }
      }
      reply.written(count)
    } catch {
      reply.fail(error)
    }
  }

  /// In an append zone a write begins at the end, or it is refused.
  private func requirePosition(
    _ request: Request, _ open: HandleRecord, _ offset: Int64
  ) throws(Errno) {
    // The first run of a repeated request was at the end, and has moved it.
    guard open.state.contains(.appendOnly), !RequestRecord.isRepeated else { return }
    let status = try InodeStatus.of(open.descriptor)
    if offset == status.size { return }
    // The kernel writes what it has kept through any handle of the file, also through one that is
    // older than the rule's end.
    let ruling = nodes.ruling(of: open.node, try ThreadScratch.current())
    if cachesWrites && !ruling.attributes.append { return }
    try refuseChange(request, open)
  }

  /// The answer to a change of bytes that are there, in an append zone.
  private func refuseChange(_ request: Request, _ open: HandleRecord) throws(Errno) {
    let ruling = nodes.ruling(of: open.node, try ThreadScratch.current())
    try requireOpen(request, open.node, ruling, .write)
    // The rule was lifted since the file was opened, which keeps what it was opened with.
    throw .notPermitted
  }

  func synchronizeFile(_ handle: HandleID, _ dataOnly: Bool, _ reply: consuming Reply) {
    do throws(Errno) {
      let open = try handles.find(handle.rawValue)
      // Nothing of it is ever written.
      if sealed(open.node) != nil { return reply.succeed() }
      let file = try descriptor(of: open, handle)
      try LongCall.run { () throws(Errno) in
        try FileIO.synchronize(file, dataOnly: dataOnly)
      }
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  func allocateFile(
    _ request: Request, _ handle: HandleID, _ mode: CInt, _ offset: Int64, _ length: Int64,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let open = try handles.find(handle.rawValue)
      // Punching, zeroing and shifting change bytes that are there.
      if open.state.contains(.appendOnly) && mode & ~1 != 0 {
        try refuseChange(request, open)
      }
      try resizing(
        request, open.node, open.descriptor, .write,
        to: { size throws(Errno) in
          let end = offset.saturating(adding: length)
          guard mode & AllocationFlag.keepSize != 0 else { return max(size, end) }
          // What is beyond the end would be there without being counted.
          if end > size && mode & AllocationFlag.punchHole == 0 { throw .notSupported }
          return size
        }
      ) { () throws(Errno) in
        try mutate(.setsValue) { () throws(Errno) in
          try LongCall.run { () throws(Errno) in
            try FileIO.allocate(open.descriptor, mode: mode, offset: offset, length: length)
          }
        }
      }
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  func copyFile(
    _ request: Request, _ source: (handle: HandleID, offset: Int64),
    _ target: (handle: HandleID, offset: Int64),
    _ count: Int, _ flags: UInt32, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      guard flags == 0 else { throw .invalid }
      let from = try handles.find(source.handle.rawValue)
      let to = try handles.find(target.handle.rawValue)
      try requirePosition(request, to, target.offset)
      if let sealed = sealed(from.node) {
        return reply.written(
          try copySealed(request, from, sealed, source.offset, to: to, target.offset, count))
      }
      let file = try descriptor(of: from, source.handle)
      // The answer has 32 bits, and limits are not to be held up for long: callers ask again.
      let count = min(count, 64 << 20)
      let copied = try resizing(
        request, to.node, to.descriptor, .write,
        to: { size throws(Errno) in
          let rest = try InodeStatus.of(file).size.saturating(adding: -source.offset)
          let length = max(0, min(Int64(count), rest))
          return max(size, length == 0 ? 0 : target.offset.saturating(adding: length))
        }
      ) { () throws(Errno) in
        try mutate(.setsValue) { () throws(Errno) in
          try LongCall.run { () throws(Errno) in
            try FileIO.copy(
              from: file, at: source.offset, to: to.descriptor, at: target.offset, count: count)
          }
        }
      }
      reply.written(copied)
    } catch {
      reply.fail(error)
    }
  }

  func seekFile(_ handle: HandleID, _ offset: Int64, _ whence: CInt, _ reply: consuming Reply) {
    // The kernel may have data where the backing has a hole still. It answers by itself then: all
    // of a file is data.
    if cachesWrites { return reply.fail(.unsupported) }
    do throws(Errno) {
      let open = try handles.find(handle.rawValue)
      if let sealed = sealed(open.node) { return seekSealed(sealed, offset, whence, reply) }
      let file = try descriptor(of: open, handle)
      reply.offset(try FileIO.seek(file, to: offset, whence))
    } catch {
      reply.fail(error)
    }
  }
}
