// Why a backup could not be made, read or restored: one line for a person.
internal import LinuxKit
internal import Paths

/// A refusal or a failure, ready to be shown.
public struct BackupError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong and what to do, on one line.
  public let description: String

  /// An error in words.
  public init(_ description: String) { self.description = description }

  /// A system call that failed while something was done.
  init(_ what: String, _ cause: Errno) { description = "\(what): \(cause.message)" }
}

/// Runs what may fail with an errno, and says what was done when it did.
func saying<Result: ~Copyable>(
  _ what: @autoclosure () -> String, _ body: () throws(Errno) -> Result
) throws(BackupError) -> Result {
  do throws(Errno) {
    return try body()
  } catch {
    throw BackupError(what(), error)
  }
}
