// What a backup is made of, and what it did.
internal import BackupFormat
public import Policy
public import Store

/// One app that is to be backed up.
public struct BackupSubject: Sendable {
  /// Its container.
  public let container: Container
  /// Its rules.
  public let policy: PolicyEngine

  /// An app with its rules.
  public init(container: Container, policy: PolicyEngine) {
    self.container = container
    self.policy = policy
  }

  /// The domain of its files.
  public var domain: String { BackupEntry.domain(of: "\(container.identifier)") }
}

/// What a backup did.
public struct BackupReport: Equatable, Sendable {
  /// How many files, links and directories it holds of the apps that were asked for.
  public var entryCount = 0
  /// How many files were copied.
  public var copiedCount = 0
  /// How many bytes were copied.
  public var copiedByteCount: Int64 = 0
  /// How many files had not changed.
  public var unchangedCount = 0
  /// The bytes of all files.
  public var byteCount: Int64 = 0
  /// Files that changed again and again while they were copied; what was saved may be torn.
  public var unstable: [[UInt8]] = []
  /// What has no place in the format: pipes, sockets and devices.
  public var leftOut: [[UInt8]] = []
  /// What lies deeper than a restore makes anything.
  public var tooDeep: [[UInt8]] = []
}
