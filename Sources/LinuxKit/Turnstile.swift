// Passing one by one in an order that was fixed before.

/// Where each of many threads waits until it is its turn.
public final class Turnstile: @unchecked Sendable {
  private let monitor = Monitor()
  @exclusivity(unchecked) private var next = 0

  /// A turnstile through which number 0 passes first.
  public init() {}

  /// Runs `body` when all smaller numbers have passed; each number must pass once.
  public func pass(_ number: Int, _ body: () -> Void) {
    monitor.lock()
    while next != number { monitor.wait() }
    monitor.unlock()
    body()
    monitor.lock()
    next = number + 1
    monitor.wakeAll()
    monitor.unlock()
  }
}
