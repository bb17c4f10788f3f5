// Where rules come from: the texts of profiles, and their order.

/// The text of one profile.
public struct ProfileSource: Hashable, Sendable {
  /// The layer that a profile is; a later one is read later.
  public enum Rank: UInt8, Sendable, CaseIterable {
    /// The shipped profile, or the one of its name in the administrator's directory.
    case shipped = 0
    /// `Name.app/sandbox.profile`: may only take away; later layers may give back.
    case bundle = 1
    /// The administrator's.
    case administrator = 2
    /// The container's own.
    case container = 3
    /// `limits.profile`: may only take away, and nobody gives back.
    case limits = 4
    /// No layer: read only where a profile includes it by name.
    case included = 5

    /// Whether its rules can only take away.
    var onlyTakesAway: Bool { self == .bundle || self == .limits }

    /// Whether it is the administrator's word about what an app may do, which nobody learns away.
    var isAdministrators: Bool { self == .administrator || self == .limits }

    /// How long its text may be; an app's own may not fill the host's memory.
    var maximumByteCount: Int { self == .bundle ? 1 << 18 : 1 << 22 }

    /// What people call it.
    public var name: String { String(describing: self) }
  }

  /// Which layer it is.
  public var rank: Rank
  /// The name that errors and `explain` show, such as `default.profile`.
  public var name: [UInt8]
  /// The text.
  public var text: [UInt8]

  /// A profile with its text.
  public init(rank: Rank, name: [UInt8], text: [UInt8]) {
    self.rank = rank
    self.name = name
    self.text = text
  }
}
