// From a verdict to an errno, by way of the log: the one place where anything is refused.
import FuseKit
import LinuxKit
import Policy

/// What a request wants, as the log tells it.
struct Inquiry {
  let request: Request
  let operation: Operation
  let subject: Subject
  let second: Subject?
  let isDirectory: Bool

  init(
    _ request: Request, _ operation: Operation, _ subject: Subject, second: Subject? = nil,
    _ kind: NodeKind
  ) {
    self.request = request
    self.operation = operation
    self.subject = subject
    self.second = second
    isDirectory = kind == .directory
  }
}

/// A path: a node, or a name below one.
struct Subject {
  let node: NodeIndex
  let name: Name?

  init(_ node: NodeIndex, _ name: Name? = nil) {
    self.node = node
    self.name = name
  }
}

extension ViewFileSystem {
  /// Throws the errno of a refusal, once it is in the log.
  @inline(__always)
  func require(
    _ verdict: Verdict, by ruling: Ruling, _ inquiry: Inquiry
  ) throws(Errno) {
    guard let denial = verdict.denial else {
      if ruling.notesWhatIsAllowed { try noteAllowed(verdict, ruling, inquiry) }
      return
    }
    throw refuse(denial, verdict.rule, ruling, inquiry)
  }

  /// A node that a request may use as it asks.
  struct Admitted {
    let index: NodeIndex
    let ruling: Ruling
    let scratch: ThreadScratch
  }

  /// Asks for an operation on one node, and throws the errno of a refusal.
  @inline(__always)
  func admit(
    _ request: Request, _ operation: Operation, _ node: NodeID
  ) throws(Errno) -> Admitted {
    let index = try nodes.index(of: node.rawValue)
    let scratch = try ThreadScratch.current()
    let ruling = nodes.ruling(of: index, scratch)
    let kind = kind(nodes.record(index).pointee.type)
    try require(
      ruling.decide(operation, kind), by: ruling,
      Inquiry(request, operation, Subject(index), kind))
    return Admitted(index: index, ruling: ruling, scratch: scratch)
  }

  /// Throws ENOENT for what is hidden, which is no refusal and not logged.
  @inline(__always)
  func requireVisible(_ ruling: Ruling) throws(Errno) {
    if ruling.decide(.lookup, .file).denial != nil { throw .noEntry }
  }

  /// The errno of a refusal by the seal, once it is in the log, which no rule keeps it from.
  @inline(never)
  func refuseSeal(
    _ error: Errno, _ operation: Operation, _ ruling: Ruling, _ request: Request,
    _ subject: Subject
  ) -> Errno {
    log(error.code, .seal, ruling, Inquiry(request, operation, subject, .file))
    return error
  }

  /// Writes down what a limit has said, unless a rule wants silence there.
  @inline(never)
  func noteLimit(_ code: CInt, _ rule: RuleID, _ inquiry: Inquiry) {
    guard let scratch = try? ThreadScratch.current() else { return }
    let ruling = nodes.ruling(of: inquiry.subject.node, scratch)
    if ruling.attributes.audit != .silent { log(code, rule, ruling, inquiry) }
  }

  @inline(never)
  private func refuse(
    _ denial: Denial, _ rule: RuleID, _ ruling: Ruling, _ inquiry: Inquiry
  ) -> Errno {
    let error = Errno(denial)
    noteRefusal(denial, rule, ruling, inquiry)
    if denial != .notFound && ruling.attributes.audit != .silent {
      log(error.code, rule, ruling, inquiry)
    }
    return error
  }

  @inline(never)
  private func noteAllowed(
    _ verdict: Verdict, _ ruling: Ruling, _ inquiry: Inquiry
  ) throws(Errno) {
    if let refusal = noteLent(ruling, inquiry) {
      throw refuse(refusal.denial, refusal.rule, ruling, inquiry)
    }
    // The kernel asks for attributes of its own accord too.
    guard inquiry.operation != .readAttributes, ruling.attributes.audit == .everything
    else { return }
    log(0, verdict.rule, ruling, inquiry)
  }

  private func log(_ code: CInt, _ rule: RuleID, _ ruling: Ruling, _ inquiry: Inquiry) {
    // Of a request that comes again the first run has noted it.
    if RequestRecord.wasAudited() { return }
    guard let scratch = try? ThreadScratch.current() else { return }
    log(
      code, rule, ruling, operation: inquiry.operation, inquiry.subject, inquiry.second,
      process: inquiry.request.pid, uid: inquiry.request.uid, scratch)
  }

  /// Adds a record about a thread of a process to the log.
  func log(
    _ code: CInt, _ rule: RuleID, _ ruling: Ruling, operation: Operation, _ subject: Subject,
    _ secondSubject: Subject?, process: Int32, uid: UInt32, _ scratch: ThreadScratch
  ) {
    let command = scratch.name(ScratchName.command)
    let caller = processOfThread(process, nameInto: command)
    let path = nodes.path(of: subject, into: scratch.path(0), limit: AuditRecord.pathLimit)
    var second: (start: UnsafeMutableRawPointer, count: Int) = (scratch.path(1), 0)
    if let subject = secondSubject {
      second = nodes.path(of: subject, into: scratch.path(1), limit: AuditRecord.pathLimit)
    }
    let now = WallTime.now
    audit.add(
      AuditRecord(
        seconds: now.seconds, nanoseconds: now.nanoseconds, process: caller.process,
        uid: uid, operation: UInt32(operation.rawValue), code: code,
        rule: rule, policy: ruling.number, commandCount: UInt16(caller.nameCount),
        pathCount: UInt16(path.count), secondPathCount: UInt16(second.count)),
      rule: ruling.describe(rule), command: command, path: path.start, secondPath: second.start)
  }
}

extension NodeTable {
  /// Writes a path of the view at the end of `buffer`; where it begins and how long it is.
  ///
  /// Of a path longer than `limit` bytes only the end is written. A node without a name is shown
  /// by what it was: nothing.
  func path(
    of subject: Subject, into buffer: UnsafeMutableRawPointer, limit: Int
  ) -> (start: UnsafeMutableRawPointer, count: Int) {
    var start = limit
    lock.lock()
    defer { lock.unlock() }
    if let name = subject.name { prepend(name.cString, name.count, buffer, &start) }
    var index = subject.node
    var name: [256 of CChar] = .init(repeating: 0)
    while index != NodeTable.root && record(index).pointee.parent != 0 && start > 0 {
      withUnsafeMutableBytes(of: &name) { bytes in
        let text = bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
        let count = names.copy(record(index).pointee.name, to: text)
        prepend(text, count, buffer, &start)
      }
      index = record(index).pointee.parent
    }
    if start == limit {
      start -= 1
      buffer.storeBytes(of: UInt8(ascii: "/"), toByteOffset: start, as: UInt8.self)
    }
    return (buffer + start, limit - start)
  }

  /// Writes a slash and a name before what is there, as much of their end as there is room for.
  private func prepend(
    _ name: UnsafePointer<CChar>, _ count: Int, _ buffer: UnsafeMutableRawPointer,
    _ start: inout Int
  ) {
    let kept = min(count, start)
    start -= kept
    (buffer + start).copyMemory(from: name + (count - kept), byteCount: kept)
    guard start > 0 else { return }
    start -= 1
    buffer.storeBytes(of: UInt8(ascii: "/"), toByteOffset: start, as: UInt8.self)
  }
}
