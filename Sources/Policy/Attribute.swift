// The attributes: what a rule can say about a path.

/// One attribute of a profile.
///
/// Those up to `audit` are switches; the others carry a value.
public enum Attribute: UInt8, Sendable, CaseIterable {
  /// May be opened for reading and listed.
  case read
  /// May be changed, created and removed.
  case write
  /// May be executed.
  case exec
  /// Existing bytes are never changed or removed.
  case append
  /// Absent: not found, not listed, not counted.
  case hidden
  /// Covered by the bundle's seal.
  case sealed
  /// Goes into a backup.
  case backup
  /// Allowed operations are logged too; taken away, refusals are not.
  case audit
  /// When it is removed by us.
  case purge
  /// How much may lie below.
  case quota
  /// Which names may be created there.
  case only

  /// How a profile spells it.
  public var name: String { String(describing: self) }

  /// Whether it carries a value.
  public var hasValue: Bool { rawValue > Self.audit.rawValue }
}

/// A set of attributes.
struct AttributeSet: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  init(rawValue: UInt16) { self.rawValue = rawValue }

  init(_ attribute: Attribute) { rawValue = 1 << UInt16(attribute.rawValue) }

  static let read = Self(.read)
  static let write = Self(.write)
  static let exec = Self(.exec)
  static let append = Self(.append)
  static let hidden = Self(.hidden)
  static let sealed = Self(.sealed)
  static let backup = Self(.backup)
  static let audit = Self(.audit)
  static let purge = Self(.purge)
  static let quota = Self(.quota)
  static let only = Self(.only)

  /// What decides whether an operation is allowed; the others only say what becomes of the data.
  static let conduct: Self = [.read, .write, .exec, .append, .hidden, .sealed, .quota, .only]

  func contains(_ attribute: Attribute) -> Bool { contains(Self(attribute)) }
}

/// When what lies at a path is removed by us.
public struct PurgeOccasions: OptionSet, Hashable, Sendable {
  /// One bit for each occasion.
  public let rawValue: UInt8

  /// A set of these bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// After the app's last process has exited.
  public static let exit = Self(rawValue: 1)
  /// When the store runs low on space.
  public static let pressure = Self(rawValue: 2)
  /// When a backup is restored in full.
  public static let restore = Self(rawValue: 4)
}

/// How much may lie below a path.
public struct Quota: Hashable, Sendable {
  /// The most bytes.
  public var byteCount: UInt64
  /// The most entries; nil if they are not counted.
  public var entryCount: UInt64?

  /// A quota of bytes, and perhaps of entries.
  public init(byteCount: UInt64, entryCount: UInt64? = nil) {
    self.byteCount = byteCount
    self.entryCount = entryCount
  }

  /// The smaller one of each figure.
  func smallest(_ other: Self) -> Self {
    let entries = [entryCount, other.entryCount].compactMap(\.self).min()
    return Self(byteCount: min(byteCount, other.byteCount), entryCount: entries)
  }
}

extension Quota {
  /// A number of bytes; K, M and G are powers of 1024.
  public static func byteCount(_ text: [UInt8]) -> UInt64? {
    let shift: UInt64
    switch text.last {
    case UInt8(ascii: "K"): shift = 10
    case UInt8(ascii: "M"): shift = 20
    case UInt8(ascii: "G"): shift = 30
    default: return number(text[...])
    }
    guard let count = number(text.dropLast()), count <= UInt64.max >> shift else { return nil }
    return count << shift
  }

  /// A whole number.
  public static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return UInt64(String(decoding: digits, as: UTF8.self))
  }
}

/// What is logged about a path.
public enum AuditMode: UInt8, Sendable {
  /// What is refused: where no rule says anything.
  case denials
  /// What is allowed, too.
  case everything
  /// Nothing: it is refused in silence.
  case silent
}

/// What the policy says about one path, for those who keep data rather than decide about it.
public struct ZoneAttributes: Hashable, Sendable {
  /// May be opened for reading and listed.
  public var read: Bool
  /// May be changed, created and removed.
  public var write: Bool
  /// May be executed.
  public var exec: Bool
  /// Existing bytes are never changed or removed.
  public var append: Bool
  /// Absent: not found, not listed, not counted.
  public var hidden: Bool
  /// Covered by the bundle's seal.
  public var sealed: Bool
  /// Goes into a backup.
  public var backup: Bool
  /// What is logged.
  public var audit: AuditMode
  /// When it is removed by us.
  public var purge: PurgeOccasions
  /// How much may lie below.
  public var quota: Quota?
  /// Whether `only` limits the names that may be created in it.
  public var limitsNames: Bool
  /// Whether this very path is structural: it cannot be removed, renamed, replaced or re-typed.
  public var isStructural: Bool
  /// Whether it is the bundle or lies in it.
  public var isBundle: Bool
}
