// How a view is to be mounted, and how one is to be unmounted.
internal import LinuxKit

/// How a view is to be mounted, beyond what always holds.
public struct MountSettings: Equatable, Sendable {
  /// Nothing in the view can be changed.
  public var readOnly = false
  /// Nothing in the view can be executed: not the bundle either.
  public var noExecution = false
  /// Reading changes no time of access.
  public var noAccessTime = false
  /// Reading a directory changes no time of access.
  public var noDirectoryAccessTime = false
  /// Each read changes the time of access.
  public var strictAccessTime = false
  /// Symbolic links in the view are not followed.
  public var noSymlinkFollowing = false
  /// Each write is on the disk before it returns.
  public var synchronous = false
  /// Each change of a directory is on the disk before it returns.
  public var synchronousDirectories = false
  /// Times reach the disk late.
  public var lazyTimes = false
  /// Nobody watches over the process that serves: if it dies, the view is dead.
  public var unsupervised = false
  /// There are no extended attributes, and the kernel asks for none.
  public var noExtendedAttributes = false
  /// What is written goes to the daemon at once, where it has to go there at all.
  public var noWriteback = false
  /// umount(8) need not know of it: whoever mounts it unmounts it.
  public var isPrivate = false
  /// What mountinfo shows as the source; nil for the identifier.
  public var source: [UInt8]?
  /// The daemon's program; nil for the installed one.
  public var daemon: [UInt8]?
  /// How long the daemon may take until it serves, in milliseconds.
  public var patienceMilliseconds: Int64 = 30_000

  /// Whether rules let something be executed besides the bundle, as its daemon says.
  var executesByRules = false

  /// The default settings.
  public init() {}

  /// What only mount(2) can give a whole file system.
  var fileSystemFlags: MountFlags {
    var flags: MountFlags = []
    if synchronous { flags.insert(.synchronous) }
    if synchronousDirectories { flags.insert(.synchronousDirectories) }
    if lazyTimes { flags.insert(.lazyTimes) }
    return flags
  }

  /// What fusermount3 is asked for: it makes the only mount that there will be.
  var userFlags: MountFlags {
    var flags = fileSystemFlags
    if readOnly { flags.insert(.readOnly) }
    if noExecution { flags.insert(.noExecution) }
    if noAccessTime { flags.insert(.noAccessTime) }
    return flags
  }

  /// What the view's mount gets for itself, when we make it.
  var attributes: MountAttributes {
    var attributes: MountAttributes = [.noSetID, .noDevices]
    if noExecution || !executesByRules { attributes.insert(.noExec) }
    if readOnly { attributes.insert(.readOnly) }
    if noAccessTime { attributes.insert(.noAccessTime) }
    if noDirectoryAccessTime { attributes.insert(.noDirectoryAccessTime) }
    if strictAccessTime { attributes.insert(.strictAccessTime) }
    if noSymlinkFollowing { attributes.insert(.noSymlinkFollowing) }
    return attributes
  }

  /// What of a mount's attributes is theirs to decide.
  static let decided: MountAttributes = [
    .readOnly, .noSetID, .noDevices, .noExec, .accessTimes, .noDirectoryAccessTime,
    .noSymlinkFollowing,
  ]

  /// What the bundle's mount gets: it is never writable, and executable if anything is.
  var bundleAttributes: MountAttributes {
    noExecution
      ? [.readOnly, .noSetID, .noDevices, .noExec]
      : [
        .readOnly, .noSetID, .noDevices,
      ]
  }
}

/// How a view is to be unmounted.
public struct UnmountSettings: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int

  /// Settings by their bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// At once from the tree of names, and in truth when nobody uses it any more.
  public static let lazy = Self(rawValue: 1)
  /// Cuts the view off from its daemon first: what is under way in it fails.
  public static let force = Self(rawValue: 2)
  /// Only say whether it could be done.
  public static let pretend = Self(rawValue: 4)
  /// It was mounted as a private one, of which umount(8) does not know.
  public static let isPrivate = Self(rawValue: 16)
  /// What was written is on the disk afterwards, as it is of a disk that is unmounted.
  public static let synchronized = Self(rawValue: 8)
}
