// Removing one file that may go: only if it still is that file, and nobody has it open.
public import LinuxKit

/// What became of a file that may go.
public enum PurgeOutcome: Equatable, Sendable {
  /// It is gone.
  case removed
  /// Somebody has it open or mapped.
  case inUse
  /// Nobody can say whether somebody has it open, and somebody may.
  case doubtful
  /// Another one is in its place, or nothing.
  case changed
  /// The system says why not.
  case failed(Errno)
}

extension PurgeCandidate {
  /// Removes it from the data of a container that is not mounted.
  ///
  /// The way is gone anew from its beginning, and by no link. Who opens the file in the very moment
  /// of its removal keeps what was opened.
  public func remove(from data: borrowing Walker) -> PurgeOutcome {
    outcome { () throws(Errno) in
      let obstacle = try obstacle(in: data)
      if let obstacle, obstacle != .doubtful { return obstacle }
      try removeName(below: data)
      return .removed
    }
  }

  /// Removes it from the data of a container that is mounted, by way of the root of its view, so
  /// that the kernel and who watches the view know.
  ///
  /// Otherwise as `remove(from:)`.
  public func remove(
    from data: borrowing Walker, through view: borrowing Walker
  ) -> PurgeOutcome {
    outcome { () throws(Errno) in
      if let obstacle = try obstacle(in: data) { return obstacle }
      try removeName(below: view)
      return .removed
    }
  }

  /// Why it can't go now; nil if it can.
  private func obstacle(in data: borrowing Walker) throws(Errno) -> PurgeOutcome? {
    guard let name = path.last else { return .changed }
    let found = try data.enter(path: path.dropLast()).open(name, Opening.pathOnly)
    let status = try found.status()
    guard status.kind == .regular, status.identity == identity,
      status.bornNanoseconds == bornNanoseconds
    else { return .changed }
    do throws(Errno) {
      return try found.reopened(Opening.looking).isOpenElsewhere() ? .inUse : nil
    } catch {
      switch error {
      case .wouldBlock, .textBusy: return .inUse
      case .invalid, .notSupported, .accessDenied: return .doubtful
      default: throw error
      }
    }
  }

  private func removeName(below root: borrowing Walker) throws(Errno) {
    guard let name = path.last else { return }
    try root.enter(path: path.dropLast()).removeFile(name)
  }

  private func outcome(_ body: () throws(Errno) -> PurgeOutcome) -> PurgeOutcome {
    do throws(Errno) {
      return try body()
    } catch {
      switch error {
      case .noEntry, .notDirectory, .tooManyLinks, .stale: return .changed
      default: return .failed(error)
      }
    }
  }
}
