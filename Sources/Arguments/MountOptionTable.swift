// Every word that may stand behind -o, what comes of it, and what people read about it: the parser,
// the errors and the test of the man page all read this one table.

/// A word of an option list, such as `ro` or `store=DIR`.
public struct MountOption: Sendable {
  /// What comes of it.
  public enum Effect: Equatable, Sendable {
    /// It is switched on.
    case on(MountSwitch)
    /// It is switched off.
    case off([MountSwitch])
    /// Its value is `on` or `off`, and `off` is what switches this on.
    case without(MountSwitch)
    /// It names the store.
    case store
    /// It changes a mount that is there.
    case remount
    /// It is mount(8)'s own matter, or what a remount hands back: nothing comes of it.
    case taken
    /// It is an error, with what to do instead.
    case refused(String)
  }

  /// What follows the name.
  public enum Value: Sendable {
    /// Nothing.
    case none
    /// `=` and a value.
    case required
    /// Both are understood.
    case optional
  }

  /// The word before `=`; a trailing `*` stands for any ending.
  public let name: String
  /// What follows it.
  public let value: Value
  /// What comes of it.
  public let effect: Effect
  /// Whether only root's mounts can have it: fusermount3 has no such option.
  public let isRoots: Bool

  fileprivate init(
    _ name: String, _ effect: Effect, value: Value = .none, isRoots: Bool = false
  ) {
    self.name = name
    self.value = value
    self.effect = effect
    self.isRoots = isRoots
  }

  /// Whether a word is this one.
  func matches(_ word: [UInt8]) -> Bool {
    name.hasSuffix("*")
      ? word.starts(with: name.utf8.dropLast()) : word.elementsEqual(name.utf8)
  }
}

/// What can be on or off about a mount.
public enum MountSwitch: Hashable, Sendable, CaseIterable {
  /// Nothing can be changed.
  case readOnly
  /// Nothing can be executed.
  case noExec
  /// Reading changes no time of access.
  case noAccessTime
  /// Reading a directory changes no time of access.
  case noDirectoryAccessTime
  /// Each read changes the time of access.
  case strictAccessTime
  /// Symbolic links are not followed.
  case noSymlinkFollowing
  /// Each write waits for the disk.
  case synchronous
  /// Each change of a directory waits for the disk.
  case synchronousDirectories
  /// Times reach the disk late.
  case lazyTimes
  /// Nobody watches over the process that serves.
  case unsupervised
  /// There are no extended attributes.
  case noExtendedAttributes
  /// What is written goes to the daemon at once.
  case noWriteback

  /// Whether the table of mounts does not show it.
  var isUnseen: Bool {
    switch self {
    case .unsupervised, .noExtendedAttributes, .noWriteback: true
    default: false
    }
  }
}

extension MountOption {
  /// All that are known.
  public static let all: [MountOption] =
    [
      MountOption("store", .store, value: .required), MountOption("remount", .remount),
    ] + switches + taken + handedBack + refused

  private static let switches = [
    MountOption("ro", .on(.readOnly)),
    MountOption("rw", .off([.readOnly])),
    MountOption("noexec", .on(.noExec)),
    MountOption("exec", .off([.noExec])),
    MountOption("noatime", .on(.noAccessTime)),
    MountOption("atime", .off([.noAccessTime])),
    MountOption("strictatime", .on(.strictAccessTime), isRoots: true),
    MountOption("nostrictatime", .off([.strictAccessTime])),
    MountOption("relatime", .off([.strictAccessTime, .noAccessTime])),
    MountOption("norelatime", .taken),
    MountOption("nodiratime", .on(.noDirectoryAccessTime), isRoots: true),
    MountOption("diratime", .off([.noDirectoryAccessTime])),
    MountOption("nosymfollow", .on(.noSymlinkFollowing), isRoots: true),
    MountOption("symfollow", .off([.noSymlinkFollowing])),
    MountOption("sync", .on(.synchronous)),
    MountOption("async", .off([.synchronous])),
    MountOption("dirsync", .on(.synchronousDirectories)),
    MountOption("lazytime", .on(.lazyTimes), isRoots: true),
    MountOption("nolazytime", .off([.lazyTimes])),
    MountOption("nosupervisor", .on(.unsupervised)),
    MountOption("supervisor", .off([.unsupervised])),
    MountOption("xattr", .without(.noExtendedAttributes), value: .required),
    MountOption("writeback", .without(.noWriteback), value: .required),
  ]

  /// Mount(8)'s, systemd's and fstab's, and what holds anyway.
  private static let taken = [
    MountOption("defaults", .taken),
    MountOption("nosuid", .taken),
    MountOption("nodev", .taken),
    MountOption("nofail", .taken),
    MountOption("_netdev", .taken),
    MountOption("auto", .taken),
    MountOption("noauto", .taken),
    MountOption("user", .taken, value: .optional),
    MountOption("nouser", .taken),
    MountOption("users", .taken),
    MountOption("nousers", .taken),
    MountOption("owner", .taken),
    MountOption("noowner", .taken),
    MountOption("group", .taken),
    MountOption("nogroup", .taken),
    MountOption("comment", .taken, value: .required),
    MountOption("x-*", .taken, value: .optional),
    MountOption("X-*", .taken, value: .optional),
    MountOption("silent", .taken),
    MountOption("loud", .taken),
    MountOption("nomand", .taken),
    MountOption("noiversion", .taken),
  ]

  /// What a remount finds in the mount table and gives back.
  private static let handedBack = [
    MountOption("user_id", .taken, value: .required),
    MountOption("group_id", .taken, value: .required),
    MountOption("default_permissions", .taken),
    MountOption("allow_other", .taken),
    MountOption("fsname", .taken, value: .required),
    MountOption("subtype", .taken, value: .required),
    MountOption("rootmode", .taken, value: .required),
    MountOption("blksize", .taken, value: .required),
    MountOption("max_read", .taken, value: .required),
    MountOption("helper", .taken, value: .required),
    MountOption("uhelper", .taken, value: .required),
  ]

  private static let owner =
    "what a container holds belongs to its own user; 'sandboxfs install --owner USER' chooses whose"
  private static let label = "a view takes no security label at its mount; leave it out"
  private static let kind =
    "mount(8) does this by itself: mount the view first, and then use '--bind', '--move' or "
    + "'--make-...'"

  private static let refused = [
    MountOption("suid", .refused("views are always nosuid; leave it out")),
    MountOption("dev", .refused("views are always nodev; leave it out")),
    MountOption("uid", .refused(owner), value: .optional),
    MountOption("gid", .refused(owner), value: .optional),
    MountOption(
      "umask", .refused("modes are shown as they are stored; use chmod in the view"),
      value: .optional),
    MountOption("mand", .refused("Linux has no mandatory locks any more; leave it out")),
    MountOption("iversion", .refused("a view has no such counter; leave it out")),
    MountOption("context", .refused(label), value: .required),
    MountOption("fscontext", .refused(label), value: .required),
    MountOption("defcontext", .refused(label), value: .required),
    MountOption("rootcontext", .refused(label), value: .required),
    MountOption("bind", .refused(kind)), MountOption("rbind", .refused(kind)),
    MountOption("move", .refused(kind)), MountOption("private", .refused(kind)),
    MountOption("rprivate", .refused(kind)), MountOption("shared", .refused(kind)),
    MountOption("rshared", .refused(kind)), MountOption("slave", .refused(kind)),
    MountOption("rslave", .refused(kind)), MountOption("unbindable", .refused(kind)),
    MountOption("runbindable", .refused(kind)),
  ]
}
