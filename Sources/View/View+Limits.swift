// The limits of a view as a whole: when books are begun, what they are compared with, and what
// statfs(2) says of them.
public import Accounting
public import Containers
import FuseKit
public import LinuxKit
import Policy

/// What a book says, for people.
public struct BookReport: Sendable {
  /// The rule that it is kept for; nil for the container's.
  public let rule: String?
  /// What it says is used.
  public let used: Charge
  /// The most bytes; nil where there is no limit.
  public let byteLimit: UInt64?
  /// The most entries.
  public let entryLimit: UInt64?
  /// Beyond this a line is written into the log.
  public let softLimit: UInt64?
  /// What a count says; nil if nothing was counted.
  public let counted: Charge?
}

/// The limits of one book; `.max` where there is none.
struct BookLimits: Equatable {
  var byteLimit: UInt64
  var entryLimit: UInt64
  var softLimit: UInt64

  /// A book that is kept and limits nothing.
  static var none: BookLimits { BookLimits(byteLimit: .max, entryLimit: .max, softLimit: .max) }

  var isNone: Bool { self == .none }
}

extension BookLimits {
  /// What a container's record says.
  init(_ limits: ContainerLimits) {
    byteLimit = limits.byteCount ?? .max
    entryLimit = limits.entryCount ?? .max
    softLimit = limits.softByteCount ?? .max
  }
}

extension ViewFileSystem {
  // MARK: Beginning

  /// Counts what the container holds, if anything limits it; how many directories could not be
  /// counted.
  ///
  /// Before the first request.
  public func beginBooks(_ limits: ContainerLimits) throws(Errno) -> Int {
    books.ownLimits = BookLimits(limits)
    let engine = nodes.generation.engine
    let all = bookLimits(of: engine)
    guard all.contains(where: { $0 != nil }) else { return 0 }
    return try books.guardingAll { () throws(Errno) in
      let census = try census(engine)
      nodes.locked { books.keep(all) }
      setBooks(to: census)
      return census.closedDirectories
    }
  }

  /// Sets what the container may hold in all, from now on.
  ///
  /// `quiesce` waits for requests that began before it was called. Throws what counting throws, and
  /// then nothing has changed.
  public func setLimits(_ limits: ContainerLimits, quiesce: () -> Bool) throws(Errno) {
    let former = books.ownLimits
    books.isInDoubt = true
    FaultPoint.change(0)
    books.ownLimits = BookLimits(limits)
    do throws(Errno) {
      try replaceBooks(nodes.generation.engine, quiesce) {}
    } catch {
      books.ownLimits = former
      books.isInDoubt = false
      throw error
    }
    books.isInDoubt = false
  }

  /// Judges by another policy, whose limits hold from now on too.
  func replacePolicy(
    _ engine: PolicyEngine, quiesce: () -> Bool
  ) throws(Errno) -> PolicyGeneration {
    guard books.isKept || engine.setsLimits else { return nodes.replacePolicy(engine, nil) }
    var old: PolicyGeneration?
    try replaceBooks(engine, quiesce) { old = nodes.replacePolicy(engine, nil) }
    return old ?? nodes.generation
  }

  /// Counts what there is by the limits of a policy and the container's own; makes a change once
  /// that is sure to succeed.
  private func replaceBooks(
    _ engine: PolicyEngine, _ quiesce: () -> Bool, _ change: () -> Void
  ) throws(Errno) {
    let limits = bookLimits(of: engine)
    let isLimited = limits.contains { $0 != nil }
    let former = nodes.locked { books.limits }
    if !books.isKept && isLimited {
      // From now on changes pass the gates; those that began before do not, and are waited for.
      nodes.locked { books.keep(limits.map { $0.map { _ in .none } }) }
      FaultPoint.change(1)
      _ = quiesce()
    }
    do throws(Errno) {
      try books.guardingAll { () throws(Errno) in
        let census = isLimited ? try census(engine) : nil
        FaultPoint.change(2)
        change()
        keepBooks(limits)
        FaultPoint.change(3)
        if let census { setBooks(to: census) }
        FaultPoint.change(4)
      }
    } catch {
      nodes.locked { books.keep(former) }
      throw error
    }
  }

  /// Behind all gates, or while nobody serves.
  private func keepBooks(_ limits: [BookLimits?]) {
    nodes.locked {
      books.keep(limits)
      closeAccounts()
    }
  }

  /// The limits of all books that a policy has kept.
  private func bookLimits(of engine: PolicyEngine) -> [BookLimits?] {
    let own = books.ownLimits
    return [own.isNone ? nil : own]
      + engine.quotaRules.map {
        BookLimits(
          byteLimit: $0.quota.byteCount, entryLimit: $0.quota.entryCount ?? .max, softLimit: .max)
      }
  }

