// Telling the kernel what it must ask again, from a thread that serves no request and holds no
// lock: a notification waits for any operation in the same directory.
import FuseKit
import LinuxKit
import Synchronization

/// Sends notifications one after the other.
final class Notifier: Sendable {
  private let session: Session
  private let bell = Doorbell()
  private let state = Mutex<(queue: [Notice], isBusy: Bool)>(([], false))

  /// What the kernel is to forget.
  enum Notice: Sendable {
    /// The listing of a directory, or where a link points.
    case listing(NodeID)
    /// A name in a directory.
    case name([UInt8], NodeID)
  }

  init(_ session: Session) { self.session = session }

  /// Notifies on a thread of its own for as long as the process lives.
  func start() throws(Errno) {
    try DaemonProcess.startThread {
      while true {
        self.bell.wait()
        while let notice = self.next() { self.send(notice) }
      }
    }
  }

  private func next() -> Notice? {
    state.withLock { state in
      let notice = state.queue.popLast()
      state.isBusy = notice != nil
      return notice
    }
  }

  private func send(_ notice: Notice) {
    switch notice {
    case .listing(let directory): session.invalidate(directory)
    case .name(let name, let directory): session.invalidate(name, in: directory)
    }
  }

  /// Sends notices, and waits for it; false if it goes on after `milliseconds`.
  func send(_ notices: [Notice], milliseconds: Int64) -> Bool {
    state.withLock { $0.queue += notices }
    bell.ring()
    let deadline = monotonicMilliseconds() + milliseconds
    while monotonicMilliseconds() < deadline {
      if state.withLock({ $0.queue.isEmpty && !$0.isBusy }) { return true }
      Pause.microseconds(1000)
    }
    return false
  }
}
