// Waking one thread from many, without a clock.

/// A bell that many may ring and one waits for.
///
/// Rings before the wait are not lost.
public final class Doorbell: @unchecked Sendable {
  private let monitor = Monitor()
  @exclusivity(unchecked) private var isRung = false

  /// A bell that has not been rung.
  public init() {}

  /// Wakes the one who waits, or lets the next wait pass at once.
  public func ring() {
    monitor.lock()
    isRung = true
    monitor.wakeOne()
    monitor.unlock()
  }

  /// Waits until it is rung.
  public func wait() {
    monitor.lock()
    while !isRung { monitor.wait() }
    isRung = false
    monitor.unlock()
  }
}
