// The note in libmount's table that makes root's umount(8) call umount.sandboxfs: without it, it
// would find the bundle in its way.
internal import CMount
internal import LinuxKit
internal import Paths

/// Notes a mount.
func recordMount(source: [UInt8], at target: [UInt8]) throws(MountError) {
  do throws(Errno) {
    try changeTable { update throws(Errno) in
      let entry = mnt_new_fs()
      defer { mnt_unref_fs(entry) }
      try source.withCPath { source throws(Errno) in
        try check(mnt_fs_set_source(entry, source))
      }
      try target.withCPath { target throws(Errno) in
        try check(mnt_fs_set_target(entry, target))
      }
      try check(mnt_fs_set_fstype(entry, "fuse.sandboxfs"))
      try check(mnt_fs_set_root(entry, "/"))
      try check(mnt_fs_set_options(entry, "helper=sandboxfs"))
      return mnt_update_set_fs(update, 0, nil, entry)
    }
  } catch {
    throw MountError(.record, "cannot note the mount of \(target.printable) in utab", error)
  }
}

/// Removes the note about a mount; nothing if there is none.
func forgetMount(at target: [UInt8]) throws(MountError) {
  do throws(Errno) {
    try changeTable { update throws(Errno) in
      try target.withCPath { target throws(Errno) in
        mnt_update_set_fs(update, 0, target, nil)
      }
    }
  } catch {
    throw MountError(.record, "cannot remove \(target.printable) from utab", error)
  }
}

/// Makes one change, under libmount's own lock.
private func changeTable(
  _ describe: (OpaquePointer?) throws(Errno) -> CInt
) throws(Errno) {
  guard let update = mnt_new_update() else { throw .outOfMemory }
  defer { mnt_free_update(update) }
  // 1 says that there is nothing to be changed.
  let answer = try describe(update)
  if answer == 1 { return }
  try check(answer)
  try check(mnt_update_table(update, nil))
}

/// libmount answers with a negative error number.
private func check(_ answer: CInt) throws(Errno) {
  if answer < 0 { throw Errno(-answer) }
}
