// Passing one by one in an order that was fixed before: a lock, a condition and a number.
internal import Glibc

/// Where each of many threads waits until it is its turn.
public final class Turnstile: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  @exclusivity(unchecked) private var next = 0

  /// A turnstile through which number 0 passes first.
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

  /// Runs `body` when all smaller numbers have passed; each number must pass once.
  public func pass(_ number: Int, _ body: () -> Void) {
    pthread_mutex_lock(mutex)
    while next != number { pthread_cond_wait(condition, mutex) }
    pthread_mutex_unlock(mutex)
    body()
    pthread_mutex_lock(mutex)
    next = number + 1
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }
}
