// Why bytes are not a property list, and where.

/// A mistake in a property list, with its place.
public struct PropertyListError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Where a mistake is.
  public enum Place: Equatable, Sendable {
    /// In a text: line and column in bytes, both from 1.
    case text(line: Int, column: Int)
    /// In a binary list: how many bytes stand before it.
    case byte(Int)
  }

  /// Where it is.
  public let place: Place
  /// What is wrong there, or what was expected.
  public let message: String

  /// A mistake at a place.
  public init(at place: Place, _ message: String) {
    self.place = place
    self.message = message
  }

  /// As people write it: `45:12: expected ';'`.
  public var description: String {
    switch place {
    case .text(let line, let column): "\(line):\(column): \(message)"
    case .byte(let offset): "byte \(offset): \(message)"
    }
  }
}
