// Why a program did not run, in one line for a person and one number for a shell.

/// A refusal or a failure of ours, ready to be shown.
public struct LaunchError: Error, Equatable, Sendable {
  /// The exit statuses that do not come from the program.
  public enum Kind: Int32, Sendable {
    /// We could not run it, or could not go on.
    case ours = 125
    /// It is there and cannot be executed.
    case notExecutable = 126
    /// It is not there.
    case notFound = 127
  }

  /// Which of them it is.
  public let kind: Kind
  /// What is wrong and what to do, on one line, without the program's name before it.
  public let message: String

  /// An error in words.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The container was changed while its view was being mounted: who opens it again and tries once
  /// more is likely to succeed.
  public static let outdated = LaunchError(
    .ours, "the app was updated while its view was being mounted; run it again")

  /// The exit status that says it.
  public var exitStatus: Int32 { kind.rawValue }
}
