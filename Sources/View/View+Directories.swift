// Listings: offsets are the backing's own, also where entries are hidden, so that a listing goes on
// rightly whatever is removed meanwhile.
//
// Where those offsets mean the same to every descriptor of a directory, the kernel is told at its
// first OPENDIR that none is needed: from then on it opens and closes directories by itself, and
// what it has listed once costs no message. Handle 0 is such a directory.
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  func openFolder(_ request: Request, _ node: NodeID, _ reply: consuming Reply) {
    if backing.keepsPlaces { return reply.fail(.unsupported) }
    do throws(Errno) {
      let folder = try admit(request, .list, node)
      let index = folder.index
      if RequestRecord.isResent, let open = openedBefore() {
        if !reply.opened(open.handle, OpenMode([.keepCache, .cacheDirectory])) {
          close(open.handle)
        }
        return
      }
      if sealed(index) != nil { return openSealedFolder(request, index, reply) }
      let path = try nodes.pin(index, folder.scratch)
      defer { nodes.unpin(index) }
      let descriptor = try nodes.withRoom { () throws(Errno) in
        try Descriptor.reopenDirectory(path)
      }
      _ = try nodes.opened(index, .directory)
      do throws(Errno) {
        let handle = HandleID(try handles.open(index, descriptor, .directory, process: request.pid))
        if !reply.opened(handle, OpenMode([.keepCache, .cacheDirectory])) {
          _ = try? handles.close(handle.rawValue)
          nodes.closed(index, .directory)
        }
      } catch {
        nodes.closed(index, .directory)
        throw error
      }
    } catch {
      reply.fail(error)
    }
  }

  /// A sealed directory is listed from the table: nothing of the store is opened for it.
  private func openSealedFolder(
    _ request: Request, _ index: NodeIndex, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      _ = try nodes.opened(index, .directory)
      let handle: HandleID
      do throws(Errno) {
        let nothing = Descriptor(owning: -1)
        handle = HandleID(try handles.open(index, nothing, .directory, process: request.pid))
      } catch {
        nodes.closed(index, .directory)
        throw error
      }
      if !reply.opened(handle, OpenMode([.keepCache, .cacheDirectory])) {
        _ = try? handles.close(handle.rawValue)
        nodes.closed(index, .directory)
      }
    } catch {
      reply.fail(error)
    }
  }

  func listFolder(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64, _ count: Int,
    _ withAttributes: Bool,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let folder = try admitListing(request, node, handle, offset)
      if let sealed = sealed(folder.index) {
        return listSealed(folder, sealed, offset, count, withAttributes, reply)
      }
      let scratch = folder.scratch
      // The kernel asks once more behind the last entry, and nothing can be there.
      if offset == .max {
        return reply.bytes(scratch.data, count: 0)
      }
      let opened = try open(folder, handle)
      // The backing's entries in the first half of the buffer, the answer in the second.
      let half = ThreadScratch.dataByteCount / 2
      let room = min(count, half)
      var listing = Listing(
        directory: folder.index, descriptor: opened.number, ruling: folder.ruling,
        withAttributes: withAttributes,
        entries: scratch.data, capacity: capacity(for: room, withAttributes),
        answer: DirectoryBuffer(scratch.data + half, capacity: room))
      do throws(Errno) {
        try fill(&listing, from: offset)
      } catch  where listing.answer.count > 0 {
        // What is listed already is answered; the next request meets the error at once.
      }
      if !reply.listing(listing.answer) && withAttributes { undo(listing.answer) }
    } catch {
      reply.fail(error)
    }
  }

  /// Asks for a part of a listing.
  ///
  /// That it is allowed is logged once: when it was opened, or else at its beginning.
  private func admitListing(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ offset: Int64
  ) throws(Errno) -> Admitted {
    if handle.rawValue == 0 && offset == 0 { return try admit(request, .list, node) }
    let index = try nodes.index(of: node.rawValue)
    let scratch = try ThreadScratch.current()
    let ruling = nodes.ruling(of: index, scratch)
    let verdict = ruling.decide(.list, .directory)
    if !verdict.isAllowed {
      try require(verdict, by: ruling, Inquiry(request, .list, Subject(index), .directory))
    }
    return Admitted(index: index, ruling: ruling, scratch: scratch)
  }

  /// How much to read of the backing for an answer of `room` bytes: what is read too much is read
  /// again by the next request.
  ///
  /// An entry takes four times as much with its attributes.
  private func capacity(for room: Int, _ withAttributes: Bool) -> Int {
    min(max(withAttributes ? room / 4 : room, 4096), 65_536)
  }

  /// A descriptor to list a directory by: its handle's, or one for this request alone.
  private struct OpenFolder: ~Copyable {
    private let own: Descriptor?
    let number: CInt

    init(_ number: CInt) {
      own = nil
      self.number = number
    }

    init(owning descriptor: consuming Descriptor) {
      number = descriptor.rawValue
      own = .some(consume descriptor)
    }
  }

  private func open(_ folder: Admitted, _ handle: HandleID) throws(Errno) -> OpenFolder {
    if handle.rawValue != 0 { return OpenFolder(try handles.find(handle.rawValue).descriptor) }
    let path = try nodes.pin(folder.index, folder.scratch)
    defer { nodes.unpin(folder.index) }
    return OpenFolder(
      owning: try nodes.withRoom { () throws(Errno) in try Descriptor.reopenDirectory(path) })
  }

  func synchronizeFolder(
    _ request: Request, _ node: NodeID, _ handle: HandleID, _ dataOnly: Bool,
    _ reply: consuming Reply
  ) {
    do throws(Errno) {
      let folder = try admit(request, .list, node)
      // Nothing of it is ever written.
      if sealed(folder.index) != nil { return reply.succeed() }
      let opened = try open(folder, handle)
      try LongCall.run { () throws(Errno) in
        try FileIO.synchronize(opened.number, dataOnly: dataOnly)
      }
      reply.succeed()
    } catch {
      reply.fail(error)
    }
  }

  /// Nobody got the listing: its lookups are taken back.
  func undo(_ answer: DirectoryBuffer) {
    answer.forEachNode { nodes.forget($0.rawValue, 1) }
  }

  /// A listing under way.
  private struct Listing {
    let directory: NodeIndex
    let descriptor: CInt
    let ruling: Ruling
    let withAttributes: Bool
    let entries: UnsafeMutableRawPointer
    let capacity: Int
    var answer: DirectoryBuffer
  }

  private func fill(_ listing: inout Listing, from offset: Int64) throws(Errno) {
    var count = try FileIO.list(
      listing.descriptor, from: offset, into: listing.entries, byteCount: listing.capacity)
    while count > 0 {
      var position = 0
      while position < count {
        let record = DirectoryRecord(at: listing.entries + position)
        guard listing.answer.fits(record.name, withAttributes: listing.withAttributes) else {
          return
        }
        add(record, to: &listing)
        // As ext4 says of its last entry.
        if record.nextOffset == .max { return }
        position += record.byteCount
      }
      count = try FileIO.listOn(
        listing.descriptor, into: listing.entries, byteCount: listing.capacity)
    }
  }

  private func add(_ record: DirectoryRecord, to listing: inout Listing) {
    let name = record.name
    if name.isDots { return addDots(record, to: &listing) }
    let ruling = listing.ruling.below(name)
    guard ruling.decide(.lookup, .file).isAllowed else { return }
    let isBundle = listing.directory == NodeTable.root && isBundle(name)
    let inode = isBundle ? nodes.record(NodeTable.bundle).pointee.inode : record.inode
    guard listing.withAttributes else {
      listing.answer.add(
        name, inode: permutation(inode), mode: record.type, nextOffset: record.nextOffset)
      return
    }
    do throws(Errno) {
      let entry = try entry(name, ruling, isBundle, listing)
      listing.answer.add(name, entry, nextOffset: record.nextOffset)
    } catch {
      // What was removed since the listing was read is left out. What can't be looked up, as in a
      // directory that may be listed only, is there all the same.
      if error == .noEntry { return }
      addUnknown(name, inode, record, to: &listing)
    }
  }

  private func entry(
    _ name: Name, _ ruling: Ruling, _ isBundle: Bool, _ listing: borrowing Listing
  ) throws(Errno) -> Entry {
    if isBundle, let bundle = try bundleEntry(name, in: listing.directory) { return bundle }
    let status = try InodeStatus.of(name.cString, in: listing.descriptor)
    return try entry(name, in: listing.directory, ruling, status)
  }

  /// Adds a name among those with attributes, without any: the kernel asks for them if need be.
  private func addUnknown(
    _ name: Name, _ inode: UInt64, _ record: DirectoryRecord, to listing: inout Listing
  ) {
    var entry = Entry()
    entry.attributes = FileAttributes(inode: permutation(inode), mode: record.type)
    listing.answer.add(name, entry, nextOffset: record.nextOffset)
  }

  /// `.` and `..` are listed and never looked up.
  ///
  /// The root's parent is the root.
  private func addDots(_ record: DirectoryRecord, to listing: inout Listing) {
    let isRoot = listing.directory == NodeTable.root
    let parent = nodes.parentInode(of: listing.directory)
    let inode = record.name.count == 1 || isRoot ? nodes.inode(of: listing.directory) : parent
    if listing.withAttributes {
      var entry = Entry()
      entry.attributes = FileAttributes(inode: permutation(inode), mode: 0o040000)
      listing.answer.add(record.name, entry, nextOffset: record.nextOffset)
    } else {
      listing.answer.add(
        record.name, inode: permutation(inode), mode: 0o040000, nextOffset: record.nextOffset)
    }
  }
}
