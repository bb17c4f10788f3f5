// fsync(2), which may take as long as a disk likes: it must not keep threads from everyone else.
//
// One thread that serves may wait at a time, which costs nothing where one waits: there is one more
// of them than there are processors. What comes meanwhile waits in threads of its own, where the
// kernel asks again if the process dies over it: to bring a file to the disk twice is as good as
// once.
import FuseKit
import LinuxKit
import Synchronization

/// Those who wait for the disk.
final class DiskWaits: @unchecked Sendable {
  /// Beyond so many, threads that serve wait too: an app may ask as often as it likes.
  private static let threadLimit = 64

  /// Whether a request may outlive the thread that has read it; set before the first one.
  @exclusivity(unchecked) var mayDelegate = true
  private let waiting = Atomic<Int>(0)

  /// Brings an open file to the disk and answers; only its data if `dataOnly`.
  func synchronize(_ descriptor: CInt, dataOnly: Bool, _ reply: consuming Reply) {
    let others = waiting.wrappingAdd(1, ordering: .relaxed).oldValue
    if mayDelegate && others > 0 && others < DiskWaits.threadLimit {
      return delegate(descriptor, dataOnly: dataOnly, reply)
    }
    finish(descriptor, dataOnly: dataOnly, reply)
  }

  private func finish(_ descriptor: CInt, dataOnly: Bool, _ reply: consuming Reply) {
    do throws(Errno) {
      defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
      try FileIO.synchronize(descriptor, dataOnly: dataOnly)
    } catch {
      return reply.fail(error)
    }
    reply.succeed()
  }

  /// Has a thread wait that serves nothing else.
  @inline(never)
  private func delegate(_ descriptor: CInt, dataOnly: Bool, _ reply: consuming Reply) {
    // The thread's own: what the handle has may be closed when the request has been answered.
    guard let copy = (try? Descriptor.duplicate(descriptor))?.release() else {
      return finish(descriptor, dataOnly: dataOnly, reply)
    }
    let pending = reply.handOver()
    do throws(Errno) {
      try DaemonProcess.startThread { [self] in
        let own = Descriptor(owning: copy)
        finish(own.rawValue, dataOnly: dataOnly, pending.resume())
      }
    } catch {
      let own = Descriptor(owning: copy)
      finish(own.rawValue, dataOnly: dataOnly, pending.resume())
    }
  }
}

extension ViewFileSystem {
  /// Has each request answered by the thread that has read it: where the kernel can't send one
  /// again, it is kept for whoever takes over until that thread reads the next one.
  ///
  /// Before the first request.
  public func answerInPlace() { diskWaits.mayDelegate = false }
}
