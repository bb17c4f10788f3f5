// Requests that come again, since the process died that was serving them: what it had done is
// found, and not done twice.
//
// That a name is there, or gone, says that the first run has made or removed it: the caller holds
// the lock of its directory until it is answered, and had seen that it could be done.
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  /// The file that the first run of this request has opened; nil if it came not so far.
  func openedBefore() -> (handle: HandleID, mode: OpenMode, record: HandleRecord)? {
    guard let (number, open) = handles.find(madeBy: RequestRecord.current.number) else {
      return nil
    }
    let backing = nodes.backing(of: open.node)
    return (
      HandleID(number), mode(backing, open.state, open.descriptor), open
    )
  }

  /// Answers CREATE with the file that the first run has created and opened.
  func answerCreated(
    _ open: (handle: HandleID, mode: OpenMode, record: HandleRecord), _ reply: consuming Reply
  ) {
    let index = open.record.node
    let status: InodeStatus
    do throws(Errno) {
      status = try InodeStatus.of(open.record.descriptor)
    } catch {
      return reply.fail(error)
    }
    nodes.enterKnown(index)
    let entry = makeEntry(index, status)
    let node = entry.node
    if !reply.created(entry, open.handle, open.mode) {
      close(open.handle)
      nodes.forget(node.rawValue, 1)
    }
  }

  /// Opens the file that the first run has created, of whatever mode it is.
  func reopenCreated(
    _ name: Name, _ directory: CInt, _ access: CInt
  ) throws(Errno) -> Descriptor {
    let path = try nodes.openPath(name.cString, in: directory)
    let status = try InodeStatus.of(path.rawValue)
    guard kind(status.mode) == .file else { throw .exists }
    let failure: Errno
    do throws(Errno) {
      return try Descriptor.reopen(path.rawValue, access)
    } catch {
      failure = error
    }
    guard failure == .accessDenied else { throw failure }
    // Whoever creates a file may open it although its mode forbids that; a daemon without
    // privileges can't do so later.
    let mode = status.mode & 0o7777
    try Attributes.setMode(path.rawValue, mode | 0o600)
    let opened = try Descriptor.reopen(path.rawValue, access)
    try Attributes.setMode(path.rawValue, mode)
    return opened
  }

  /// Does what is left of a removal that the first run has made; false if it has made none.
  func finishRemoval(
    _ name: Name, _ parent: NodeIndex, _ directory: CInt, _ scratch: ThreadScratch
  ) throws(Errno) -> Bool {
    let record = RequestRecord.current
    let isThere = try identity(of: name, in: directory) == record.notedIdentity
    let kept = record.takeDescriptor()
    if isThere {
      record.descriptor = -1
      return false
    }
    if let kept { try finishLeaving(name, parent, kept, scratch) }
    return true
  }

  /// A name is gone whose inode the first run has kept open.
  private func finishLeaving(
    _ name: Name, _ parent: NodeIndex, _ kept: consuming Descriptor, _ scratch: ThreadScratch
  ) throws(Errno) {
    let status: InodeStatus
    do throws(Errno) {
      status = try InodeStatus.of(kept.rawValue)
    } catch {
      RequestRecord.current.descriptor = -1
      throw error
    }
    finishRemoval(of: status, name, in: parent, scratch)
    nodes.beginMove()
    defer { nodes.endMove() }
    let orphan = orphan(of: Identity(status), scratch)
    leave(name, parent, status, isLast: status.linkCount == 0, kept, orphan)
  }

  /// Does what is left of a rename that the first run has made; false if it has made none.
  func finishMove(
    _ source: End, _ target: End, isExchange: Bool, _ scratch: ThreadScratch
  ) throws(Errno) -> Bool {
    let record = RequestRecord.current
    let moved = record.notedIdentity
    // Names of one inode are not moved by a rename from one to the other, nor exchanged.
    let atTarget = try identity(of: target.name, in: target.directory)
    let atSource = try identity(of: source.name, in: source.directory)
    let isDone = atTarget == moved && atSource != moved
    let kept = record.takeDescriptor()
    guard isDone else {
      record.descriptor = -1
      return false
    }
    if let kept { try finishLeaving(target.name, target.parent, kept, scratch) }
    let status = try InodeStatus.of(target.name.cString, in: target.directory)
    finishMove(of: status, to: target, scratch)
    nodes.beginMove()
    defer { nodes.endMove() }
    nodes.moved(
      source.name, source.parent, to: target.name, target.parent, status, target.ruling)
    if isExchange {
      let other = try InodeStatus.of(source.name.cString, in: source.directory)
      nodes.moved(
        target.name, target.parent, to: source.name, source.parent, other, source.ruling)
    }
    return true
  }

  /// What a name means; nil if there is none.
  private func identity(of name: Name, in directory: CInt) throws(Errno) -> Identity? {
    do throws(Errno) {
      return Identity(try InodeStatus.of(name.cString, in: directory))
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }
}
