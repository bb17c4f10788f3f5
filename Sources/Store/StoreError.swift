// Why the store did not do what it was asked for: one line for a person.
internal import LinuxKit

/// A refusal or a failure, ready to be shown.
public struct StoreError: Error, Equatable, Sendable {
  /// What sort of failure it is.
  public enum Kind: Sendable {
    /// It was asked for in a way that makes no sense.
    case usage
    /// There is no such store or container.
    case notFound
    /// The container is in use.
    case inUse
    /// It was tried, and failed, or is refused.
    case failed
  }

  /// What sort of failure it is.
  public let kind: Kind
  /// What is wrong and what to do, on one line, without the program's name before it.
  public let message: String

  /// An error in words.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// 2 for wrong usage, 1 for everything else.
  public var exitStatus: Int32 { kind == .usage ? 2 : 1 }

  /// A system call that failed while something was done.
  init(_ what: String, _ cause: Errno) {
    let reason =
      cause == .crossDevice ? "it is a mount point, and those are not crossed" : cause.message
    self.init(.failed, "\(what): \(reason)")
  }
}

/// Runs what may fail with an errno, and says what was done when it did.
func saying<Result: ~Copyable>(
  _ what: @autoclosure () -> String, _ body: () throws(Errno) -> Result
) throws(StoreError) -> Result {
  do throws(Errno) {
    return try body()
  } catch {
    throw StoreError(what(), error)
  }
}

/// Runs what may fail with an errno; nil for those that are expected, and says the others.
func allowing<Result: ~Copyable>(
  _ expected: Set<Errno>, _ what: @autoclosure () -> String, _ body: () throws(Errno) -> Result
) throws(StoreError) -> Result? {
  do throws(Errno) {
    return try body()
  } catch {
    if expected.contains(error) { return nil }
    throw StoreError(what(), error)
  }
}
