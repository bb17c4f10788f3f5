// Mounts: the calls that take a mount by descriptor, with their constants. sys/mount.h and
// linux/mount.h declare them at odds with each other, and older libcs not at all.
#pragma once
#include <stdint.h>

#define CLINUX_OPEN_TREE_CLONE 1u
#define CLINUX_AT_RECURSIVE 0x8000u

#define CLINUX_MOUNT_ATTR_RDONLY 0x1ull
#define CLINUX_MOUNT_ATTR_NOSUID 0x2ull
#define CLINUX_MOUNT_ATTR_NODEV 0x4ull
#define CLINUX_MOUNT_ATTR_NOEXEC 0x8ull
#define CLINUX_MOUNT_ATTR_ATIME 0x70ull
#define CLINUX_MOUNT_ATTR_NOATIME 0x10ull
#define CLINUX_MOUNT_ATTR_STRICTATIME 0x20ull
#define CLINUX_MOUNT_ATTR_NODIRATIME 0x80ull
#define CLINUX_MOUNT_ATTR_NOSYMFOLLOW 0x200000ull

#define CLINUX_MS_RDONLY 0x1ull
#define CLINUX_MS_NOEXEC 0x8ull
#define CLINUX_MS_SYNCHRONOUS 0x10ull
#define CLINUX_MS_DIRSYNC 0x80ull
#define CLINUX_MS_NOATIME 0x400ull
#define CLINUX_MS_PRIVATE 0x40000ull
#define CLINUX_MS_LAZYTIME 0x2000000ull

#define CLINUX_MNT_FORCE 1
#define CLINUX_MNT_DETACH 2
#define CLINUX_UMOUNT_NOFOLLOW 8

/// open_tree(2). -1 and errno on failure.
int clinux_open_tree(int directory, const char *path, unsigned flags);

/// move_mount(2) of the tree that `tree` is onto the directory that `target` is.
int clinux_move_mount(int tree, int target);

/// mount_setattr(2) on the mount that `tree` is in; `flags` may be CLINUX_AT_RECURSIVE.
int clinux_mount_setattr(int tree, unsigned flags, uint64_t set, uint64_t clear,
                         uint64_t propagation);

/// umount2(2). -1 and errno on failure.
int clinux_umount2(const char *path, int flags);

/// The id of the mount that (`directory`, `path`) is in, without asking the file system, and the
/// file system's device number. -1 and errno on failure.
int clinux_mount_identity(int directory, const char *path, int follow, uint64_t *mount,
                          uint32_t *major, uint32_t *minor);