  // MARK: Counting

  /// Sets the books to what there is.
  ///
  /// Behind all gates.
  private func setBooks(to census: Census) {
    openAccounts()
    nodes.locked {
      let figures = withGone(census)
      for number in 0..<figures.count { books.set(number, used: figures[number]) }
    }
  }

  private func census(_ engine: PolicyEngine) throws(Errno) -> Census {
    let data = Walker(try backing.data.duplicate())
    var attempts = 0
    while true {
      do throws(Errno) {
        return try Census(of: data, engine)
      } catch {
        // A directory was moved meanwhile, beside the view.
        attempts += 1
        guard error == .stale, attempts < 5 else { throw error }
      }
    }
  }

  /// What was counted, and what is there without a name.
  ///
  /// Under the lock.
  private func withGone(_ census: Census) -> [Charge] {
    var figures = [census.total] + census.limited
    books.forEachAccount { _, account in
      guard account.state.contains(.gone) else { return }
      account.books.forEach { number in
        if number < figures.count { figures[number] += account.charge }
      }
    }
    return figures
  }

  /// Under the lock.
  private func closeAccounts() {
    var open: [(UInt32, NodeIndex)] = []
    books.forEachAccount { number, account in open.append((number, account.node)) }
    for (number, node) in open {
      if node != 0 { nodes.record(node).pointee.account = 0 }
      books.close(number)
    }
  }

  /// Opens an account for each file that no name leads to, and for each to which someone writes
  /// without a message.
  private func openAccounts() {
    guard let scratch = try? ThreadScratch.current() else { return }
    for index in nodes.nodesToAccountFor(handles) {
      // What can't be reached any more is not there any more.
      guard let descriptor = try? nodes.pin(index, scratch) else { continue }
      defer { nodes.unpin(index) }
      try? openAccount(index, descriptor, scratch)
    }
  }

  private func openAccount(
    _ index: NodeIndex, _ descriptor: CInt, _ scratch: ThreadScratch
  ) throws(Errno) {
    let status = try InodeStatus.of(descriptor)
    let isGone = status.linkCount == 0 || nodes.state(of: index).contains(.orphaned)
    let isUnwatched = nodes.isUnwatched(index, handles)
    guard isGone || isUnwatched else { return }
    let values = try ExtendedAttributes.ownersByteCount(nodes.emptyPath, in: descriptor)
    let account = try nodes.account(
      of: index, .whole, contents: Charge.contents(type: status.mode, size: status.size),
      values: values, isGone ? .container : nodes.books(of: index, scratch))
    nodes.locked {
      var state: AccountRecord.State = isGone ? .gone : []
      if isUnwatched { state.insert(.unwatched) }
      books.setState(account, state)
    }
  }

  /// A file is closed to which someone may have written without a message.
  func settleUnwatched(_ index: NodeIndex) {
    guard nodes.locked({ nodes.record(index).pointee.account != 0 }) else { return }
    try? books.guarding(index) { () throws(Errno) in
      let number = nodes.locked { nodes.record(index).pointee.account }
      guard number != 0,
        nodes.locked({ books.account(number).state.contains(.unwatched) }),
        !nodes.isUnwatched(index, handles)
      else { return }
      let descriptor = try nodes.pin(index, try ThreadScratch.current())
      defer { nodes.unpin(index) }
      let status = try InodeStatus.of(descriptor)
      nodes.locked {
        var settled = books.account(number)
        settled.contents = Charge.contents(type: status.mode, size: status.size)
        settled.state.remove(.unwatched)
        books.post(number, settled)
      }
      nodes.releaseAccount(number)
    }
  }

  // MARK: After a death

  /// Counts everything anew where a process has died over a change of limits.
  ///
  /// Only while nobody serves, by the policy that holds from now on. Throws what counting throws;
  /// then whoever takes over next tries again.
  public func settleDoubt() throws(Errno) {
    guard books.isInDoubt else { return }
    let engine = nodes.generation.engine
    let limits = bookLimits(of: engine)
    let isLimited = limits.contains { $0 != nil }
    let census = isLimited ? try census(engine) : nil
    keepBooks(limits)
    if let census { setBooks(to: census) }
    books.isInDoubt = false
  }

