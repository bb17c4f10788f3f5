// What names cost that go or move: what loses its last name goes on costing while it is there, and
// what moves to where other limits hold is paid for there first.
//
// Begun before the system call and before `beginMove`, since others may wait for a name that is on
// its way behind the same gates; ended after both.
import Accounting
import FuseKit
import LinuxKit
import Policy

/// What may lose its last name, or change its books, by one request.
struct Departure {
  fileprivate var gates: (Int, Int)?
  /// Of what may go.
  fileprivate var leaving: UInt32 = 0
  /// What loses a name that is not its last one, and the books in which it is.
  fileprivate var keeping: (node: NodeIndex, name: Name, parent: NodeIndex, books: BookSet)?
  /// Of what may move, and the books at its new place.
  fileprivate var moving: UInt32 = 0
  fileprivate var from: BookSet = []
  fileprivate var to: BookSet = []

  /// Nothing is paid for.
  static var free: Departure { Departure() }
}

extension ViewFileSystem {
  // MARK: Going

  /// A name of an inode is about to be removed, or replaced.
  func beginRemoval(
    _ name: Name, in parent: NodeIndex, _ descriptor: CInt, _ status: borrowing InodeStatus
  ) throws(Errno) -> Departure {
    guard books.isKept else { return .free }
    let node = nodes.known(status)
    var departure = Departure(gates: books.enter(node, node))
    do throws(Errno) {
      let set = nodes.books(of: name, in: parent, try ThreadScratch.current())
      departure.leaving = try accountOfLeaving(node, descriptor, status, set)
      departure.keeping = keeping(node, name, parent, status, set)
      return departure
    } catch {
      books.leave(departure.gates)
      throw error
    }
  }

  private func accountOfLeaving(
    _ node: NodeIndex, _ descriptor: CInt, _ status: borrowing InodeStatus, _ set: BookSet
  ) throws(Errno) -> UInt32 {
    let isLast = status.isLast(withNames: 1)
    guard node != 0, isLast, !set.isEmpty else { return 0 }
    return try wholeAccount(node, descriptor, status, set)
  }

  private func keeping(
    _ node: NodeIndex, _ name: Name, _ parent: NodeIndex, _ status: borrowing InodeStatus,
    _ set: BookSet
  ) -> (node: NodeIndex, name: Name, parent: NodeIndex, books: BookSet)? {
    let isLast = status.isLast(withNames: 1)
    return node == 0 || isLast || set.isEmpty ? nil : (node, name, parent, set)
  }

  private func wholeAccount(
    _ node: NodeIndex, _ descriptor: CInt, _ status: borrowing InodeStatus, _ set: BookSet
  ) throws(Errno) -> UInt32 {
    try nodes.account(
      of: node, .whole, contents: Charge.contents(type: status.mode, size: status.size),
      values: try ExtendedAttributes.ownersByteCount(nodes.emptyPath, in: descriptor), set)
  }

  /// The name was removed.
  ///
  /// Before the table of nodes is told.
  func noteRemoval(_ departure: inout Departure) {
    if let kept = departure.keeping {
      nodes.keepBooks(of: kept.node, without: kept.name, in: kept.parent, kept.books)
    }
    guard departure.leaving != 0 else { return }
    nodes.markGone(departure.leaving)
    departure.leaving = 0
  }

  // MARK: Moving

  /// A file is about to get another name, which costs nothing.
  ///
  /// But it must not happen while everything is counted.
  func beginLink(_ descriptor: CInt) throws(Errno) -> Departure {
    let status = try InodeStatus.of(descriptor)
    return beginExchange(status, status)
  }

  /// Two names are about to change places, which costs nothing.
  func beginExchange(
    _ status: borrowing InodeStatus, _ other: borrowing InodeStatus
  ) -> Departure {
    guard books.isKept else { return .free }
    return Departure(gates: books.enter(nodes.known(status), nodes.known(other)))
  }

