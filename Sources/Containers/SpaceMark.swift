// How much room there should be on a file system, as people say it.

internal import Policy

/// A part of a file system: so many bytes, or a share of it.
public enum SpaceMark: Equatable, Sendable {
  /// So many bytes.
  case bytes(UInt64)
  /// So many hundredths of the whole.
  case percent(UInt64)

  /// What is expected where a mark stands, for a line about a mistake.
  public static let expectation = "a size such as 500M or 2G, or a share such as 5%"

  /// Reads a mark, such as `2G` or `5%`; nil if it is none.
  public init?(_ text: [UInt8]) {
    if text.last == UInt8(ascii: "%") {
      guard let share = Quota.byteCount(text.dropLast()), share <= 100 else { return nil }
      self = .percent(share)
    } else {
      guard let size = Quota.byteCount(text) else { return nil }
      self = .bytes(size)
    }
  }

  /// The mark in bytes, of a file system that has so many.
  public func byteCount(of whole: UInt64) -> UInt64 {
    switch self {
    case .bytes(let count): count
    case .percent(let share): whole / 100 * share + whole % 100 * share / 100
    }
  }
}