  /// Makes every account say what its file costs, and ends those of requests that are over.
  ///
  /// Only while nobody serves.
  func settleAccounts() {
    guard let scratch = try? ThreadScratch.current() else { return }
    var open: [(number: UInt32, account: AccountRecord)] = []
    nodes.locked { books.forEachAccount { open.append(($0, $1)) } }
    for (number, account) in open
    where account.node != 0 && account.state.isDisjoint(with: [.making, .moving]) {
      guard let descriptor = try? nodes.pin(account.node, scratch) else { continue }
      defer { nodes.unpin(account.node) }
      guard let status = try? InodeStatus.of(descriptor) else { continue }
      var settled = account
      if status.linkCount == 0 { settled.state.insert(.gone) }
      settled.contents = Charge.contents(type: status.mode, size: status.size)
      let values = try? ExtendedAttributes.ownersByteCount(nodes.emptyPath, in: descriptor)
      if let values { settled.values = values }
      nodes.locked { books.post(number, settled) }
      nodes.releaseAccount(number)
    }
  }

  // MARK: For people

  /// What the books say, and, if it is asked for, what a count says; what differs is set right if
  /// that is asked for too.
  public func bookReports(counting: Bool, repairing: Bool = false) throws(Errno) -> [BookReport] {
    let engine = nodes.generation.engine
    settleForgotten(limit: 4096)
    guard counting, books.isKept else { return nodes.locked { reports(engine, nil) } }
    return try books.guardingAll { () throws(Errno) in
      let census = try census(engine)
      return nodes.locked {
        let figures = withGone(census)
        let reports = reports(engine, figures)
        if repairing {
          for number in 0..<figures.count { books.set(number, used: figures[number]) }
        }
        return reports
      }
    }
  }

  private func reports(_ engine: PolicyEngine, _ figures: [Charge]?) -> [BookReport] {
    let rules = engine.quotaRules
    var reports: [BookReport] = []
    // Where nothing could be counted after a death, the books may be those of other rules.
    books.keptBooks.forEach { number in
      guard number <= rules.count else { return }
      let book = books[number]
      reports.append(
        BookReport(
          rule: number == 0 ? nil : engine.describe(rules[number - 1].rule), used: book.used,
          byteLimit: present(book.byteLimit), entryLimit: present(book.entryLimit),
          softLimit: present(book.softLimit), counted: figures?[number]))
    }
    return reports
  }

  private func present(_ limit: UInt64) -> UInt64? { limit == .max ? nil : limit }

  // MARK: Free space

  func answerFree(_ node: NodeID, _ reply: consuming Reply) {
    do throws(Errno) {
      nodes.closeLate()
      var status = try Attributes.fileSystemStatus(backing.data.rawValue)
      if books.isKept {
        let set = nodes.books(
          of: try nodes.index(of: node.rawValue), try ThreadScratch.current())
        nodes.locked { set.forEach { status.limit(to: books[$0]) } }
      }
      reply.fileSystemStatus(status)
    } catch {
      reply.fail(error)
    }
  }
}

extension FileSystemStatus {
  /// Shows no more, and no more that is free, than a book allows.
  fileprivate mutating func limit(to book: Book) {
    if book.byteLimit != .max {
      let free = Int128(book.byteLimit) - max(0, book.used.bytes)
      limitBytes(total: book.byteLimit, free: UInt64(max(0, free)))
    }
    if book.entryLimit != .max {
      let free = Int128(book.entryLimit) - Int128(max(0, book.used.entries))
      limitEntries(total: book.entryLimit, free: UInt64(max(0, free)))
    }
  }
}

extension NodeTable {
  /// Nodes that may need an account when books are begun.
  fileprivate func nodesToAccountFor(_ handles: HandleTable) -> [NodeIndex] {
    lock.lock()
    defer { lock.unlock() }
    var found: Set<NodeIndex> = []
    slab.forEach { index in
      let state = record(index).pointee.state
      if state.isDisjoint(with: [.permanent, .bundle]),
        !state.isDisjoint(with: [.unhashed, .anchored, .orphaned])
      {
        found.insert(index)
      }
    }
    handles.forEach { handle in
      if isUnwatched(handle) { found.insert(handle.node) }
    }
    return Array(found)
  }

  /// Whether what is written by a handle does not come to us.
  private func isUnwatched(_ handle: HandleRecord) -> Bool {
    handle.state.contains(.writable) && !handle.state.contains(.watched)
      && record(handle.node).pointee.state.contains(.passing)
  }

  /// Whether someone writes to a node without a message.
  fileprivate func isUnwatched(_ index: NodeIndex, _ handles: HandleTable) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    var found = false
    handles.forEach { handle in
      if handle.node == index && isUnwatched(handle) { found = true }
    }
    return found
  }
}
