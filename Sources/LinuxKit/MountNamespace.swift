// Work in another process's mount namespace, done by a thread that exists for nothing else.
internal import CLinux
internal import Glibc

/// Runs `body` on a thread that has entered the mount namespace of `process`, and waits for it.
///
/// Descriptors are shared, so what `body` opens there can be used here; its working directory and
/// root are those of the namespace. Throws ESRCH or ENOENT if the process has ended, EPERM without
/// the privilege, and what `body` throws.
public func withMountNamespace(
  of process: Int32, _ body: @escaping () throws(Errno) -> Void
) throws(Errno) {
  let namespace = try Descriptor.open("/proc/\(process)/ns/mnt", O_RDONLY)
  let visit = Visit(to: namespace.rawValue, body)
  var thread = pthread_t()
  let context = Unmanaged.passRetained(visit)
  let failure = pthread_create(&thread, nil, makeVisit, context.toOpaque())
  if failure != 0 {
    context.release()
    throw Errno(failure)
  }
  pthread_join(thread, nil)
  // The namespace's descriptor must outlive the thread.
  _ = namespace.rawValue
  if let failure = visit.failure { throw failure }
}

/// Moves the caller, which must have no other thread, into the mount namespace that a file names.
///
/// Its working directory is then the namespace's root.
public func enterMountNamespace(_ path: [UInt8]) throws(Errno) {
  let namespace = try path.withCPath { path throws(Errno) in
    try retrying { clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) }
  }
  let owner = Descriptor(owning: namespace)
  let raw = owner.rawValue
  try retrying { setns(raw, CLONE_NEWNS) }
}

/// What the thread is to do, and how it went; read only after the thread has been joined.
private final class Visit {
  private let namespace: CInt
  private let body: () throws(Errno) -> Void
  private(set) var failure: Errno?

  init(to namespace: CInt, _ body: @escaping () throws(Errno) -> Void) {
    self.namespace = namespace
    self.body = body
  }

  func make() {
    do throws(Errno) {
      // The kernel moves only a thread that shares its root and working directory with no other.
      try retrying { unshare(CLONE_FS) }
      try retrying { setns(namespace, CLONE_NEWNS) }
      try body()
    } catch { failure = error }
  }
}

private func makeVisit(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // `withMountNamespace` passes a retained visit.
  Unmanaged<Visit>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue().make()
  return nil
}
