// Who else has a file open: the kernel tells whoever asks for a lease.
internal import Glibc

extension Descriptor {
  /// Whether another open file, or a mapping, is of the same inode; this one must be open for
  /// reading.
  ///
  /// A lease for writing is given only to who is alone with the inode, whatever the mount by which
  /// the others came, and it is given back at once: who opens the file at that very moment waits
  /// for some microseconds. Throws EINVAL or EOPNOTSUPP if the file system has no leases, and
  /// EACCES without the right to them.
  public borrowing func isOpenElsewhere() throws(Errno) -> Bool {
    ignoreLeaseBreaks()
    let raw = rawValue
    do throws(Errno) {
      try retrying { fcntl(raw, F_SETLEASE, CInt(F_WRLCK)) }
    } catch {
      if error == .wouldBlock { return true }
      throw error
    }
    try retrying { fcntl(raw, F_SETLEASE, CInt(F_UNLCK)) }
    return false
  }
}

/// Who holds a lease is told by SIGIO that another wants the file, and it ends who is not prepared.
private func ignoreLeaseBreaks() { _ = ignored }

private let ignored: Bool = {
  signal(SIGIO, SIG_IGN)
  return true
}()
