// The operations on what is sealed: the table of chunks answers, and the store gives bytes.
import FuseKit
import LinuxKit
import Policy
import Seal

/// An entry of the sealed bundle.
struct SealedNode {
  let bundle: SealedBundle
  let entry: UInt32
}

extension ViewFileSystem {
  /// The sealed entry that a node is; nil if it is not sealed.
  @inline(__always)
  func sealed(_ index: NodeIndex) -> SealedNode? {
    let entry = nodes.entry(of: index)
    guard entry != SealedBundle.none, let bundle = sealedBundle else { return nil }
    return SealedNode(bundle: bundle, entry: entry)
  }

  /// What the kernel is shown of a sealed entry.
  func shown(_ node: SealedNode) throws(Errno) -> FileAttributes {
    var attributes: FileAttributes
    if node.entry == 0 {
      // The bundle's own directory is there also if its table is not.
      attributes =
        (try? node.bundle.attributes(0))
        ?? FileAttributes(
          inode: SealedBundle.inode(0), mode: 0o040755, size: 4096, seconds: 0, nanoseconds: 0)
    } else {
      attributes = try node.bundle.attributes(node.entry)
    }
    attributes.inode = permutation(attributes.inode)
    attributes.uid = ownerUID
    attributes.gid = ownerGID
    return attributes
  }

  // MARK: Names

  /// Looks a name up in the table and counts the lookup.
  ///
  /// Throws ENOENT if neither the table nor the store has it, and EACCES if only the store does.
  func sealedEntry(
    _ request: Request, _ name: Name, in parent: NodeIndex, _ directory: SealedNode,
    _ ruling: Ruling, _ scratch: ThreadScratch
  ) throws(Errno) -> Entry {
    let child: UInt32?
    do throws(Errno) {
      child = try directory.bundle.child(name, of: directory.entry)
    } catch {
      throw refuseSeal(error, .lookup, ruling, request, Subject(parent, name))
    }
    guard let child else {
      guard isThere(name, in: parent, scratch) else { throw .noEntry }
      directory.bundle.noteAdded(name, in: directory.entry)
      throw refuseSeal(.accessDenied, .lookup, ruling, request, Subject(parent, name))
    }
    let node = SealedNode(bundle: directory.bundle, entry: child)
    return try sealedEntry(name, in: parent, node, ruling)
  }

  /// The entry of a name that is in the table.
  private func sealedEntry(
    _ name: Name, in parent: NodeIndex, _ node: SealedNode, _ ruling: Ruling
  ) throws(Errno) -> Entry {
    var entry = Entry()
    entry.attributes = try shown(node)
    let index = try nodes.enterSealed(
      parent, name, node.entry, type: entry.attributes.mode & 0o170000, ruling)
    entry.node = NodeID(nodes.id(of: index))
    entry.lifetimeSeconds = lifetimeSeconds
    entry.attributeLifetimeSeconds = lifetimeSeconds
    return entry
  }

  /// Whether the store has something of that name.
  private func isThere(
    _ name: Name, in parent: NodeIndex, _ scratch: ThreadScratch
  ) -> Bool {
    guard let directory = try? nodes.pin(parent, scratch) else { return false }
    defer { nodes.unpin(parent) }
    return (try? InodeStatus.of(name.cString, in: directory)) != nil
  }

  // MARK: Listings

  /// Lists a directory of the table: nothing of the store is opened for it.
  func listSealed(
    _ folder: Admitted, _ node: SealedNode, _ offset: Int64, _ count: Int,
    _ withAttributes: Bool, _ reply: consuming Reply
  ) {
    let room = min(count, ThreadScratch.dataByteCount)
    var answer = DirectoryBuffer(folder.scratch.data, capacity: room)
    do throws(Errno) {
      try fillSealed(
        folder.index, node, folder.ruling, from: offset, withAttributes: withAttributes, &answer,
        folder.scratch)
    } catch {
      // What is listed already is answered; the next request meets the error at once.
      if answer.count == 0 { return reply.fail(error) }
    }
    if !reply.listing(answer) && withAttributes { undo(answer) }
  }

