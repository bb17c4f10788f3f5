// Files: openat2, statx, renameat2, xattrs, and the cast macros that the importer drops.
#pragma once
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/// openat2(2), for which libc has no wrapper. -1 and errno on failure.
int clinux_openat2(int directory, const char *path, uint64_t flags, uint64_t mode,
                   uint64_t resolve);

/// openat(2) without variadic arguments. -1 and errno on failure.
int clinux_openat(int directory, const char *path, int flags, mode_t mode);

/// fcntl(2) with an integer argument. -1 and errno on failure.
int clinux_fcntl(int descriptor, int command, long argument);

/// ioctl(2) with a pointer argument. -1 and errno on failure.
int clinux_ioctl(int descriptor, unsigned long request, void *argument);

/// getdents64(2).
///
/// Bytes read, 0 at the end, -1 and errno on failure.
long clinux_getdents64(int descriptor, void *buffer, unsigned long count);

/// UTIME_NOW and UTIME_OMIT, which are casts and so are not imported.
static inline long clinux_utime_now(void) { return UTIME_NOW; }
static inline long clinux_utime_omit(void) { return UTIME_OMIT; }

/// Makes the empty file `to` share all blocks of `from`. -1 and errno where that can't be.
int clinux_clone(int to, int from);

/// readlinkat(2) into plain memory.
///
/// The length of the target, -1 and errno on failure.
long clinux_readlinkat(int directory, const char *path, void *buffer, unsigned long size);

/// What statx(2) says, as a stat and the time of birth.
struct clinux_status {
  struct stat attributes;
  /// Nanoseconds since 1970; 0 where the file system does not keep it.
  uint64_t birth_nanoseconds;
};

/// statx(2) of `path` below `directory`, or of `directory` itself where `path` is empty.
///
/// A symbolic link is never followed. -1 and errno on failure.
int clinux_status(int directory, const char *path, struct clinux_status *status);

/// renameat2(2). -1 and errno on failure.
int clinux_renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags);

/// The length of "/proc/self/fd/" and the longest number, with its NUL.
#define CLINUX_DESCRIPTOR_PATH_SIZE 32
/// Writes "/proc/self/fd/N": the way to open, chmod or list the xattrs of an O_PATH descriptor.
void clinux_descriptor_path(int descriptor, char path[CLINUX_DESCRIPTOR_PATH_SIZE]);

/// chmod(2) of the inode of a descriptor, O_PATH included. -1 and errno on failure.
int clinux_chmod(int descriptor, unsigned mode);

/// A buffer of CLINUX_THREAD_BUFFER_SIZE bytes that belongs to this thread until its end, or NULL.
#define CLINUX_THREAD_BUFFER_SIZE ((1 << 20) + (128 << 10) + 8192 + 16384)
void *clinux_thread_buffer(void);

/// Whether the file system that holds a descriptor is one whose places in listings hold for every
/// descriptor of a directory. 1, 0, or -1 and errno.
int clinux_keeps_places(int descriptor);

/// Whether the file system that holds a descriptor is an overlay. 1, 0, or -1 and errno.
int clinux_is_on_overlay(int descriptor);

/// How many bytes the values have that a file's owner may set: those in `user.` and the ACLs.
///
/// Of `name` below a directory, the link itself if it is one, or of an O_PATH descriptor where it
/// is empty. -1 and errno if the file can't be asked.
int64_t clinux_value_bytes(int directory, const char *name);
