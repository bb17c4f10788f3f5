// A host tool at the data of an app, through the app's view as the app's user: nothing that the app
// has put there lends the tool more than the app has.
public import Containers
public import LinuxKit
internal import Paths

/// A view that a host tool may work in, for as long as it is lent.
public struct VisitedView: ~Copyable {
  /// The root of the view.
  public let root: Walker
  /// The bundle, which is a mount of its own; nil if there is none.
  public let bundle: Walker?
  /// The container's directory, opened for this: a lock on what the daemon was given would be the
  /// daemon's too, and outlive the visit.
  private let turn: Descriptor

  fileprivate init(
    root: consuming Walker, bundle: consuming Walker?, turn: consuming Descriptor
  ) {
    self.root = root
    self.bundle = bundle
    self.turn = turn
  }

  /// Waits until no other visit to the container has its turn; it lasts as long as the visit.
  ///
  /// Throws EBUSY if that takes too long: another command may have been stopped. No app can reach
  /// what is locked.
  public func takeTurn(patienceMilliseconds: Int64 = 30_000) throws(Errno) {
    let deadline = monotonicMilliseconds() + patienceMilliseconds
    while try !turn.tryLock(.exclusive) {
      guard monotonicMilliseconds() < deadline else { throw .busy }
      pauseMilliseconds(10)
    }
  }
}

extension Launch {
  /// Lends a container's view, mounted for the time if it is not, to `body`, which acts as the
  /// container's user.
  ///
  /// Blocks HUP, INT and TERM meanwhile. Of `options` the environment and the usual store count.
  /// Throws `LaunchError.outdated` as `run` does. Returns what could not be tidied up too, a line
  /// each.
  public static func visit<Result>(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, _ options: RunOptions, isCurrent: () -> Bool,
    _ body: (borrowing VisitedView) throws -> Result
  ) throws -> (result: Result, remarks: [String]) {
    let visited = try container.duplicate()
    return try withLease(
      container, record, configuration, options, isCurrent: isCurrent
    ) { path in
      try visit(path, record, visited.open(".", Flags.directory), body)
    }
  }

  private static func visit<Result>(
    _ path: [UInt8], _ record: ContainerRecord, _ turn: consuming Descriptor,
    _ body: (borrowing VisitedView) throws -> Result
  ) throws -> Result {
    let name = record.bundleName
    let view = VisitedView(
      root: try Walker.open(path: path),
      bundle: name.isEmpty ? nil : try Walker.open(path: path + [UInt8(ascii: "/")] + name),
      turn: turn)
    var outcome = Swift.Result<Result, any Error>.failure(Errno.stale)
    try Caller(isPrivileged: isPrivileged()).acting(
      uid: record.ownerUID, gid: record.ownerGID, mask: 0o077
    ) { () throws(Errno) in
      outcome = Swift.Result { try body(view) }
    }
    return try outcome.get()
  }
}
