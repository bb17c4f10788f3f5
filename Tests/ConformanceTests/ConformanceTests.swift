// The same table of cases on a plain directory and on a view whose profile allows everything. What
// differs is a defect, unless it is in the list of differences.

import Glibc
import LinuxKit
import TestSupport
import Testing

/// Where the store lies, and whose view it is: what is behind a view is not all the same.
enum Ground: String, CaseIterable, CustomTestStringConvertible {
  case disk = "the file system of /tmp"
  case memory = "tmpfs"
  /// Mounted by fusermount3: the daemon has no privilege, and the view no `noexec`.
  case user = "a user's view"
  /// Without writeback: each write comes to the daemon.
  case userUnkept = "a user's view that keeps nothing"
  /// Uses the numbers of inodes again at once.
  case xfs = "xfs"
  /// Copies what is written, and shares what is copied.
  case btrfs = "btrfs"
  /// Where limits hold that nothing meets: every write comes to the daemon.
  case limited = "the file system of /tmp, with limits"
  case overlay = "overlayfs"
  /// Stacked too deep for passthrough: root's daemon does the I/O.
  case stacked = "overlayfs on overlayfs"

  var testDescription: String { rawValue }

  /// nobody, whom fusermount3 knows by name, for a user's.
  var owner: uid_t { isOfUser ? 65534 : 0 }

  var isOfUser: Bool { self == .user || self == .userUnkept }

  /// Where all cases of the table are tried.
  static let possible = [disk, memory, user].filter { $0 != .user || FuseDevice.obstacle == nil }

  /// Further kinds of store, as far as they can be mounted here.
  static let stores = [xfs, btrfs, overlay, stacked].filter { ground in
    (try? withTemporaryDirectory { try mountStore(ground, on: $0, then: { _ in }) }) != nil
  }
}

/// A case of the table, on a ground.
struct Row: CustomTestStringConvertible {
  let name: String
  let ground: Ground

  var testDescription: String { "\(name), on \(ground.rawValue)" }

  static let all = Ground.possible.flatMap { ground in
    PosixCases.names.map { Row(name: $0, ground: ground) }
  }
}

/// What the cases said on both sides.
struct Comparison {
  let plain: [String: [PosixCases.Line]]
  let view: [String: [PosixCases.Line]]

  private static let onDisk = Result { try Comparison(on: .disk) }
  private static let inMemory = Result { try Comparison(on: .memory) }
  private static let ofUser = Result {
    try FuseDevice.withOpenToUsers { try Comparison(on: .user) }
  }

  /// The comparison on a ground, made once.
  static func made(on ground: Ground) throws -> Comparison {
    switch ground {
    case .disk: try onDisk.get()
    case .memory: try inMemory.get()
    case .user: try ofUser.get()
    case .userUnkept, .xfs, .btrfs, .limited, .overlay, .stacked:
      throw ProgramFailure(description: "the table is not tried on \(ground.rawValue)")
    }
  }

  private init(on ground: Ground) throws {
    let owner = ground.owner
    (plain, view) = try withGround(ground) { directory in
      let plain = try makePlain(in: directory, owner)
      defer { try? LinuxKit.unmount(Array(plain.utf8), .detach) }
      let view = try TestView(in: directory, TestView.Settings(owner: owner))
      let below = view.path + "/Documents"
      let results = (
        try PosixCases.results(in: plain, user: owner),
        try PosixCases.results(in: below, user: owner)
      )
      try view.unmount()
      return results
    }
  }
}

/// A directory that is mounted with the flags of every view, which are the mount's own matter.
func makePlain(in directory: String, _ owner: uid_t) throws -> String {
  let plain = directory + "/plain"
  let script = """
    mkdir "$0"
    mount --bind "$0" "$0"
    mount -o "remount,bind,nosuid,nodev$1" "$0"
    chown "$2:$2" "$0"
    """
  let flags = owner == 0 ? ",noexec" : ""
  let made = try run("sh", ["-ec", script, plain, flags, String(owner)])
  guard made.status == 0 else { throw ProgramFailure(description: made.errorText) }
  return plain
}

