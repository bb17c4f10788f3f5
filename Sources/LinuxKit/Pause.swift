// Waiting a moment for another thread, without a clock in sight.
internal import Glibc

/// Short waits.
public enum Pause {
  /// Sleeps for about so long.
  public static func microseconds(_ count: UInt32) { usleep(count) }

  /// Lets other threads run; for longer with each further attempt.
  public static func yield(_ attempt: Int) {
    if attempt < 64 {
      sched_yield()
    } else {
      usleep(100)
    }
  }
}
