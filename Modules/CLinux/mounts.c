#include "CLinux_mounts.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// One number on every architecture; libcs before 2.36 lack some of the names.
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

struct attributes {
  uint64_t set, clear, propagation, namespace;
};

int umount2(const char *path, int flags);

int clinux_open_tree(int directory, const char *path, unsigned flags) {
  return (int)syscall(SYS_open_tree, directory, path, flags | O_CLOEXEC);
}

int clinux_move_mount(int tree, int target) {
  const unsigned from_empty_path = 0x4, to_empty_path = 0x40;
  return (int)syscall(SYS_move_mount, tree, "", target, "", from_empty_path | to_empty_path);
}

int clinux_mount_setattr(int tree, unsigned flags, uint64_t set, uint64_t clear,
                         uint64_t propagation) {
  struct attributes attributes = {.set = set, .clear = clear, .propagation = propagation};
  return (int)syscall(SYS_mount_setattr, tree, "", flags | AT_EMPTY_PATH, &attributes,
                      sizeof attributes);
}

int clinux_umount2(const char *path, int flags) { return umount2(path, flags); }

int clinux_mount_identity(int directory, const char *path, int follow, uint64_t *mount,
                          uint32_t *major, uint32_t *minor) {
  struct statx status;
  const unsigned mount_id = 0x1000;
  int flags = AT_STATX_DONT_SYNC | AT_EMPTY_PATH | AT_NO_AUTOMOUNT |
              (follow ? 0 : AT_SYMLINK_NOFOLLOW);
  if (statx(directory, path, flags, mount_id, &status) != 0) return -1;
  if (!(status.stx_mask & mount_id)) {
    errno = ENOSYS;
    return -1;
  }
#ifdef STATX_MNT_ID
  *mount = status.stx_mnt_id;
#else
  // The field follows stx_dev_minor in the kernel's structure.
  *mount = *(uint64_t *)((char *)&status + 0x90);
#endif
  *major = status.stx_dev_major;
  *minor = status.stx_dev_minor;
  return 0;
}
