// A profile that was read: rules in their order, and what it expects of them.

public import Paths

/// One line that says something about paths.
struct ParsedRule: Sendable {
  var pattern: Pattern
  var place: SourcePlace
  /// What it says anything about.
  var assigned: AttributeSet = []
  /// Which of the switches it turns on.
  var granted: AttributeSet = []
  var purge: PurgeOccasions = []
  var quota: Quota?
  /// nil where it says nothing, or `-only`.
  var only: [Glob]?
}

/// A profile that was read.
struct ProfileFile: Sendable {
  enum Origin: Hashable, Sendable {
    /// The source of that index among those that the engine was made of.
    case source(Int)
    /// The shipped one of that index.
    case shipped(Int)
  }

  /// Its name, as it is shown.
  var name: [UInt8]
  var origin: Origin
}

/// Where a line stands.
struct SourcePlace: Hashable, Sendable {
  /// The layer whose reading came to this line.
  var rank: ProfileSource.Rank
  /// An index into the profiles' names.
  var file: Int
  /// The line, from 1.
  var line: Int
}

/// A line `@expect`: what a profile's author wants to stay true.
public struct Expectation: Hashable, Sendable {
  /// Whether the operation should be allowed.
  public let isAllowed: Bool
  /// The operation.
  public let operation: Operation
  /// What it is done to; a slash at the end means a directory.
  public let path: ViewPath
  /// The second path of rename, link and exchange.
  public let secondPath: ViewPath?
  /// The profile's name.
  public let file: [UInt8]
  /// The line, from 1.
  public let line: Int
}

/// What the profiles of an engine say, in the order of reading.
struct Profile: Sendable {
  /// The profiles that were read, once for each time.
  var files: [ProfileFile] = []
  var rules: [ParsedRule] = []
  var expectations: [Expectation] = []
}
