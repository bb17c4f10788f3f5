// What changes cost: each is paid for before its system call, refused with EDQUOT where a book does
// not allow it, and set right by a look at the file when the call has been made.
//
// Where no book is kept, all of this is one comparison.
import Accounting
import FuseKit
import LinuxKit
import Policy

extension ViewFileSystem {
  // MARK: Contents

  /// Runs a change of a file's length.
  ///
  /// `length` says how long the file may become at most, from how long it is. Throws EDQUOT if that
  /// is more than is allowed.
  @inline(__always)
  func resizing<Result: ~Copyable>(
    _ request: Request, _ index: NodeIndex, _ descriptor: CInt, _ operation: Operation,
    to length: (Int64) throws(Errno) -> Int64, _ change: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard books.isKept else { return try change() }
    return try books.guarding(index) { () throws(Errno) in
      let scratch = try ThreadScratch.current()
      let set = nodes.books(of: index, scratch)
      guard !set.isEmpty else { return try change() }
      let size = try InodeStatus.of(descriptor).size
      let before = Charge.rounded(size)
      let wanted = Charge.rounded(try length(size))
      if wanted == before && !nodes.hasAccount(index) { return try change() }
      let account = try nodes.account(of: index, .contents, contents: before, values: 0, set)
      defer { settleContents(account, descriptor) }
      try pay(account, Inquiry(request, operation, Subject(index), .file)) { record in
        if wanted > record.contents { record.contents = wanted }
      }
      return try change()
    }
  }

  /// Makes an account say what its file's contents cost, and ends it.
  private func settleContents(_ account: UInt32, _ descriptor: CInt) {
    if let status = try? InodeStatus.of(descriptor) {
      let contents = Charge.rounded(status.size)
      nodes.locked {
        var record = books.account(account)
        if record.contents != contents {
          record.contents = contents
          books.post(account, record)
        }
      }
    }
    nodes.releaseAccount(account)
  }

  // MARK: Values of extended attributes

  /// Runs a change of an extended attribute, after which the values may be so much larger.
  ///
  /// Throws EDQUOT if that is more than is allowed.
  @inline(__always)
  func revaluing<Result>(
    _ request: Request, _ index: NodeIndex, _ descriptor: CInt,
    by growth: () throws(Errno) -> Int64, _ change: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard books.isKept else { return try change() }
    return try books.guarding(index) { () throws(Errno) in
      let scratch = try ThreadScratch.current()
      let set = nodes.books(of: index, scratch)
      guard !set.isEmpty else { return try change() }
      let kind = kind(nodes.record(index).pointee.type)
      return try revalue(
        index, descriptor, set, by: try growth(), Inquiry(request, .setattr, Subject(index), kind),
        change)
    }
  }

  /// The same behind the gate; without an inquiry nothing is refused.
  func revalue<Result>(
    _ index: NodeIndex, _ descriptor: CInt, _ set: BookSet, by growth: Int64, _ inquiry: Inquiry?,
    _ change: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let before = try ExtendedAttributes.ownersByteCount(nodes.emptyPath, in: descriptor)
    let account = try nodes.account(of: index, .values, contents: 0, values: before, set)
    defer {
      if let values = try? ExtendedAttributes.ownersByteCount(nodes.emptyPath, in: descriptor) {
        nodes.locked {
          var record = books.account(account)
          record.values = values
          books.post(account, record)
        }
      }
      nodes.releaseAccount(account)
    }
    if let inquiry {
      try pay(account, inquiry) { $0.values = max($0.values, before &+ growth) }
    }
    return try change()
  }

  // MARK: Names

  /// Runs what makes a name, of something whose contents cost so much.
  ///
  /// Throws EDQUOT if that is more than is allowed.
  @inline(__always)
  func naming<Result: ~Copyable>(
    _ request: Request, _ name: Name, in parent: NodeIndex, _ directory: CInt, _ kind: NodeKind,
    contents: Int64, _ make: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    guard books.isKept else { return try make() }
    return try books.guarding(parent) { () throws(Errno) in
      let scratch = try ThreadScratch.current()
      let set = nodes.books(of: name, in: parent, scratch)
      guard !set.isEmpty, let account = try accountForName(set, name, directory) else {
        return try make()
      }
      var isMade = false
      defer { settleName(account, name, directory, isMade: isMade) }
      let values = try inheritedByteCount(directory, kind)
      try pay(account, Inquiry(request, .create, Subject(parent, name), kind)) { record in
        record.contents = contents
        record.values = values
        record.entries = 1
      }
      let result = try make()
      isMade = true
      return result
    }
  }

