// The books of a view: how much of each of its limits is used, in the arena.
//
// There is one book for the container as a whole and one for each rule with `quota=`; what a file
// costs is in all the books that hold where it lies. A book is only kept where there is a limit.
//
// Between operations a book says what a count of the data would say, and what is unlinked and still
// there. While something changes that, or where it can't be counted, an *account* says how much of
// the books is whose. Books and accounts change together, by a posting that is noted before it is
// made: whoever takes over after a death finishes it, and then sets right what accounts say by
// looking at their files. Whoever takes over from one that died over a change of the limits
// themselves counts everything anew.
//
// All figures are guarded by the arena's lock. `gates`, which are not in the arena, are held across
// system calls by those who change what one file costs, before any name is moved: all of them
// together by whoever counts everything.
import Accounting
import LinuxKit
import Policy

/// A set of books: bit 0 is the container's, the others are the policy's limits in their order.
struct BookSet: OptionSet {
  let rawValue: UInt64

  static let container = BookSet(rawValue: 1)

  init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The books of a place where these limits hold.
  @inline(__always)
  init(_ quotas: QuotaSet) { rawValue = quotas.rawValue << 1 | 1 }

  /// Calls `body` with each book's number.
  @inline(__always)
  func forEach(_ body: (Int) -> Void) {
    var bits = rawValue
    while bits != 0 {
      body(bits.trailingZeroBitCount)
      bits &= bits - 1
    }
  }
}

/// What of a file an account speaks of.
struct AccountParts: OptionSet {
  let rawValue: UInt32
  static let contents = AccountParts(rawValue: 1 << 0)
  static let values = AccountParts(rawValue: 1 << 1)
  static let whole: AccountParts = [.contents, .values]
}

/// How much of the books belongs to one file, or to one request that makes a name.
struct AccountRecord {
  struct State: OptionSet {
    let rawValue: UInt32
    static let live = State(rawValue: 1 << 0)
    /// No name leads to the file any more: what it costs goes with its node.
    static let gone = State(rawValue: 1 << 1)
    /// Someone writes to the file without a message, since before its books were kept.
    static let unwatched = State(rawValue: 1 << 2)
    /// The file has another name than the one by which its node was known: its books are those in
    /// which it was.
    static let nameless = State(rawValue: 1 << 5)
    /// It is of a request that makes a name; there is no node yet.
    static let making = State(rawValue: 1 << 3)
    /// It is of a file that is on its way from one set of books to another.
    static let moving = State(rawValue: 1 << 4)
  }

  var state: State
  var node: NodeIndex
  var parts: AccountParts
  /// Whether it counts as an entry, which goes with `values`.
  var entries: UInt32
  var books: BookSet
  /// What the contents cost, and the values of extended attributes.
  var contents: Int64
  var values: Int64
  /// The request that makes the name.
  var request: UInt64
  var padding: UInt64 = 0
  var morePadding: UInt64 = 0

  /// What is in the books because of it.
  var charge: Charge {
    var bytes: Int128 = 0
    if parts.contains(.contents) { bytes += Int128(contents) }
    if parts.contains(.values) { bytes += Int128(values) }
    return Charge(bytes: bytes, entries: parts.contains(.values) ? Int64(entries) : 0)
  }
}

/// One book.
struct Book {
  var used: Charge
  /// The most bytes and entries; `.max` where there is no limit.
  var byteLimit: UInt64
  var entryLimit: UInt64
  /// Beyond this a line is written into the log; `.max` where it is not.
  var softLimit: UInt64
  var isBeyondSoft: Bool

  /// Whether it may grow by so much.
  @inline(__always)
  func allows(_ growth: Charge) -> Bool {
    (growth.bytes <= 0 || used.bytes + growth.bytes <= Int128(byteLimit))
      && (growth.entries <= 0
        || Int128(used.entries) + Int128(growth.entries) <= Int128(entryLimit))
  }
}

final class Books: @unchecked Sendable {
  /// How many there can be.
  static let capacity = QuotaSet.capacity + 1
  static let byteCount = 16_384
  static let accountCapacity: UInt32 = 1 << 21
  static let gateCount = 64

  /// A posting under way: what the books and an account will say.
  private struct Posting {
    var isUnderWay: UInt32
    var account: UInt32
    var record: AccountRecord
    var books: UInt64
    var used: [64 of Charge]
  }

  private struct Header {
    /// Which books are kept.
    var kept: BookSet
    /// Not 0 while the books may be those of other limits than the ones that hold.
    var isInDoubt: UInt32
    /// Which of `ownLimits` are the container's own.
    var currentOwnLimits: UInt32
    var ownLimits: [2 of BookLimits]
    var posting: Posting
  }

  let lock: PlainLock
  private let header: UnsafeMutablePointer<Header>
  private let books: UnsafeMutablePointer<Book>
  private let gates: UnsafeMutablePointer<PlainLock>
  @exclusivity(unchecked) private var slab: Slab

