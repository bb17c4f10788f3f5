// Doing many pieces of work on all processors, without an executor that would outlive it.
internal import Glibc
internal import Synchronization

/// Threads that share a number of pieces of work.
public enum Workers {
  /// How many threads the machine can run at once for this process.
  public static var processorCount: Int {
    var set = cpu_set_t()
    guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return 1 }
    let count = withUnsafeBytes(of: &set) { bytes in
      bytes.reduce(0) { $0 + $1.nonzeroBitCount }
    }
    return max(1, count)
  }

  /// Runs `work` for each number below `count`, on as many threads as there are processors.
  ///
  /// Returns when all is done. Where threads can't be made, the caller's does it all.
  public static func share(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
    let job = Job(count: count, work: work)
    let helpers = min(count, processorCount) - 1
    var threads: [pthread_t] = []
    for _ in 0..<max(0, helpers) {
      var thread = pthread_t()
      let context = Unmanaged.passRetained(job)
      if pthread_create(&thread, nil, takeShare, context.toOpaque()) == 0 {
        threads.append(thread)
      } else {
        context.release()
      }
    }
    job.takeShare()
    for thread in threads { pthread_join(thread, nil) }
  }

  /// Runs `work` on a thread of its own, and `watch` meanwhile on the caller's every 100 ms.
  public static func watching(_ watch: () -> Void, _ work: @escaping @Sendable () -> Void) {
    let isDone = Flag()
    let job = Job(count: 1) { _ in
      work()
      isDone.set()
    }
    var thread = pthread_t()
    let context = Unmanaged.passRetained(job)
    guard pthread_create(&thread, nil, takeShare, context.toOpaque()) == 0 else {
      context.release()
      return work()
    }
    var waited = 0
    while !isDone.isSet {
      usleep(5_000)
      waited += 5
      if waited % 100 == 0 { watch() }
    }
    pthread_join(thread, nil)
  }
}

/// Something that happens once.
private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)

  func set() { value.store(true, ordering: .releasing) }
  var isSet: Bool { value.load(ordering: .acquiring) }
}

/// The pieces that are left.
private final class Job: Sendable {
  private let next = Atomic<Int>(0)
  private let count: Int
  private let work: @Sendable (Int) -> Void

  init(count: Int, work: @escaping @Sendable (Int) -> Void) {
    self.count = count
    self.work = work
  }

  func takeShare() {
    while true {
      let number = next.add(1, ordering: .relaxed).oldValue
      if number >= count { return }
      work(number)
    }
  }
}

private func takeShare(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Job>.fromOpaque(context).takeRetainedValue().takeShare()
  return nil
}
