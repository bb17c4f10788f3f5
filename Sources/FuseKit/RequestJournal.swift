// What is known about the requests under way, so that a process may take over from one that died.
//
// The kernel sends again what was read and not answered. A record for each request says how far its
// operation had come, and whoever serves it then goes on from there: so that what an app asked for
// once is done once.
public import CFuse3

/// The records of all requests under way, in memory of the caller's.
public struct RequestJournal: @unchecked Sendable {
  /// How many bytes it needs, aligned to a page.
  public static let byteCount = Int(cfuse_journal_size())

  let raw: UnsafeMutablePointer<cfuse_journal>

  /// The journal at an address: empty where the memory is zero.
  public init(at address: UnsafeMutableRawPointer) {
    raw = address.assumingMemoryBound(to: cfuse_journal.self)
  }

  init(_ raw: UnsafeMutablePointer<cfuse_journal>) { self.raw = raw }

  /// Takes over what a process left that died while it served.
  ///
  /// Only while nobody serves.
  public func takeOver() { cfuse_journal_take_over(raw) }

  /// How often it was taken over.
  public var takeovers: UInt64 { raw.pointee.takeovers }

  /// How many requests have been answered since it was taken over last.
  public var answered: UInt { cfuse_journal_answered(raw) }

  /// How many requests were refused because each process that served them crashed.
  public var refused: UInt { raw.pointee.refused }

  /// How often a signal of a crash has come that somebody else had sent.
  public var outsideSignals: UInt32 { raw.pointee.outside_signals }

  // MARK: Threads that hang

  /// What a thread that serves is about, as another process sees it.
  public struct Look: Sendable {
    /// Its place among the threads.
    public let place: UInt32
    /// Its number.
    public let number: Int32
    /// Whether it serves a request.
    public let serves: Bool
    /// How many it has served.
    public let served: UInt
  }

  /// All threads that read requests.
  public func looks() -> [Look] {
    (0..<min(raw.pointee.thread_count, UInt32(CFUSE_THREADS))).map { place in
      let look = cfuse_journal_look(raw, place)
      return Look(
        place: place, number: look.number, serves: look.serving != 0, served: look.served)
    }
  }

  /// The request that a thread serves has made it hang: that counts as a crash.
  public func blame(_ look: Look) { cfuse_journal_blame(raw, look.place) }

  /// Whether the next request is to ring the session's bell.
  public func letWatcherSleep(_ sleeps: Bool) {
    cfuse_journal_let_watcher_sleep(raw, sleeps ? 1 : 0)
  }

  /// Calls `body` with each record that was left behind.
  public func forEachLeft(_ body: (RequestRecord) -> Void) {
    for place in leftPlaces { body(left(place)) }
  }

  /// Where the records are that were left behind.
  var leftPlaces: [Int] {
    (0..<Int(raw.pointee.left_count)).filter { place in
      cfuse_load_state(left(place).raw) != UInt32(CFUSE_IDLE)
    }
  }

  func left(_ place: Int) -> RequestRecord {
    let start = UnsafeMutableRawPointer(raw) + (MemoryLayout<cfuse_journal>.offset(of: \.left) ?? 0)
    return RequestRecord(raw: start.assumingMemoryBound(to: cfuse_record.self) + place)
  }
}

/// What INIT has agreed on with the kernel.
public struct InitAgreement: Sendable {
  let raw: cfuse_agreement

  /// What a journal has of it.
  public init(_ journal: RequestJournal) { raw = journal.raw.pointee.agreement }

  /// Reads it; what is not whole is none.
  public init(bytes: [UInt8]) {
    guard bytes.count == MemoryLayout<cfuse_agreement>.size else {
      raw = cfuse_agreement()
      return
    }
    raw = bytes.withUnsafeBytes { $0.loadUnaligned(as: cfuse_agreement.self) }
  }

  /// Whether anything was agreed on.
  public var isThere: Bool { raw.request_length > 0 }

  /// It as bytes.
  public var bytes: [UInt8] { withUnsafeBytes(of: raw) { Array($0) } }
}

/// The record of one request.
public struct RequestRecord {
  @usableFromInline let raw: UnsafeMutablePointer<cfuse_record>

  @usableFromInline
  init(raw: UnsafeMutablePointer<cfuse_record>) { self.raw = raw }

  /// The record of the request that this thread serves.
  @inlinable
  public static var current: RequestRecord {
    // There always is one, if only one that nobody reads.
    RequestRecord(raw: cfuse_current().unsafelyUnwrapped)
  }

  /// Whether an earlier process had this request already.
  @inlinable
  public static var isResent: Bool { cfuse_repeated() != UInt32(CFUSE_IDLE) }

  /// Whether an earlier process may have made the request's system call.
  @inlinable
  public static var isRepeated: Bool { cfuse_repeated() >= UInt32(CFUSE_EXECUTING) }

  /// Whether an earlier process has made the request's system call for certain.
  @inlinable
  public static var wasExecuted: Bool { cfuse_repeated() == UInt32(CFUSE_EXECUTED) }

  /// A lookup of a node was counted for this thread's request.
  ///
  /// After it was: a count that stays too high does no harm.
  @inlinable
  public static func noteLookup(_ node: UInt64) { cfuse_note_lookup(node) }

  /// The request's number, by which it comes again.
  @inlinable
  public var number: UInt64 { raw.pointee.unique }

  /// How many processes it has crashed.
  public var crashes: UInt32 { raw.pointee.crashes }

  /// An open descriptor that the operation needs to its end; -1 if there is none.
  @inlinable
  public var descriptor: CInt {
    get { raw.pointee.descriptor }
    nonmutating set { raw.pointee.descriptor = newValue }
  }

  /// The system call is about to be made.
  ///
  /// What a repetition needs to know is stored before.
  @inlinable
  public func begin() { cfuse_store_state(raw, UInt32(CFUSE_EXECUTING)) }

  /// The system call was made.
  @inlinable
  public func executed() { cfuse_store_state(raw, UInt32(CFUSE_EXECUTED)) }

  /// The system call has failed: nothing was done.
  @inlinable
  public func failed() { cfuse_store_state(raw, UInt32(CFUSE_READ)) }

  /// What a name meant before it is moved or removed.
  @inlinable
  public func note(device: UInt32, inode: UInt64, birthNanoseconds: UInt64) {
    raw.pointee.device = device
    raw.pointee.inode = inode
    raw.pointee.birth_nanoseconds = birthNanoseconds
  }

  /// What was noted.
  public var identity: (device: UInt32, inode: UInt64, birthNanoseconds: UInt64) {
    (raw.pointee.device, raw.pointee.inode, raw.pointee.birth_nanoseconds)
  }

  // MARK: Its records in the audit log

  /// A record of this request is about to have a number in the audit log.
  ///
  /// Before it has.
  public func willAudit(_ number: UInt64) {
    raw.pointee.audited = number << 8 | min(auditedCount(below: .max), 255)
  }

  /// Forgets a record that the log did not get, the last of whose is `total`.
  ///
  /// Before the log gets another one.
  public func settleAudit(_ total: UInt64) {
    raw.pointee.audited = min(auditedCount(below: total), 255)
  }

  private func auditedCount(below total: UInt64) -> UInt64 {
    let number = raw.pointee.audited >> 8
    return (raw.pointee.audited & 0xFF) + (number != 0 && number <= total ? 1 : 0)
  }

  /// Whether what this thread's request is about to note was noted by an earlier run of it.
  public static func wasAudited() -> Bool { cfuse_was_audited() != 0 }
}
