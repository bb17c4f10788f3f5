// Why a text is not a property list, and where.

/// A mistake in a property list, with its place.
public struct PropertyListError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The line, from 1.
  public let line: Int
  /// The column in bytes, from 1.
  public let column: Int
  /// What is wrong there, or what was expected.
  public let message: String

  /// As people write it: `45:12: expected ';'`.
  public var description: String { "\(line):\(column): \(message)" }
}