  /// The offset of an entry is its place in the listing.
  private func fillSealed(
    _ directory: NodeIndex, _ node: SealedNode, _ ruling: Ruling, from offset: Int64,
    withAttributes: Bool, _ answer: inout DirectoryBuffer, _ scratch: ThreadScratch
  ) throws(Errno) {
    let children = try node.bundle.entry(node.entry).content
    var place = max(0, offset)
    while place < 2 + Int64(children.count) {
      let index = UInt32(truncatingIfNeeded: Int64(children.lowerBound) + place - 2)
      let buffer = scratch.name(ScratchName.sealed)
      if place < 2 {
        (buffer[0], buffer[1], buffer[2]) = (46, place == 0 ? 0 : 46, 0)
      } else {
        let text = node.bundle.text(try node.bundle.entry(index).name)
        for offset in 0..<text.count { buffer[offset] = CChar(bitPattern: text[offset]) }
        buffer[text.count] = 0
      }
      let name = Name(UnsafePointer(buffer))
      guard answer.fits(name, withAttributes: withAttributes) else { return }
      place += 1
      if name.isDots {
        addSealedDots(directory, name, withAttributes, nextOffset: place, &answer)
      } else {
        try addSealed(
          name, in: directory, SealedNode(bundle: node.bundle, entry: index), ruling.below(name),
          withAttributes, nextOffset: place, &answer)
      }
    }
  }

  private func addSealed(
    _ name: Name, in directory: NodeIndex, _ node: SealedNode, _ ruling: Ruling,
    _ withAttributes: Bool, nextOffset: Int64, _ answer: inout DirectoryBuffer
  ) throws(Errno) {
    guard ruling.decide(.lookup, .file).isAllowed else { return }
    if withAttributes {
      answer.add(name, try sealedEntry(name, in: directory, node, ruling), nextOffset: nextOffset)
    } else {
      let mode = SealedBundle.type(try node.bundle.entry(node.entry).kind)
      answer.add(
        name, inode: permutation(SealedBundle.inode(node.entry)), mode: mode,
        nextOffset: nextOffset)
    }
  }

  private func addSealedDots(
    _ directory: NodeIndex, _ name: Name, _ withAttributes: Bool, nextOffset: Int64,
    _ answer: inout DirectoryBuffer
  ) {
    let inode = permutation(
      name.count == 1 ? nodes.inode(of: directory) : nodes.parentInode(of: directory))
    if withAttributes {
      var entry = Entry()
      entry.attributes = FileAttributes(inode: inode, mode: 0o040000)
      answer.add(name, entry, nextOffset: nextOffset)
    } else {
      answer.add(name, inode: inode, mode: 0o040000, nextOffset: nextOffset)
    }
  }

  // MARK: Links

