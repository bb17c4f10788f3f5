// The notes in libmount's table that make root's umount(8) call umount.sandboxfs: without them, it
// would find the bundle in its way, and `umount -R` would take the bundle from a view that is in
// use.
internal import CMount
internal import LinuxKit
internal import Paths

/// Notes a view and its bundle, if it has one.
func recordView(
  source: [UInt8], at target: [UInt8], bundle: [UInt8]
) throws(MountError) {
  do throws(Errno) {
    try recordMount(source: source, root: [], at: target)
    if bundle.isEmpty { return }
    try recordMount(source: source, root: bundle, at: bundlePath(target, bundle))
  } catch {
    throw MountError(
      .record,
      "\(target.printable) is mounted, but could not be noted for umount(8) in /run/mount/utab, "
        + "so unmount it with 'umount -R': \(error.message)")
  }
}

/// Where a bundle is.
func bundlePath(_ target: [UInt8], _ bundle: [UInt8]) -> [UInt8] {
  target + (target.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + bundle
}

private func recordMount(
  source: [UInt8], root: [UInt8], at target: [UInt8]
) throws(Errno) {
  try changeTable { update throws(Errno) in
    let entry = libmount.mnt_new_fs()
    defer { libmount.mnt_unref_fs(entry) }
    try source.withCPath { source throws(Errno) in
      try check(libmount.mnt_fs_set_source(entry, source))
    }
    try target.withCPath { target throws(Errno) in
      try check(libmount.mnt_fs_set_target(entry, target))
    }
    try check(libmount.mnt_fs_set_fstype(entry, "fuse.sandboxfs"))
    try ([UInt8(ascii: "/")] + root).withCPath { root throws(Errno) in
      try check(libmount.mnt_fs_set_root(entry, root))
    }
    try check(libmount.mnt_fs_set_options(entry, "helper=sandboxfs"))
    return libmount.mnt_update_set_fs(update, 0, nil, entry)
  }
}

/// Removes the notes about these mounts, as far as there are any.
///
/// One that stays is not worth an error: it says nothing about another file system at that place.
func forgetMounts(at targets: [[UInt8]]) {
  for target in targets {
    try? changeTable { update throws(Errno) in
      try target.withCPath { target throws(Errno) in
        libmount.mnt_update_set_fs(update, 0, target, nil)
      }
    }
  }
}

/// Makes one change, under libmount's own lock.
private func changeTable(
  _ describe: (OpaquePointer?) throws(Errno) -> CInt
) throws(Errno) {
  guard let update = libmount.mnt_new_update() else { throw .noMemory }
  defer { libmount.mnt_free_update(update) }
  // 1 says that there is nothing to be changed.
  let answer = try describe(update)
  if answer == 1 { return }
  try check(answer)
  try check(libmount.mnt_update_table(update, nil))
}

/// libmount answers with a negative error number.
private func check(_ answer: CInt) throws(Errno) {
  if answer < 0 { throw Errno(-answer) }
}
