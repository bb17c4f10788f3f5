// Whether a file system answers, and who we are.
internal import Glibc

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

/// Whether the caller is root, so that it may mount by itself.
public func isPrivileged() -> Bool { geteuid() == 0 }

/// The caller's uid.
public func effectiveUID() -> UInt32 { geteuid() }

/// The caller's gid.
public func effectiveGID() -> UInt32 { getegid() }

/// The time, in seconds since 1970.
public func currentSeconds() -> Int64 { Int64(time(nil)) }