  init(_ arena: Arena) throws(Errno) {
    lock = arena.lock
    slab = arena.accounts
    header = arena.books.bindMemory(to: Header.self, capacity: 1)
    books = (arena.books + Books.byteCount / 2).bindMemory(to: Book.self, capacity: Books.capacity)
    precondition(
      MemoryLayout<Header>.size <= Books.byteCount / 2
        && MemoryLayout<Book>.stride * Books.capacity <= Books.byteCount / 2)
    let memory = try Mapping(reserving: Books.gateCount * PlainLock.byteCount)
    gates = .allocate(capacity: Books.gateCount)
    for gate in 0..<Books.gateCount {
      (gates + gate).initialize(to: PlainLock(at: memory.start + gate * PlainLock.byteCount))
    }
  }

  /// Whether any book is kept.
  @inline(__always)
  var isKept: Bool { header.pointee.kept.rawValue != 0 }

  /// Those of these books that are kept.
  @inline(__always)
  func kept(_ set: BookSet) -> BookSet { set.intersection(header.pointee.kept) }

  @inline(__always)
  private func record(_ account: UInt32) -> UnsafeMutablePointer<AccountRecord> {
    slab.slot(account).assumingMemoryBound(to: AccountRecord.self)
  }

  // MARK: Gates

  /// Runs `body` while nobody else changes what this node costs, nor the books as a whole.
  @inline(__always)
  func guarding<Result: ~Copyable>(
    _ node: NodeIndex, _ body: () throws(Errno) -> Result
  ) throws(Errno) -> Result {
    let gate = Int(node) % Books.gateCount
    gates[gate].lock()
    defer { gates[gate].unlock() }
    return try body()
  }

  /// Closes the gates of two nodes, as `guarding` does: always in the same order.
  func enter(_ node: NodeIndex, _ other: NodeIndex) -> (Int, Int) {
    let (one, two) = (Int(node) % Books.gateCount, Int(other) % Books.gateCount)
    let pair = (min(one, two), max(one, two))
    gates[pair.0].lock()
    if pair.1 != pair.0 { gates[pair.1].lock() }
    return pair
  }

  func leave(_ pair: (Int, Int)?) {
    guard let pair else { return }
    if pair.1 != pair.0 { gates[pair.1].unlock() }
    gates[pair.0].unlock()
  }