  /// A name is about to be moved, and perhaps to replace another one.
  ///
  /// Throws EDQUOT, once it is in the log, if the limits at the new place do not allow it.
  func beginMove(
    _ request: Request, _ source: End, _ status: borrowing InodeStatus, to target: End,
    replacing replaced: CInt, _ replacedStatus: InodeStatus?, _ scratch: ThreadScratch
  ) throws(Errno) -> Departure {
    guard books.isKept else { return .free }
    let node = nodes.known(status)
    var other: NodeIndex = 0
    if let replacedStatus { other = nodes.known(replacedStatus) }
    var departure = Departure(gates: books.enter(node, other))
    departure.from = nodes.books(of: source.name, in: source.parent, scratch)
    departure.to = nodes.books(of: target.name, in: target.parent, scratch)
    do throws(Errno) {
      // No directory is moved to where other limits hold.
      if node != 0, departure.from != departure.to, !status.isDirectory {
        departure.moving = try payForMove(request, node, source, status, to: target, departure)
      }
      if let replacedStatus, node != other {
        departure.leaving = try accountOfLeaving(other, replaced, replacedStatus, departure.to)
        departure.keeping = keeping(
          other, target.name, target.parent, replacedStatus, departure.to)
      }
      return departure
    } catch {
      end(departure, isDone: false)
      throw error
    }
  }

  private func payForMove(
    _ request: Request, _ node: NodeIndex, _ source: End, _ status: borrowing InodeStatus,
    to target: End, _ departure: Departure
  ) throws(Errno) -> UInt32 {
    let file = try nodes.openPath(source.name.cString, in: source.directory)
    let account = try wholeAccount(node, file.rawValue, status, departure.from)
    // An earlier process may have died over the same.
    nodes.locked {
      var record = books.account(account)
      guard record.state.contains(.moving) else { return }
      record.state.remove(.moving)
      record.books = departure.from
      books.post(account, record)
    }
    do throws(Errno) {
      let inquiry = Inquiry(
        request, .rename, source.subject, second: target.subject, kind(status.mode))
      try pay(account, inquiry) { record in
        record.books = departure.from.union(departure.to)
        record.state.insert(.moving)
      }
      return account
    } catch {
      nodes.releaseAccount(account)
      throw error
    }
  }

  /// The name was moved, or was not.
  func end(_ departure: Departure, isDone: Bool) {
    if departure.moving != 0 {
      settleMove(departure.moving, isDone ? departure.to : departure.from)
    }
    if departure.leaving != 0 { nodes.releaseAccount(departure.leaving) }
    books.leave(departure.gates)
  }

  private func settleMove(_ account: UInt32, _ set: BookSet) {
    nodes.locked {
      var record = books.account(account)
      record.books = set
      record.state.remove(.moving)
      books.post(account, record)
    }
    nodes.releaseAccount(account)
  }

  // MARK: After a death

  /// A name is gone that an earlier process has removed.
  func finishRemoval(
    of status: borrowing InodeStatus, _ name: Name, in parent: NodeIndex, _ scratch: ThreadScratch
  ) {
    guard books.isKept else { return }
    let node = nodes.known(status)
    guard node != 0 else { return }
    guard status.isLast(withNames: 0) else {
      let set = nodes.books(of: name, in: parent, scratch)
      if !set.isEmpty { nodes.keepBooks(of: node, without: name, in: parent, set) }
      return
    }
    let account = nodes.locked { nodes.record(node).pointee.account }
    if account != 0 { nodes.markGone(account) }
  }

  /// A name was moved by an earlier process.
  func finishMove(of status: borrowing InodeStatus, to target: End, _ scratch: ThreadScratch) {
    guard books.isKept else { return }
    let node = nodes.known(status)
    let set = nodes.books(of: target.name, in: target.parent, scratch)
    guard node != 0 else { return }
    let account = nodes.locked { nodes.record(node).pointee.account }
    let isMoving = account != 0 && nodes.locked { books.account(account).state.contains(.moving) }
    if isMoving { settleMove(account, set) }
  }
}

extension InodeStatus {
  /// Whether no name is left when one of so many goes.
  fileprivate func isLast(withNames count: UInt64) -> Bool { isDirectory || linkCount <= count }
}
