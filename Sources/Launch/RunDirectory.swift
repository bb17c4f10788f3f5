// Where the runs of one person meet: the views that they mounted, the locks of those who use them,
// and the directory over which each prepares its namespace.
//
// Nobody else can write there. A view's directory has the container's identifier as its name, and
// two files beside it that are locked: `@gate` while the view is being mounted or unmounted, and
// `@runs` by everybody who uses it. The kernel gives the locks back when a run is killed.
internal import Glibc
internal import LinuxKit
internal import Paths

/// `/run/sandboxfs`, or that of an ordinary user.
struct RunDirectory: ~Copyable {
  /// The path of it.
  let path: [UInt8]
  /// The directory of the views.
  let views: Walker

  /// The path of the directory that each run covers in its own namespace.
  var stage: [UInt8] { path + Array("/stage".utf8) }

  /// The path of a view's mount point.
  func mountPoint(of name: [UInt8]) -> [UInt8] { path + Array("/views/".utf8) + name }

  /// Opens the caller's, made as needed.
  init(environment: [[UInt8]]) throws(LaunchError) {
    let (parent, home) = try Self.parent(environment)
    if let home { try Self.makeStateDirectory(in: home) }
    views = try Self.openViews(in: parent)
    path = parent + Array("/sandboxfs".utf8)
  }

  /// Where the caller's is, or would be; nil if there is no place for one.
  static func path(environment: [[UInt8]]) -> [UInt8]? {
    (try? parent(environment).path).map { $0 + Array("/sandboxfs".utf8) }
  }

  /// Whether the caller has one, which then need not be made.
  static func exists(environment: [[UInt8]]) -> Bool {
    guard let parent = try? parent(environment).path else { return false }
    return (try? Walker.open(path: parent + Array("/sandboxfs/views".utf8))) != nil
  }

  private static func openViews(in parent: [UInt8]) throws(LaunchError) -> Walker {
    do throws(Errno) {
      // The app's uid passes through root's to its stage, and can list neither.
      let base = try Walker.open(path: parent).enterOrCreate(
        Array("sandboxfs".utf8), mode: isPrivileged() ? 0o711 : 0o700)
      guard try base.status().ownerUID == effectiveUID() else { throw .notPermitted }
      _ = try base.enterOrCreate(Array("stage".utf8), mode: 0o700)
      return try base.enterOrCreate(Array("views".utf8), mode: 0o700)
    } catch {
      throw LaunchError(.ours, "cannot use \(parent.printable)/sandboxfs: \(error.message)")
    }
  }

  /// Where it lies: what the system gives each user until the next boot, else below the home.
  ///
  /// In the latter case the home is in the answer too.
  private static func parent(
    _ environment: [[UInt8]]
  ) throws(LaunchError) -> (path: [UInt8], home: [UInt8]?) {
    if isPrivileged() { return (Array("/run".utf8), nil) }
    let candidates = [
      value(of: "XDG_RUNTIME_DIR", in: environment),
      Array("/run/user/\(effectiveUID())".utf8),
    ]
    for path in candidates.compactMap({ $0 }) where path.first == UInt8(ascii: "/") {
      let status = try? Walker.open(path: path).status()
      if status?.ownerUID == effectiveUID() { return (path, nil) }
    }
    guard let home = value(of: "HOME", in: environment), home.first == UInt8(ascii: "/") else {
      throw LaunchError(.ours, "there is no place for its view: set XDG_RUNTIME_DIR or HOME")
    }
    return (home + Array("/.local/state".utf8), home)
  }

  private static func makeStateDirectory(in home: [UInt8]) throws(LaunchError) {
    do throws(Errno) {
      var place = try Walker.open(path: home)
      for name in [".local", "state"] {
        place = try place.enterOrCreate(Array(name.utf8), mode: 0o700)
      }
    } catch {
      throw LaunchError(.ours, "cannot make .local/state in \(home.printable): \(error.message)")
    }
  }

