// Waiting for something to become true that another thread makes true: a lock and a condition.
internal import Glibc

/// A lock whose holder can wait for others to change what it guards.
struct Monitor: ~Copyable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
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

  @inline(__always)
  func lock() { pthread_mutex_lock(mutex) }

  @inline(__always)
  func unlock() { pthread_mutex_unlock(mutex) }

  /// Under the lock, which is another's meanwhile; may return early.
  @inline(__always)
  func wait() { pthread_cond_wait(condition, mutex) }

  /// Wakes one who waits.
  @inline(__always)
  func wakeOne() { pthread_cond_signal(condition) }

  /// Wakes all who wait.
  @inline(__always)
  func wakeAll() { pthread_cond_broadcast(condition) }
}
