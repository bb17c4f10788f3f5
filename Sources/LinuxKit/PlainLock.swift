// A mutex in memory of the caller's: for state that lives in a mapped arena.
internal import Glibc

/// A plain mutex at a fixed address.
///
/// No system call that may block is ever made while it is held.
public struct PlainLock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// The bytes that it needs, aligned to 16.
  public static let byteCount = 64

  /// Initialises the mutex at `address`, which nobody else uses yet.
  public init(at address: UnsafeMutableRawPointer) {
    mutex = address.bindMemory(to: pthread_mutex_t.self, capacity: 1)
    pthread_mutex_init(mutex, nil)
  }

  /// Makes it a free one, whoever held it: the process that did is dead.
  public func reset() { pthread_mutex_init(mutex, nil) }

  /// Waits for the lock.
  @inline(__always)
  public func lock() { pthread_mutex_lock(mutex) }

  /// Lets the next one in.
  @inline(__always)
  public func unlock() { pthread_mutex_unlock(mutex) }
}
