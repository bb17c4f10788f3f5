// Finding names: LOOKUP, and what every operation that answers with an entry does at its end.
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  func find(
    _ request: Request, _ parent: NodeID, _ name: Name, _ reply: consuming Reply
  ) {
    do throws(Errno) {
      try check(name)
      let scratch = try ThreadScratch.current()
      let directory = try nodes.index(of: parent.rawValue)
      let ruling = ruling(name, in: directory, scratch)
      // Not to be kept in mind as absent: another policy may show it, and nobody could tell the
      // kernel then.
      guard ruling.decide(.lookup, .file).isAllowed else { return reply.fail(.noEntry) }
      if let sealed = sealed(directory) {
        return answer(
          try sealedEntry(request, name, in: directory, sealed, ruling, scratch), reply)
      }
      let entry = try entry(name, in: directory, ruling, scratch)
      answer(entry, reply)
    } catch {
      if error == .noEntry { return answerAbsent(reply) }
      reply.fail(error)
    }
  }

  /// Tells the kernel that it may keep in mind that there is no such name.
  private func answerAbsent(_ reply: consuming Reply) {
    var entry = Entry()
    entry.lifetimeSeconds = lifetimeSeconds
    _ = reply.entry(entry)
  }

  /// Sends an entry whose lookup is already counted, and undoes the count if nobody waits for it.
  @inline(__always)
  func answer(_ entry: borrowing Entry, _ reply: consuming Reply) {
    let node = entry.node
    FaultPoint.beforeAnswer.pass()
    if !reply.entry(entry) { nodes.forget(node.rawValue, 1) }
  }

  /// Looks a name up in the backing and counts the lookup.
  ///
  /// Throws ENOENT if there is no such name.
  func entry(
    _ name: Name, in parent: NodeIndex, _ ruling: Ruling, _ scratch: ThreadScratch
  ) throws(Errno) -> Entry {
    if let bundle = try bundleEntry(name, in: parent) { return bundle }
    let directory = try nodes.pin(parent, scratch)
    defer { nodes.unpin(parent) }
    let status = try InodeStatus.of(name.cString, in: directory)
    return try entry(name, in: parent, ruling, status)
  }

  /// The entry of a name whose status is known.
  @inline(__always)
  func entry(
    _ name: Name, in parent: NodeIndex, _ ruling: Ruling, _ status: borrowing InodeStatus
  ) throws(Errno) -> Entry {
    let index = try nodes.enter(parent, name, status, ruling)
    return makeEntry(index, status)
  }

  /// The bundle is served from its own directory: its name in the data is only a placeholder.
  func bundleEntry(_ name: Name, in parent: NodeIndex) throws(Errno) -> Entry? {
    guard parent == NodeTable.root, isBundle(name) else { return nil }
    if let sealed = sealed(NodeTable.bundle) {
      var entry = Entry()
      entry.attributes = try shown(sealed)
      nodes.enterKnown(NodeTable.bundle)
      entry.node = NodeID(nodes.id(of: NodeTable.bundle))
      entry.lifetimeSeconds = lifetimeSeconds
      entry.attributeLifetimeSeconds = lifetimeSeconds
      return entry
    }
    let status = try InodeStatus.of(nodes.record(NodeTable.bundle).pointee.descriptor)
    nodes.enterKnown(NodeTable.bundle)
    return makeEntry(NodeTable.bundle, status)
  }

  @inline(__always)
  func isBundle(_ name: Name) -> Bool {
    !bundleName.isEmpty && name.equals(bundleName)
  }

  func makeEntry(_ index: NodeIndex, _ status: borrowing InodeStatus) -> Entry {
    var entry = Entry()
    entry.node = NodeID(nodes.id(of: index))
    entry.attributes = shown(status, of: index)
    entry.lifetimeSeconds = lifetimeSeconds
    entry.attributeLifetimeSeconds = attributeLifetimeSeconds(index)
    return entry
  }
}
