// What whoever starts a program may choose.

/// Something outside of its container that an app is allowed to reach, by name.
public enum Allowance: String, Sendable, CaseIterable {
  /// The X server: every client of it can watch and drive all the others.
  case x11
  /// User namespaces of its own, in which it can mount file systems of its own: for programs that
  /// bring a sandbox with them.
  ///
  /// What such a program writes there can be executed; everything else holds.
  case userns
}

/// The choices of one run.
public struct RunOptions: Sendable {
  /// What the app may reach.
  public var allowed: Set<Allowance> = []
  /// The variables of whoever starts it, of which it gets those that the table names.
  public var environment: [[UInt8]]
  /// The store that `sandboxfs run APP` means without being told.
  ///
  /// The view of a container elsewhere gets a name of its own, since it may have the same
  /// identifier.
  public var defaultStore: [UInt8]?

  /// Variables that it gets besides, as `NAME=VALUE`.
  public var moreEnvironment: [[UInt8]] = []
  /// The working directory inside; a relative one is below the home, which is the usual one.
  public var directory: [UInt8] = []
  /// A descriptor of the caller's to which is told who was started and how it ended, as JSON.
  public var statusFile: CInt?

  /// The plain choices.
  public init(environment: [[UInt8]], defaultStore: [UInt8]?) {
    self.environment = environment
    self.defaultStore = defaultStore
  }
}

/// How a run ended.
public struct RunOutcome: Equatable, Sendable {
  /// The program's exit status, or 128 and the number of the signal that ended it.
  public let status: Int32
  /// What could not be tidied up behind it, a line each for standard error.
  public let remarks: [String]
}
