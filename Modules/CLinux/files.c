#include "CLinux_files.h"
#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

int clinux_openat2(int directory, const char *path, uint64_t flags, uint64_t mode,
                   uint64_t resolve) {
  struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
  return openat(directory, path, flags, mode);
}

int clinux_fcntl(int descriptor, int command, long argument) {
  return fcntl(descriptor, command, argument);
}

int clinux_ioctl(int descriptor, unsigned long request, void *argument) {
  return ioctl(descriptor, request, argument);
}

long clinux_getdents64(int descriptor, void *buffer, unsigned long count) {
  return syscall(SYS_getdents64, descriptor, buffer, count);
}

int clinux_clone(int to, int from) { return ioctl(to, FICLONE, from); }

long clinux_readlinkat(int directory, const char *path, void *buffer, unsigned long size) {
  return readlinkat(directory, path, buffer, size);
}

int clinux_status(int directory, const char *path, struct clinux_status *status) {
  struct statx x;
  int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (path[0] ? 0 : AT_EMPTY_PATH);
  if (statx(directory, path, flags, STATX_BASIC_STATS | STATX_BTIME, &x) != 0) return -1;
  status->attributes = (struct stat){
      .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
      .st_ino = x.stx_ino,
      .st_mode = x.stx_mode,
      .st_nlink = x.stx_nlink,
      .st_uid = x.stx_uid,
      .st_gid = x.stx_gid,
      .st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
      .st_size = (off_t)x.stx_size,
      .st_blksize = x.stx_blksize,
      .st_blocks = (blkcnt_t)x.stx_blocks,
      .st_atim = {x.stx_atime.tv_sec, x.stx_atime.tv_nsec},
      .st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
      .st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec},
  };
  status->birth_nanoseconds = 0;
  if (x.stx_mask & STATX_BTIME)
    status->birth_nanoseconds =
        (uint64_t)x.stx_btime.tv_sec * UINT64_C(1000000000) + x.stx_btime.tv_nsec;
  return 0;
}

int clinux_renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags) {
  return (int)syscall(SYS_renameat2, from, old_name, to, new_name, flags);
}

void clinux_descriptor_path(int descriptor, char path[CLINUX_DESCRIPTOR_PATH_SIZE]) {
  static const char prefix[] = "/proc/self/fd/";
  char digits[12];
  int count = 0;
  unsigned value = descriptor < 0 ? 0 : (unsigned)descriptor;
  do digits[count++] = (char)('0' + value % 10); while (value /= 10);
  char *end = path;
  for (const char *p = prefix; *p; p++) *end++ = *p;
  while (count) *end++ = digits[--count];
  *end = 0;
}

int clinux_chmod(int descriptor, unsigned mode) {
  // Since Linux 6.6, and with the same number on every machine.
  enum { FCHMODAT2 = 452 };
  static int is_missing;
  if (!__atomic_load_n(&is_missing, __ATOMIC_RELAXED)) {
    int result = (int)syscall(FCHMODAT2, descriptor, "", mode, AT_EMPTY_PATH);
    // EPERM may be said by a filter of system calls that does not know this one.
    if (result == 0 || (errno != ENOSYS && errno != EPERM)) return result;
    if (errno == ENOSYS) __atomic_store_n(&is_missing, 1, __ATOMIC_RELAXED);
  }
  char path[CLINUX_DESCRIPTOR_PATH_SIZE];
  clinux_descriptor_path(descriptor, path);
  return chmod(path, (mode_t)mode);
}

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;
static void release_buffer(void *buffer) { munmap(buffer, CLINUX_THREAD_BUFFER_SIZE); }
static void create_buffer_key(void) { pthread_key_create(&buffer_key, release_buffer); }

void *clinux_thread_buffer(void) {
  pthread_once(&buffer_once, create_buffer_key);
  void *buffer = pthread_getspecific(buffer_key);
  if (buffer) return buffer;
  buffer = mmap(NULL, CLINUX_THREAD_BUFFER_SIZE, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return NULL;
  pthread_setspecific(buffer_key, buffer);
  return buffer;
}

int clinux_keeps_places(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  return status.f_type == EXT4_SUPER_MAGIC || status.f_type == XFS_SUPER_MAGIC;
}

int clinux_is_on_overlay(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return -1;
  return status.f_type == OVERLAYFS_SUPER_MAGIC;
}

// /proc/self/fd/N stands for the inode of an O_PATH descriptor; what is below it is a name in it.
static ssize_t list_values(const char *path, int follows, char *names, size_t size) {
  return follows ? listxattr(path, names, size) : llistxattr(path, names, size);
}

static int is_owners(const char *name) {
  static const char user[] = "user.", acl[] = "system.posix_acl_";
  return !strncmp(name, user, sizeof user - 1) || !strncmp(name, acl, sizeof acl - 1);
}

int64_t clinux_value_bytes(int directory, const char *name) {
  char path[32 + 256], few[1024], *names = few;
  int follows = name[0] == 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d%s%s", directory, follows ? "" : "/", name);
  ssize_t count = list_values(path, follows, few, sizeof few);
  if (count < 0 && errno == ERANGE) {
    // The most that there can be.
    names = malloc(65536);
    if (!names) return -1;
    count = list_values(path, follows, names, 65536);
  }
  int64_t sum = count < 0 && errno != ENOTSUP ? -1 : 0;
  for (ssize_t at = 0; at < count; at += (ssize_t)strlen(names + at) + 1) {
    if (!is_owners(names + at)) continue;
    ssize_t size =
        follows ? getxattr(path, names + at, NULL, 0) : lgetxattr(path, names + at, NULL, 0);
    if (size > 0) sum += size;
  }
  if (names != few) {
    int error = errno;
    free(names);
    errno = error;
  }
  return sum;
}