  /// Answers with where a sealed link leads.
  func answerSealedTarget(
    _ link: SealedNode, _ scratch: ThreadScratch, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let entry = try link.bundle.entry(link.entry)
      guard entry.kind == .link else { throw .invalid }
      let text = UnsafeRawBufferPointer(link.bundle.text(entry.content))
      UnsafeMutableRawBufferPointer(start: scratch.data, count: text.count).copyMemory(from: text)
      scratch.data.storeBytes(of: 0, toByteOffset: text.count, as: UInt8.self)
      reply.target(UnsafePointer(scratch.data.assumingMemoryBound(to: CChar.self)))
    } catch {
      reply.fail(error)
    }
  }

  // MARK: Files

  /// Throws EACCES for what is known to be broken, and for executing anything of a bundle in which
  /// something is.
  func requireIntact(
    _ request: Request, _ index: NodeIndex, _ node: SealedNode, _ ruling: Ruling, executes: Bool
  ) throws(Errno) {
    guard node.bundle.isModified, executes || node.bundle.isBroken(node.entry) else { return }
    throw refuseSeal(.accessDenied, executes ? .exec : .read, ruling, request, Subject(index))
  }

  /// Opens the store's file in the place of a sealed one.
  ///
  /// What obviously is another one is noted, and refused with EACCES.
  func openSealed(
    _ request: Request, _ index: NodeIndex, _ node: SealedNode, _ ruling: Ruling,
    _ scratch: ThreadScratch
  ) throws(Errno) -> Descriptor {
    do throws(Errno) {
      let path = try nodes.pin(index, scratch)
      defer { nodes.unpin(index) }
      let descriptor = try nodes.withRoom { () throws(Errno) in
        try Descriptor.reopen(path, 0)
      }
      if try InodeStatus.of(descriptor.rawValue).size == node.bundle.entry(node.entry).size {
        return descriptor
      }
      node.bundle.note(node.entry, .changed)
    } catch {
      // Anything else is the store's trouble.
      guard error == .stale || error == .noEntry || error == .notDirectory else { throw error }
      let exists = nodes.withName(of: index, scratch) { isThere($1, in: $0, scratch) }
      node.bundle.note(node.entry, exists ? .changed : .missing)
    }
    throw refuseSeal(.accessDenied, .read, ruling, request, Subject(index))
  }

  /// Answers with bytes of a sealed file, or with EIO.
  func readSealed(
    _ request: Request, _ open: HandleRecord, _ node: SealedNode, _ offset: Int64, _ count: Int,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let scratch = try ThreadScratch.current()
      let size = try node.bundle.entry(node.entry).size
      let room = Int64(min(count, ThreadScratch.dataByteCount))
      guard offset >= 0, offset < size, room > 0 else { return reply.bytes(scratch.data, count: 0) }
      let wanted = offset..<(offset + min(room, size - offset))
      let start = try sealedBytes(request, open, node, wanted, scratch)
      reply.bytes(scratch.data + start, count: wanted.count)
    } catch {
      reply.fail(error)
    }
  }

  /// Reads bytes within a sealed file's size into the scratch data; where they begin there.
  @inline(__always)
  func sealedBytes(
    _ request: Request, _ open: HandleRecord, _ node: SealedNode, _ wanted: Range<Int64>,
    _ scratch: ThreadScratch
  ) throws(Errno) -> Int {
    do throws(Errno) {
      return try node.bundle.read(node.entry, open.descriptor, wanted, into: scratch.data)
    } catch {
      guard error == .inputOutput, node.bundle.isBroken(node.entry) else { throw error }
      throw refuseSeal(
        .inputOutput, .read, nodes.ruling(of: open.node, scratch), request, Subject(open.node))
    }
  }

  /// Copies bytes of a sealed file, as they were sealed, to another file; how many.
  func copySealed(
    _ request: Request, _ source: HandleRecord, _ node: SealedNode, _ offset: Int64,
    to target: HandleRecord, _ targetOffset: Int64, _ count: Int
  ) throws(Errno) -> Int {
    let size = try node.bundle.entry(node.entry).size
    guard offset >= 0, offset < size, count > 0 else { return 0 }
    let scratch = try ThreadScratch.current()
    let room = Int64(min(count, ThreadScratch.dataByteCount))
    let wanted = offset..<(offset + min(room, size - offset))
    let start = try sealedBytes(request, source, node, wanted, scratch)
    let bytes = UnsafeRawBufferPointer(start: scratch.data + start, count: wanted.count)
    return try resizing(
      request, target.node, target.descriptor, .write,
      to: { max($0, targetOffset.saturating(adding: Int64(bytes.count))) }
    ) { () throws(Errno) in
      try mutate(.setsValue) { () throws(Errno) in
        try FileIO.write(target.descriptor, bytes, at: targetOffset)
      }
    }
  }

  /// Answers where data or a hole begins: a sealed file is all data, whatever the store has.
  func seekSealed(
    _ node: SealedNode, _ offset: Int64, _ whence: CInt, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let size = try node.bundle.entry(node.entry).size
      guard offset >= 0, offset < size else { throw .noSuchAddress }
      reply.offset(try FileIO.placeInData(from: offset, whence, size: size))
    } catch {
      reply.fail(error)
    }
  }
}

extension NodeTable {
  /// Calls `body` with a node's directory and the name that it has there.
  fileprivate func withName(
    of index: NodeIndex, _ scratch: ThreadScratch, _ body: (NodeIndex, Name) -> Bool
  ) -> Bool {
    let buffer = scratch.name(ScratchName.sealed)
    lock.lock()
    let parent = record(index).pointee.parent
    names.copy(record(index).pointee.name, to: buffer)
    lock.unlock()
    return body(parent, Name(UnsafePointer(buffer)))
  }
}
