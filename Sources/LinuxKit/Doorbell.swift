// Waking one thread from many, without a clock: a lock, a condition and a flag.
internal import Glibc

/// A bell that many may ring and one waits for.
///
/// Rings before the wait are not lost.
public final class Doorbell: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  @exclusivity(unchecked) private var isRung = false

  /// A bell that has not been rung.
  public init() {
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Wakes the one who waits, or lets the next wait pass at once.
  public func ring() {
    pthread_mutex_lock(mutex)
    isRung = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits until it is rung.
  public func wait() {
    pthread_mutex_lock(mutex)
    while !isRung { pthread_cond_wait(condition, mutex) }
    isRung = false
    pthread_mutex_unlock(mutex)
  }
}
