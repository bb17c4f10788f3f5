// The same work on all processors at once.
internal import Synchronization

/// Threads that come and go with one piece of work.
public enum Parallel {
  /// Runs `body` on so many threads, the calling one included, and waits for all of them.
  ///
  /// Where no more threads can be had, fewer do the work: at least the calling one.
  public static func run(threads count: Int, _ body: @escaping @Sendable () -> Void) {
    let crew = Crew()
    for _ in 1..<max(1, count) {
      crew.left.add(1, ordering: .relaxed)
      do throws(Errno) {
        try DaemonProcess.startThread {
          body()
          crew.leave()
        }
      } catch {
        crew.leave()
      }
    }
    body()
    crew.leave()
    crew.allAreGone.wait()
  }

  private final class Crew: Sendable {
    let left = Atomic<Int>(1)
    let allAreGone = Doorbell()

    func leave() {
      if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { allAreGone.ring() }
    }
  }
}
