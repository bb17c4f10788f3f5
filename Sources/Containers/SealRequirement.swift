// What a seal must be worth for a bundle to be installed and launched.

/// What is asked of a bundle's seal.
public enum SealRequirement: String, Sendable, CaseIterable, Comparable {
  /// Nothing, as long as it was not changed since it was sealed.
  case any
  /// A seal, whoever made it.
  case adHoc = "adhoc"
  /// A seal that is signed by a trusted key.
  case signed

  /// Whether a bundle in this state is good enough.
  ///
  /// One that was modified never is.
  public func accepts(_ state: ContainerRecord.SealState) -> Bool {
    switch state {
    case .valid: true
    case .adHoc, .untrusted: self != .signed
    case .unsigned, .dataOnly: self == .any
    case .modified: false
    }
  }

  /// By how much is asked.
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .any: 0
    case .adHoc: 1
    case .signed: 2
    }
  }
}
