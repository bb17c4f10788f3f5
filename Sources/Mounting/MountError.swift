// Why a view could not be mounted or unmounted: one line for a person, one number for mount(8).
internal import LinuxKit

/// A refusal or a failure, ready to be shown.
public struct MountError: Error, Equatable, Sendable {
  /// The exit statuses that mount(8) gives a meaning.
  public enum Kind: Int32, Sendable {
    /// What was asked for makes no sense, or is not allowed.
    case usage = 1
    /// The system could not: out of memory, no descriptors, no daemon program.
    case system = 2
    /// A fault of ours.
    case internalFault = 4
    /// A signal asked us to stop, and all is as it was before.
    case interrupted = 8
    /// The mount is there, but it could not be noted in libmount's table.
    case record = 16
    /// It was tried, and failed.
    case failed = 32
  }

  /// What it means for an exit status.
  public let kind: Kind
  /// What is wrong and what to do, on one line, without the program's name before it.
  public let message: String

  /// An error in words.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// The exit status that mount(8) documents for it.
  public var exitStatus: Int32 { kind.rawValue }

  /// A system call that failed while something was done.
  init(_ kind: Kind, _ what: String, _ cause: Errno) {
    self.init(kind, "\(what): \(cause.message)")
  }
}
