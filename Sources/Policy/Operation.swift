// The words of a decision: what is asked, and what the answer is.

/// A set of paths of a view that have the same decision.
///
/// Numbers are an engine's own: they mean nothing to another one, and a later policy is another
/// engine.
public struct ZoneID: Hashable, Sendable {
  /// The zone's index.
  public let rawValue: UInt32

  /// The zone with an index that an engine gave out.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The zone of the view's root.
  public static var root: Self { Self(rawValue: 0) }
}

/// What an entry of a directory is.
public enum NodeKind: UInt8, Sendable, CaseIterable {
  /// A directory.
  case directory
  /// A regular file.
  case file
  /// A symbolic link.
  case symlink
  /// A named pipe.
  case fifo
  /// A socket.
  case socket
  /// A block or character device.
  case device
}

/// What someone wants to do; named as the system calls' verbs.
public enum Operation: UInt8, Sendable, CaseIterable {
  /// Find a name.
  case lookup
  /// stat, access, listxattr.
  case readAttributes
  /// opendir, readdir.
  case list
  /// Open for reading, readlink, getxattr.
  case read
  /// Open for writing at any position, truncate, fallocate.
  case write
  /// A write that begins at the end.
  case append
  /// create, mkdir, mknod, symlink.
  case create
  /// unlink, rmdir.
  case remove
  /// chmod, chown, utimens, setxattr, removexattr.
  case setattr
  /// An open by execve.
  case exec
  /// One side of a rename: as remove.
  case rename
  /// The new name of a link: as create.
  case link
  /// One side of an exchange: as remove.
  case exchange

  /// The verb that people write.
  ///
  /// They are spelt out: the runtime looks through all types of a program before it tells a case's
  /// name, and the command line shows these whatever it does.
  public var name: String {
    switch self {
    case .lookup: "lookup"
    case .readAttributes: "stat"
    case .list: "list"
    case .read: "read"
    case .write: "write"
    case .append: "append"
    case .create: "create"
    case .remove: "remove"
    case .setattr: "setattr"
    case .exec: "exec"
    case .rename: "rename"
    case .link: "link"
    case .exchange: "exchange"
    }
  }

  /// The operation of a verb.
  public init?(name: String) {
    guard let operation = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = operation
  }

  /// Whether it takes two paths.
  public var takesTwoPaths: Bool { self == .rename || self == .link || self == .exchange }
}

/// Why not; each case is one errno.
public enum Denial: UInt8, Sendable, CaseIterable {
  /// ENOENT: for this view there is nothing.
  case notFound
  /// EROFS: the bundle never changes.
  case readOnly
  /// EACCES: a rule refuses.
  case accessDenied
  /// EPERM: what no rule of this place could allow.
  case notPermitted
  /// EXDEV: move it by copying.
  case crossZone

  /// The errno's name.
  public var errnoName: String {
    switch self {
    case .notFound: "ENOENT"
    case .readOnly: "EROFS"
    case .accessDenied: "EACCES"
    case .notPermitted: "EPERM"
    case .crossZone: "EXDEV"
    }
  }
}

/// One line of a profile, or a rule that is built in.
public struct RuleID: Hashable, Sendable {
  /// The rule's index in the order of reading; built-in rules are at the end of the range.
  public let rawValue: UInt32

  /// The rule with an index that an engine gave out.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Where no rule says anything, nothing is granted and nothing is hidden.
  public static var unset: Self { Self(rawValue: .max) }
  /// Structural entries stay.
  public static var structural: Self { Self(rawValue: .max - 1) }
  /// The bundle never changes.
  public static var bundle: Self { Self(rawValue: .max - 2) }
  /// No device nodes.
  public static var device: Self { Self(rawValue: .max - 3) }
  /// What lies at the other path is under other rules.
  public static var zones: Self { Self(rawValue: .max - 4) }
  /// The view has more zones than are kept, so what lies deeper is closed.
  public static var zoneLimit: Self { Self(rawValue: .max - 5) }

  /// What is sealed is as it was sealed, or not there for anyone.
  public static var seal: Self { Self(rawValue: .max - 6) }

  /// The limit that the container's record sets.
  public static var recordLimit: Self { Self(rawValue: .max - 7) }

  /// Allowed, and written down since it goes beyond the soft limit of the container's record.
  public static var softLimit: Self { Self(rawValue: .max - 8) }
  /// Allowed, and noted: what was written under a name of a property list is none.
  public static var propertyList: Self { Self(rawValue: .max - 9) }
  /// Allowed, and noted: what was written under a name of a property list was not looked at.
  public static var unreadPropertyList: Self { Self(rawValue: .max - 10) }

  static let builtIn: [(rule: Self, name: String)] = [
    (unset, "built-in:unset"),
    (structural, "built-in:structural"),
    (bundle, "built-in:bundle"),
    (device, "built-in:device"),
    (zones, "built-in:zones"),
    (zoneLimit, "built-in:zone-limit"),
    (seal, "built-in:seal"),
    (recordLimit, "built-in:limit"),
    (softLimit, "built-in:soft-limit"),
    (propertyList, "built-in:property-list"),
    (unreadPropertyList, "built-in:property-list-unread"),
  ]
}

/// The answer to one operation.
public struct Verdict: Hashable, Sendable {
  /// Why it is refused; nil if it is allowed.
  public let denial: Denial?
  /// The rule that decided.
  public let rule: RuleID
  /// The attribute that decided; nil where none could have changed the answer.
  public let attribute: Attribute?

  /// Whether it is allowed.
  @inlinable
  public var isAllowed: Bool { denial == nil }

  /// The answer about what no path leads to any more, and so no rule speaks of: it is used by those
  /// who have it open, and never executed.
  public static func withoutPath(_ operation: Operation) -> Self {
    Self(denial: operation == .exec ? .accessDenied : nil, rule: .unset, attribute: nil)
  }
}

/// What is renamed or exchanged.
public struct RenamedEntry: Sendable {
  /// The entry's own zone.
  public var zone: ZoneID
  /// What it is.
  public var kind: NodeKind
  /// Whether it has other names.
  public var hasSeveralLinks: Bool
  /// Whether someone has it open.
  public var isOpen: Bool
  /// Whether someone has it open for writing.
  public var isOpenForWriting: Bool

  /// An entry with what is known of it.
  public init(
    zone: ZoneID, kind: NodeKind, hasSeveralLinks: Bool = false, isOpen: Bool = false,
    isOpenForWriting: Bool = false
  ) {
    self.zone = zone
    self.kind = kind
    self.hasSeveralLinks = hasSeveralLinks
    self.isOpen = isOpen
    self.isOpenForWriting = isOpenForWriting
  }
}

/// Where to something is renamed.
public struct RenameTarget: Sendable {
  /// The zone of the new path itself.
  public var zone: ZoneID
  /// What is there and would be replaced; nil if nothing is.
  public var existing: NodeKind?

  /// A place with what is there.
  public init(zone: ZoneID, existing: NodeKind?) {
    self.zone = zone
    self.existing = existing
  }
}