  private static func value(of name: String, in environment: [[UInt8]]) -> [UInt8]? {
    let prefix = Array("\(name)=".utf8)
    return environment.first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) }
  }

  /// Makes the directory on which a view is mounted.
  func makeMountPoint(of name: [UInt8]) throws(Errno) {
    do throws(Errno) {
      _ = try views.createDirectory(name, mode: 0o700)
    } catch .exists {
      // It is left from a run that was killed, or the view is mounted on it.
    }
  }

  /// Waits for a view's gate, unless a signal comes.
  func waitForGate(
    of name: [UInt8], _ signals: borrowing BlockedSignals
  ) throws(LaunchError) -> Descriptor {
    try saying(name) { () throws(Errno) in
      try gate(of: name) { file throws(Errno) in
        while try !file.tryLock(.exclusive) {
          try signals.wait(milliseconds: 20)
          if signals.take() != nil { throw Errno(EINTR) }
        }
      }
    }
  }

  /// Waits for a view's gate, whatever comes.
  func waitForGate(of name: [UInt8]) throws(LaunchError) -> Descriptor {
    try saying(name) { () throws(Errno) in
      try gate(of: name) { file throws(Errno) in try file.lock(.exclusive) }
    }
  }

  /// Takes a view's gate if nobody has it.
  func takeFreeGate(of name: [UInt8]) -> Descriptor? {
    try? gate(of: name) { file throws(Errno) in
      if try !file.tryLock(.exclusive) { throw .busy }
    }
  }

  /// Joins those who use a view; the caller has the gate.
  func joinRuns(of name: [UInt8]) throws(LaunchError) -> Descriptor {
    try saying(name) { () throws(Errno) in
      let runs = try openLock(.runs, of: name)
      // Nobody has this lock alone without having the gate as well, so it is there at once.
      try runs.lock(.shared)
      return runs
    }
  }

  /// The lock of all who use a view, if nobody does; the caller has the gate.
  func takeFreeRuns(of name: [UInt8]) throws(Errno) -> Descriptor? {
    let runs = try openLock(.runs, of: name)
    if try !runs.tryLock(.exclusive) { return nil }
    return runs
  }

  /// Removes what belongs to a view that is not mounted; the caller has both locks.
  func forget(_ name: [UInt8]) {
    try? views.removeDirectory(name)
    for kind in [LockKind.runs, .gate] { try? views.removeFile(name + Array(kind.rawValue.utf8)) }
  }

  /// The names of all views that there are traces of.
  func names() -> [[UInt8]] {
    let suffix = Array(LockKind.gate.rawValue.utf8)
    return ((try? views.entries()) ?? []).map(\.name).filter {
      $0.count > suffix.count && $0.suffix(suffix.count).elementsEqual(suffix)
    }.map { Array($0.dropLast(suffix.count)) }
  }

  private func gate(
    of name: [UInt8], _ lock: (borrowing Descriptor) throws(Errno) -> Void
  ) throws(Errno) -> Descriptor {
    while true {
      let file = try openLock(.gate, of: name)
      try lock(file)
      // Whoever had it may have removed the file since it was opened.
      let there = try? views.status(of: name + Array(LockKind.gate.rawValue.utf8)).identity
      if there == (try file.status().identity) { return file }
    }
  }

  private func openLock(_ kind: LockKind, of name: [UInt8]) throws(Errno) -> Descriptor {
    try views.open(name + Array(kind.rawValue.utf8), O_RDWR | O_CREAT, mode: 0o600)
  }

  private func saying(
    _ name: [UInt8], _ body: () throws(Errno) -> Descriptor
  ) throws(LaunchError) -> Descriptor {
    do throws(Errno) {
      return try body()
    } catch {
      throw LaunchError(.ours, "cannot lock the view of \(name.printable): \(error.message)")
    }
  }

  /// What a lock file is for.
  private enum LockKind: String {
    /// Held alone while the view is being mounted or unmounted.
    case gate = "@gate"
    /// Held by all runs that use the view.
    case runs = "@runs"
  }
}