/// Runs `body` with a directory on such a ground.
func withGround<Result>(_ ground: Ground, _ body: (String) throws -> Result) throws -> Result {
  try withTemporaryDirectory { directory in
    if ground == .disk || ground == .limited || ground.isOfUser { return try body(directory) }
    return try mountStore(ground, on: directory, then: body)
  }
}

/// Mounts a file system of its own below a directory, and takes it down behind `body`.
private func mountStore<Result>(
  _ ground: Ground, on directory: String, then body: (String) throws -> Result
) throws -> Result {
  let made = try run("sh", ["-ec", "cd \"$0\"\n" + ground.script, directory])
  defer {
    for place in ["top", "middle", "base"] {
      try? LinuxKit.unmount(Array("\(directory)/\(place)".utf8), .detach)
    }
  }
  guard made.status == 0 else { throw ProgramFailure(description: made.errorText) }
  return try body(directory + "/" + (ground == .overlay || ground == .stacked ? "top" : "base"))
}

extension Ground {
  /// Mounts `base`, or `top` on it.
  fileprivate var script: String {
    // Where /tmp is an overlay itself, nothing can be laid over it.
    let overlay = """
      mkdir base top
      layer() {
        mkdir -p lower base/upper-$1 base/work-$1 && mount -t overlay overlay "$1" \
          -o "lowerdir=${2:-lower},upperdir=base/upper-$1,workdir=base/work-$1"
      }
      """
    let base = """
      layer top 2> /dev/null || { mount -t tmpfs -o size=1g,mode=755 tmpfs base && layer top; }
      """
    switch self {
    case .disk, .limited, .user, .userUnkept: return ""
    case .memory: return "mkdir base && mount -t tmpfs -o size=1g,mode=755 tmpfs base"
    case .xfs:
      return """
        truncate -s 512M image && mkfs.xfs -q image && mkdir base && mount -o loop image base
        """
    case .btrfs:
      return """
        truncate -s 512M image && mkfs.btrfs -q image && mkdir base && mount -o loop image base
        """
    case .overlay: return overlay + "\n" + base
    case .stacked:
      let middle = base.replacing("top", with: "middle")
      return overlay + "\nmkdir middle\n" + middle + "\nlayer top middle"
    }
  }
}

@Suite(.serialized) struct ConformanceTests {
  @Test("the program of cases compiles without a warning")
  func compiles() throws {
    _ = try PosixCases.program.get()
    #expect(PosixCases.names.count > 100)
    #expect(Set(PosixCases.names).count == PosixCases.names.count)
  }

  @Test("a view is as a plain directory", arguments: Row.all)
  func same(_ row: Row) throws {
    let comparison = try Comparison.made(on: row.ground)
    let plain = comparison.plain[row.name] ?? []
    let view = comparison.view[row.name] ?? []
    #expect(!plain.isEmpty, "the case says nothing")
    #expect(plain.map(\.step) == view.map(\.step))
    for (one, other) in zip(plain, view) where one != other {
      let isKnown = differences.contains { $0.name == row.name && $0.explains(one, other) }
      #expect(isKnown, "plain: \(one)\nview:  \(other)")
    }
    // Root can make all that a case is about; others say what they can't, on both sides.
    let isPrepared = !plain.contains { $0.result.hasPrefix("cannot be prepared") }
    #expect(isPrepared || row.ground.owner != 0)
  }

  @Test("the list of differences names none that is not there")
  func differencesAreThere() throws {
    let comparison = try Comparison.made(on: .disk)
    for difference in differences where !difference.isOfCaching {
      let plain = comparison.plain[difference.name] ?? []
      let view = comparison.view[difference.name] ?? []
      let isThere = zip(plain, view).contains { $0 != $1 && difference.explains($0, $1) }
      #expect(isThere, "\(difference.name): \(difference.step ?? "any step"): \(difference.reason)")
    }
  }
}
