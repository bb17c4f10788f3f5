// Which books a node is in, and the account that it has while a look at its file does not say what
// of them is its.
import LinuxKit
import Policy

extension NodeTable {
  /// The kept books in which a node is.
  ///
  /// What no path leads to any more stays in those in which it was.
  func books(of index: NodeIndex, _ scratch: ThreadScratch) -> BookSet {
    lock.lock()
    defer { lock.unlock() }
    let account = record(index).pointee.account
    if account != 0 && !books.account(account).state.isDisjoint(with: [.gone, .nameless]) {
      return books.kept(books.account(account).books)
    }
    return books.kept(set(of: freshZone(index, scratch)))
  }

  /// The kept books in which an entry of a directory is.
  func books(
    of name: Name, in parent: NodeIndex, _ scratch: ThreadScratch
  ) -> BookSet {
    lock.lock()
    defer { lock.unlock() }
    let zone = freshZone(parent, scratch)
    if zone == Ruling.withoutPath { return books.kept(.container) }
    let ruling = ruling(Unmanaged.passUnretained(generation), zone)
    return books.kept(BookSet(ruling.below(name).quotas))
  }

  /// Under the lock.
  func set(of zone: ZoneID) -> BookSet {
    if zone == Ruling.withoutPath { return .container }
    return BookSet(ruling(Unmanaged.passUnretained(generation), zone).quotas)
  }

  /// The node of an inode; 0 if it is not known.
  func known(_ status: borrowing InodeStatus) -> NodeIndex {
    lock.lock()
    defer { lock.unlock() }
    return find(Identity(status))
  }

  /// Whether a node has an account.
  func hasAccount(_ index: NodeIndex) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return record(index).pointee.account != 0
  }

  /// The account of a node, which says from now on what of `set` is its, by these figures; an
  /// account that it has already knows better.
  ///
  /// Throws ENOMEM when there are too many.
  func account(
    of index: NodeIndex, _ parts: AccountParts, contents: Int64, values: Int64, _ set: BookSet
  ) throws(Errno) -> UInt32 {
    lock.lock()
    defer { lock.unlock() }
    let known = index == 0 ? 0 : record(index).pointee.account
    guard known != 0 else {
      let opened = try books.open(
        AccountRecord(
          state: [], node: index, parts: parts, entries: 1, books: set, contents: contents,
          values: values, request: 0))
      if index != 0 { record(index).pointee.account = opened }
      return opened
    }
    let account = books.account(known)
    if parts.contains(.contents) && !account.parts.contains(.contents) {
      books.extend(known, .contents, contents)
    }
    if parts.contains(.values) && !account.parts.contains(.values) {
      books.extend(known, .values, values)
    }
    return known
  }

  /// A look at the file says again what of the books is its, unless no name leads to it any more,
  /// it is on its way, or someone changes it without a message.
  func releaseAccount(_ account: UInt32) {
    lock.lock()
    defer { lock.unlock() }
    let found = books.account(account)
    guard found.state.isDisjoint(with: [.gone, .unwatched, .moving, .nameless]) else { return }
    if found.node != 0 { record(found.node).pointee.account = 0 }
    books.close(account)
  }

  /// No name leads any more to the file of an account: what it costs goes with its node.
  func markGone(_ account: UInt32) {
    lock.lock()
    defer { lock.unlock() }
    let found = books.account(account)
    guard found.node != 0 else { return books.settleAndClose(account) }
    books.setState(account, found.state.union(.gone))
  }

  /// A name goes by which a node is known, and not its last one: until it is found by another, its
  /// books are kept in mind, since no path says which they are.
  func keepBooks(
    of index: NodeIndex, without name: Name, in parent: NodeIndex, _ set: BookSet
  ) {
    lock.lock()
    defer { lock.unlock() }
    guard index != 0, isKnown(index, by: name, in: parent) else { return }
    let account = record(index).pointee.account
    if account != 0 {
      return books.setState(account, books.account(account).state.union(.nameless))
    }
    let opened = try? books.open(
      AccountRecord(
        state: .nameless, node: index, parts: [], entries: 1, books: set, contents: 0, values: 0,
        request: 0))
    if let opened { record(index).pointee.account = opened }
  }

  /// A node without a name was found by one.
  ///
  /// Under the lock. Whoever uses its account ends it.
  func noteName(of node: UnsafeMutablePointer<NodeRecord>) {
    let account = node.pointee.account
    guard account != 0 else { return }
    books.setState(account, books.account(account).state.subtracting(.nameless))
  }

  /// A node ends, and with it what it costs.
  ///
  /// Under the lock.
  func endAccount(of node: UnsafeMutablePointer<NodeRecord>) {
    let account = node.pointee.account
    guard account != 0 else { return }
    node.pointee.account = 0
    if books.account(account).state.contains(.gone) {
      books.settleAndClose(account)
    } else {
      books.close(account)
    }
  }

  /// Nodes that no name leads to and that still cost something, as many as `limit`.
  func goneNodes(limit: Int) -> [UInt64] {
    lock.lock()
    defer { lock.unlock() }
    var found: [UInt64] = []
    books.forEachAccount { _, account in
      if found.count < limit && account.state.contains(.gone) && account.node != 0 {
        found.append(id(of: account.node))
      }
    }
    return found
  }

  /// The kernel has forgotten a node that no name leads to, and is about to say so.
  func settleForgotten(_ id: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    guard let index = try? indexLocked(of: id) else { return }
    let account = record(index).pointee.account
    guard account != 0, books.account(account).state.contains(.gone) else { return }
    record(index).pointee.account = 0
    books.settleAndClose(account)
  }

  /// Runs `body` under the lock.
  @inline(__always)
  func locked<Result>(_ body: () -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body()
  }
}
