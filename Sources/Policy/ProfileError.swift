// What is wrong with a profile, said so that it can be put right.

import Paths

/// One mistake in a profile.
public struct ProfileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The profile's name.
  public let file: [UInt8]
  /// The line, from 1.
  public let line: Int
  /// The byte in the line, from 1.
  public let column: Int
  /// The offending text.
  public let text: [UInt8]
  /// What should have stood there.
  public let expected: String

  /// Such as `file:line:column: 'text': expected …`.
  public var description: String {
    let place = "\(Presentation.escaped(file)):\(line):\(column)"
    let quote = text.isEmpty ? "end of line" : "'\(Presentation.escaped(text))'"
    return "\(place): \(quote): expected \(expected)"
  }
}

/// All mistakes of some profiles, in the order of reading; never empty.
public struct ProfileErrors: Error, Hashable, Sendable, CustomStringConvertible {
  /// The mistakes.
  public let errors: [ProfileError]

  /// One line for each.
  public var description: String { errors.map(\.description).joined(separator: "\n") }
}
