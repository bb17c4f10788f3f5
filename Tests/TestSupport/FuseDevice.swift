// /dev/fuse, which a machine without udev keeps from ordinary users.

import Glibc
import Synchronization

/// Lets tests for ordinary users open /dev/fuse.
public enum FuseDevice {
  private static let path = "/dev/fuse"
  private struct Loan {
    var borrowers = 0
    var ownMode: mode_t = 0
    /// The device, locked: who else runs these tests on the machine waits for its mode.
    var lock: CInt = -1
  }
  private static let loan = Mutex(Loan())

  /// Why an ordinary user cannot be let in; nil if it can be done.
  public static let obstacle: String? = {
    var status = stat()
    guard stat(path, &status) == 0 else { return "there is no /dev/fuse" }
    guard getuid() == 0 || status.st_mode & 0o006 == 0o006 else {
      return "/dev/fuse is closed to ordinary users, and only root can open it to them"
    }
    // The same mode again: a read-only /dev says so here, before any test counts on it.
    guard getuid() != 0 || chmod(path, status.st_mode & 0o7777) == 0 else {
      return "/dev/fuse is closed to ordinary users, and its mode can't be changed"
    }
    return nil
  }()

  /// Runs `body` while every user may open /dev/fuse, and puts the mode back afterwards.
  public static func withOpenToUsers<Result>(_ body: () throws -> Result) throws -> Result {
    if let obstacle { throw ProgramFailure(description: obstacle) }
    loan.withLock { loan in
      loan.borrowers += 1
      guard loan.borrowers == 1, getuid() == 0 else { return }
      loan.lock = open(path, O_RDONLY | O_CLOEXEC)
      flock(loan.lock, LOCK_EX)
      var status = stat()
      stat(path, &status)
      loan.ownMode = status.st_mode & 0o7777
      chmod(path, 0o666)
    }
    defer {
      loan.withLock { loan in
        loan.borrowers -= 1
        guard loan.borrowers == 0, getuid() == 0 else { return }
        chmod(path, loan.ownMode)
        close(loan.lock)
      }
    }
    return try body()
  }
}
