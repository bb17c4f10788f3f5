// What whoever starts a program may choose.
public import Containers

/// The choices of one run.
public struct RunOptions: Sendable {
  /// What the app may reach.
  public var allowed: Set<Allowance> = []
  /// What is lent to it for this once, besides what its record says.
  public var lent: [Grant] = []
  /// Places that no app is lent, nor what they hold or lie in: the store and the settings.
  public var privatePlaces: [[UInt8]] = []
  /// The variables of whoever starts it, of which it gets those that the table names.
  public var environment: [[UInt8]]
  /// The store that `sandboxfs run APP` means without being told.
  ///
  /// The view of a container elsewhere gets a name of its own, since it may have the same
  /// identifier.
  public var defaultStore: [UInt8]?

  /// What its environment is made by.
  public var table = EnvironmentTable.standard
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
