// Whether a file system answers, and who we are.
internal import Glibc
internal import Synchronization

/// Whether the file system at a path has lost whoever served it: ENOTCONN.
public func isDead(_ path: [UInt8]) -> Bool {
  do throws(Errno) {
    try path.withCPath { path throws(Errno) in
      // statfs always asks, where stat may answer from what the kernel remembers.
      var status = statvfs()
      _ = try retrying { statvfs(path, &status) }
    }
    return false
  } catch {
    return error == .notConnected || error == Errno(ECONNABORTED)
  }
}

/// How long a file system may take to answer before it counts as silent.
public let silenceMilliseconds: Int64 = 5000

/// As `isDead`; nil if there is no answer within some milliseconds.
///
/// A thread of its own asks, and goes on waiting if it must.
public func isDead(_ path: [UInt8], withinMilliseconds patience: Int64) -> Bool? {
  let question = Question(about: path)
  let context = Unmanaged.passRetained(question)
  var thread = pthread_t()
  guard pthread_create(&thread, nil, ask, context.toOpaque()) == 0 else {
    context.release()
    return nil
  }
  pthread_detach(thread)
  let deadline = monotonicMilliseconds() + patience
  while question.answer.withLock({ $0 }) == nil, monotonicMilliseconds() < deadline {
    usleep(1000)
  }
  return question.answer.withLock { $0 }
}

private final class Question: Sendable {
  let path: [UInt8]
  let answer = Mutex<Bool?>(nil)

  init(about path: [UInt8]) { self.path = path }
}

private func ask(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // `isDead` passes a retained question.
  let question = Unmanaged<Question>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue()
  let answer = isDead(question.path)
  question.answer.withLock { $0 = answer }
  return nil
}

/// Whether the caller is root, so that it may mount by itself.
public func isPrivileged() -> Bool { geteuid() == 0 }

/// The caller's uid.
public func effectiveUID() -> UInt32 { geteuid() }

/// The caller's gid.
public func effectiveGID() -> UInt32 { getegid() }

/// The time, in seconds since 1970.
public func currentSeconds() -> Int64 { Int64(time(nil)) }