  /// Runs `body` while nobody changes what anything costs.
  func guardingAll<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    for gate in 0..<Books.gateCount { gates[gate].lock() }
    defer { for gate in 0..<Books.gateCount { gates[gate].unlock() } }
    return try body()
  }

  // MARK: Accounts

  /// Opens an account that says what is in the books already.
  ///
  /// Under the lock. Throws ENOMEM when there are too many.
  func open(_ account: AccountRecord) throws(Errno) -> UInt32 {
    let index = slab.take()
    guard index != 0 else { throw .noMemory }
    var record = account
    record.state = []
    self.record(index).initialize(to: record)
    publish(state: account.state.union(.live).rawValue, at: slab.slot(index))
    return index
  }

  /// What an account says.
  ///
  /// Under the lock.
  func account(_ index: UInt32) -> AccountRecord { record(index).pointee }

  /// Lets an account speak of another part of its file too, which is in the books already.
  ///
  /// Under the lock.
  func extend(_ index: UInt32, _ part: AccountParts, _ bytes: Int64) {
    let account = record(index)
    if part == .contents {
      account.pointee.contents = bytes
    } else {
      account.pointee.values = bytes
    }
    let parts = account.pointee.parts.union(part).rawValue
    publish(
      state: parts,
      at: slab.slot(index) + (MemoryLayout<AccountRecord>.offset(of: \.parts) ?? 0))
  }

  func setState(_ index: UInt32, _ state: AccountRecord.State) {
    publish(state: state.union(.live).rawValue, at: slab.slot(index))
  }

  /// Ends an account; the books stay as they are.
  ///
  /// Under the lock.
  func close(_ index: UInt32) { slab.give(index) }

  /// Ends an account and takes what it says out of the books.
  ///
  /// Under the lock.
  func settleAndClose(_ index: UInt32) {
    var empty = record(index).pointee
    empty.contents = 0
    empty.values = 0
    empty.entries = 0
    post(index, empty)
    close(index)
  }

  /// Changes an account, and the books with it, if all of them allow it; the number of the first
  /// book that does not.
  ///
  /// Under the lock.
  func tryPost(_ index: UInt32, _ new: AccountRecord) -> Int? {
    let old = record(index).pointee
    var refusing: Int?
    kept(new.books).forEach { number in
      let bit = BookSet(rawValue: 1 << UInt64(number))
      let before = old.books.contains(bit) ? old.charge : Charge()
      let growth = Charge(
        bytes: new.charge.bytes - before.bytes, entries: new.charge.entries - before.entries)
      if refusing == nil && !books[number].allows(growth) { refusing = number }
    }
    if refusing == nil { post(index, new) }
    return refusing
  }

  /// Changes an account, and the books with it.
  ///
  /// Under the lock.
  func post(_ index: UInt32, _ new: AccountRecord) {
    let old = record(index).pointee
    header.pointee.posting.account = index
    header.pointee.posting.record = new
    header.pointee.posting.books = old.books.union(new.books).rawValue
    old.books.union(new.books).forEach { number in
      let bit = BookSet(rawValue: 1 << UInt64(number))
      var used = books[number].used
      if old.books.contains(bit) {
        used += Charge(bytes: -old.charge.bytes, entries: -old.charge.entries)
      }
      if new.books.contains(bit) { used += new.charge }
      header.pointee.posting.used[number] = used
    }
    FaultPoint.insideTable.pass()
    publish(state: 1, at: posting)
    FaultPoint.insideTable.pass()
    finishPosting()
  }

  private var posting: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(header) + (MemoryLayout<Header>.offset(of: \.posting) ?? 0)
  }

  private func finishPosting() {
    BookSet(rawValue: header.pointee.posting.books).forEach { number in
      books[number].used = header.pointee.posting.used[number]
    }
    FaultPoint.insideTable.pass()
    record(header.pointee.posting.account).pointee = header.pointee.posting.record
    publish(state: 0, at: posting)
  }

  /// The account of the request that is being served; 0 if it has none.
  ///
  /// Under the lock.
  func accountOfRequest(_ request: UInt64) -> UInt32 {
    var found: UInt32 = 0
    slab.forEach { index in
      let account = record(index).pointee
      if account.state.contains(.making) && account.request == request { found = index }
    }
    return found
  }

  /// Calls `body` with each account.
  ///
  /// Under the lock.
  func forEachAccount(_ body: (UInt32, AccountRecord) -> Void) {
    slab.forEach { index in body(index, record(index).pointee) }
  }

  // MARK: After a death

  /// Finishes a posting that was under way.
  ///
  /// Under the lock, before anything else.
  func recover() {
    if header.pointee.posting.isUnderWay != 0 { finishPosting() }
    slab.rebuild()
  }

  // MARK: As a whole

  subscript(number: Int) -> Book { books[number] }

  /// Which books are kept.
  var keptBooks: BookSet { header.pointee.kept }

  /// Sets which books are kept, and their limits; the figures stay.
  ///
  /// Under the lock.
  func keep(_ limits: [BookLimits?]) {
    precondition(limits.count <= Books.capacity)
    var kept: BookSet = []
    for number in 0..<Books.capacity {
      guard number < limits.count, let limit = limits[number] else { continue }
      kept.insert(BookSet(rawValue: 1 << UInt64(number)))
      books[number].byteLimit = limit.byteLimit
      books[number].entryLimit = limit.entryLimit
      books[number].softLimit = limit.softLimit
    }
    header.pointee.kept = kept
  }

  /// The limits of the books, by number; nil for one that is not kept.
  var limits: [BookLimits?] {
    (0..<Books.capacity).map { number in
      guard keptBooks.contains(BookSet(rawValue: 1 << UInt64(number))) else { return nil }
      let book = books[number]
      return BookLimits(
        byteLimit: book.byteLimit, entryLimit: book.entryLimit, softLimit: book.softLimit)
    }
  }

  // MARK: Which limits hold

  /// What the container may hold in all, whatever its policy says.
  ///
  /// Set as a whole, whoever dies over it.
  var ownLimits: BookLimits {
    get { header.pointee.ownLimits[Int(header.pointee.currentOwnLimits & 1)] }
    set {
      let next = (header.pointee.currentOwnLimits & 1) ^ 1
      header.pointee.ownLimits[Int(next)] = newValue
      publish(
        state: next,
        at: UnsafeMutableRawPointer(header)
          + (MemoryLayout<Header>.offset(of: \.currentOwnLimits) ?? 0))
    }
  }

  /// Whether a process may have died over a change of limits: then nothing is known of the books
  /// until everything is counted.
  var isInDoubt: Bool {
    get { header.pointee.isInDoubt != 0 }
    set {
      publish(
        state: newValue ? 1 : 0,
        at: UnsafeMutableRawPointer(header) + (MemoryLayout<Header>.offset(of: \.isInDoubt) ?? 0))
    }
  }

  /// Sets what a book says.
  ///
  /// Under the lock.
  func set(_ number: Int, used: Charge) {
    books[number].used = used
    books[number].isBeyondSoft = used.bytes > Int128(books[number].softLimit)
  }

  /// The first of these books that has just gone beyond its soft limit; nil if none has.
  ///
  /// Under the lock.
  func noteSoftLimits(_ set: BookSet) -> Int? {
    var beyond: Int?
    kept(set).forEach { number in
      let isBeyond = books[number].used.bytes > Int128(books[number].softLimit)
      if isBeyond && !books[number].isBeyondSoft { beyond = number }
      books[number].isBeyondSoft = isBeyond
    }
    return beyond
  }
}