  /// The account of a request that makes a name; nil if an earlier process was through with it, or
  /// all has been counted since.
  private func accountForName(
    _ set: BookSet, _ name: Name, _ directory: CInt
  ) throws(Errno) -> UInt32? {
    let request = RequestRecord.current.number
    let isMade =
      RequestRecord.isRepeated && (try? InodeStatus.of(name.cString, in: directory)) != nil
    nodes.lock.lock()
    defer { nodes.lock.unlock() }
    if RequestRecord.isResent {
      let known = books.accountOfRequest(request)
      if known != 0 { return known }
      if isMade { return nil }
    }
    return try books.open(
      AccountRecord(
        state: .making, node: 0, parts: .whole, entries: 0, books: set, contents: 0, values: 0,
        request: request))
  }

  private func settleName(_ account: UInt32, _ name: Name, _ directory: CInt, isMade: Bool) {
    guard isMade, let status = try? InodeStatus.of(name.cString, in: directory) else {
      return nodes.locked { books.settleAndClose(account) }
    }
    let contents = Charge.contents(type: status.mode, size: status.size)
    let values = try? ExtendedAttributes.ownersByteCount(name.cString, in: directory)
    nodes.locked {
      var record = books.account(account)
      record.contents = contents
      if let values { record.values = values }
      books.post(account, record)
      books.close(account)
    }
  }

  /// How much the ACLs can have that something new inherits from its directory.
  private func inheritedByteCount(_ directory: CInt, _ kind: NodeKind) throws(Errno) -> Int64 {
    guard backing.hasACL, kind != .symlink else { return 0 }
    do throws(Errno) {
      let count = try ExtendedAttributes.get(
        directory, "system.posix_acl_default", into: nil, byteCount: 0)
      return Int64(count) * (kind == .directory ? 2 : 1)
    } catch {
      guard error == .noData || error == .notSupported else { throw error }
      return 0
    }
  }

  // MARK: Paying

  /// Puts into the books what an account is to say.
  ///
  /// Throws EDQUOT, once it is in the log, where a book does not allow it.
  func pay(
    _ account: UInt32, _ inquiry: Inquiry, _ change: (inout AccountRecord) -> Void
  ) throws(Errno) {
    var attempts = 0
    while true {
      var set: BookSet = []
      let refusing = nodes.locked {
        var record = books.account(account)
        change(&record)
        set = record.books
        return books.tryPost(account, record)
      }
      guard let refusing else { return noteSoftLimits(set, inquiry) }
      // What was unlinked a moment ago may still be on its way out.
      guard attempts < 8, settleForgotten() else { throw refuseLimit(refusing, inquiry) }
      if attempts > 0 { Pause.microseconds(500) }
      attempts += 1
    }
  }

  /// Takes out of the books what no name leads to and the kernel has let go of; false if nothing is
  /// without a name.
  @discardableResult
  func settleForgotten(limit: Int = 64) -> Bool {
    let gone = nodes.goneNodes(limit: limit)
    for node in gone where kernelNodes?.contains(NodeID(node)) == false {
      nodes.settleForgotten(node)
    }
    return !gone.isEmpty
  }

  @inline(never)
  private func noteSoftLimits(_ set: BookSet, _ inquiry: Inquiry) {
    guard let book = nodes.locked({ books.noteSoftLimits(set) }) else { return }
    noteLimit(0, rule(of: book, isSoft: true), inquiry)
  }

  @inline(never)
  private func refuseLimit(_ book: Int, _ inquiry: Inquiry) -> Errno {
    noteLimit(Errno.quotaExceeded.code, rule(of: book, isSoft: false), inquiry)
    return .quotaExceeded
  }

  /// The rule that a book is kept for.
  private func rule(of book: Int, isSoft: Bool) -> RuleID {
    if book == 0 { return isSoft ? .softLimit : .recordLimit }
    return nodes.locked {
      let rules = nodes.generation.engine.quotaRules
      return book <= rules.count ? rules[book - 1].rule : .recordLimit
    }
  }
}
