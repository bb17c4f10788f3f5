// Acting on names and attributes, and the table of all operations.
#include "acts.h"
#include <dirent.h>
#include <sys/xattr.h>

void act_link(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(link(paths[a[0]], paths[a[1]]));
}

void act_link_file(struct side *side, const long *a, struct answer *answer) {
  if (is_out_of_reach(side->files[a[0]])) return;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", side->files[a[0]]);
  DONE(linkat(AT_FDCWD, path, AT_FDCWD, paths[a[1]], AT_SYMLINK_FOLLOW));
}

void act_symlink(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(symlink(paths[a[0]], paths[a[1]]));
}

void act_rename(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(renameat2(AT_FDCWD, paths[a[0]], AT_FDCWD, paths[a[1]], (unsigned)a[2]));
}

void act_unlink(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(unlink(paths[a[0]]));
}

void act_rmdir(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(rmdir(paths[a[0]]));
}

void act_mkdir(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(mkdir(paths[a[0]], (mode_t)a[1]));
}

void act_mkfifo(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(mkfifo(paths[a[0]], (mode_t)a[1]));
}

void act_socket(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(mknod(paths[a[0]], S_IFSOCK | (mode_t)a[1], 0));
}

void act_chmod(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(chmod(paths[a[0]], (mode_t)a[1]));
}

void act_fchmod(struct side *side, const long *a, struct answer *answer) {
  if (is_lost(side->files[a[0]])) return;
  DONE(fchmod(side->files[a[0]], (mode_t)a[1]));
}

// The kernel does not ask whose a file is that is given to nobody: a disk refuses a stranger or
// moves the time of change, a view does nothing.
static bool is_idle_chown(const long *a) { return a[1] == -1 && a[2] == -1 && geteuid() != 0; }

void act_chown(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  if (is_idle_chown(a)) return;
  DONE(chown(paths[a[0]], (uid_t)a[1], (gid_t)a[2]));
}

void act_lchown(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  if (is_idle_chown(a)) return;
  DONE(lchown(paths[a[0]], (uid_t)a[1], (gid_t)a[2]));
}

void act_fchown(struct side *side, const long *a, struct answer *answer) {
  if (is_lost(side->files[a[0]])) return;
  if (is_idle_chown(a)) return;
  DONE(fchown(side->files[a[0]], (uid_t)a[1], (gid_t)a[2]));
}

static struct timespec moment(long value) {
  if (value == -1) return (struct timespec){0, UTIME_NOW};
  if (value == -2) return (struct timespec){0, UTIME_OMIT};
  return (struct timespec){value, 123456789};
}

void act_times(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  struct timespec times[] = {moment(a[1]), moment(a[2])};
  DONE(utimensat(AT_FDCWD, paths[a[0]], times, AT_SYMLINK_NOFOLLOW));
}

void act_ftimes(struct side *side, const long *a, struct answer *answer) {
  if (is_lost(side->files[a[0]])) return;
  struct timespec times[] = {moment(a[1]), moment(a[2])};
  DONE(futimens(side->files[a[0]], times));
}

void act_truncate(struct side *side, const long *a, struct answer *answer) {
  struct stat status;
  (void)side;
  // A disk moves the times then, which POSIX does not ask for; a kernel that keeps them does not.
  if (settings.is_kept && stat(paths[a[0]], &status) == 0 && status.st_size == a[1]) return;
  DONE(truncate(paths[a[0]], a[1]));
}

void act_stat(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  struct stat status;
  DONE(stat(paths[a[0]], &status));
  if (!answer->error) answer->value = status.st_mode & ~(mode_t)(S_ISUID | S_ISGID);
}

void act_access(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  DONE(faccessat(AT_FDCWD, paths[a[0]], (int)a[1] & 7, AT_EACCESS));
}

void act_readlink(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  READ(readlink(paths[a[0]], block, 100));
}

void act_umask(struct side *side, const long *a, struct answer *answer) {
  (void)side, (void)answer;
  umask((mode_t)a[0]);
}

// The kernel forgets what it can.
void act_forget(struct side *side, const long *a, struct answer *answer) {
  (void)a, (void)answer;
  if (settings.is_user || strcmp(side->name, "plain") == 0) return;
  become(0);
  int file = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, a[0] % 4 ? "2" : "3", 1) != 1) stop(__func__);
  close(file);
}

// The program looks at both sides.
void act_look(struct side *side, const long *a, struct answer *answer) {
  (void)side, (void)a, (void)answer;
}

// More entries than one reply holds.
void act_crowd(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  for (int number = 0; number < CROWD; number++) {
    char path[64];
    snprintf(path, sizeof path, "%s/crowd-%0*d", paths[a[0]], 1 + number % 20, number);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    answer->digest = answer->digest * 31 + (unsigned)(file < 0 ? errno : 0);
    if (file >= 0) close(file);
  }
}

void act_uncrowd(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  for (int number = (int)a[1] % 3; number < CROWD; number += 2) {
    char path[64];
    snprintf(path, sizeof path, "%s/crowd-%0*d", paths[a[0]], 1 + number % 20, number);
    answer->digest = answer->digest * 31 + (unsigned)(unlink(path) != 0 ? errno : 0);
  }
}

// MARK: Extended attributes

static const char *const attributes[] = {
    "user.one",      "user.two",    "user.three",  "system.posix_acl_access",
    "system.posix_acl_default", "security.capability", "trusted.one", "nothing.one", "user."};

struct acl_entry {
  uint16_t tag, permissions;
  uint32_t who;
};

// An ACL that is whole: owner, a user, group, mask, others.
static long make_acl(long value) {
  uint32_t version = 2;
  uint16_t bits = (uint16_t)value;
  struct acl_entry entries[] = {{1, bits & 7, ~0u},
                                {2, bits >> 3 & 7, value % 2 ? 1001 : 1002},
                                {4, bits >> 4 & 7, ~0u},
                                {0x10, bits >> 5 & 7, ~0u},
                                {0x20, bits >> 6 & 7, ~0u}};
  memcpy(block, &version, 4);
  memcpy(block + 4, entries, sizeof entries);
  return 4 + (long)sizeof entries;
}

static long make_value(long name, long value) {
  if (name == 3 || name == 4) return make_acl(value);
  if (name == 5) {
    uint32_t capability[5] = {0x02000001, 1u << 10, 0, 0, 0};
    memcpy(block, capability, sizeof capability);
    return sizeof capability;
  }
  long size = value % 5 == 0 ? 0 : value % 7 == 0 ? 3000 : value % 200;
  fill_block(value, size);
  return size;
}

static bool is_acl(long index) {
  return strcmp(attributes[index], "system.posix_acl_access") == 0;
}

void act_set_attribute(struct side *side, const long *a, struct answer *answer) {
  side->has_acl |= is_acl(a[1]);
  size_t size = (size_t)make_value(a[1], a[2]);
  DONE(lsetxattr(paths[a[0]], attributes[a[1]], block, size, (int)a[3]));
}

void act_fset_attribute(struct side *side, const long *a, struct answer *answer) {
  if (is_lost(side->files[a[0]])) return;
  side->has_acl |= is_acl(a[1]);
  size_t size = (size_t)make_value(a[1], a[2]);
  DONE(fsetxattr(side->files[a[0]], attributes[a[1]], block, size, (int)a[3]));
}

void act_get_attribute(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  static const size_t rooms[] = {BLOCK, 0, 10, 4096};
  size_t room = rooms[a[2] % 4];
  VALUE(getxattr(paths[a[0]], attributes[a[1]], block, room));
  if (room && answer->value > 0) answer->digest = digest(1, block, (size_t)answer->value);
}

// What llistxattr(2) answers where names in `trusted.` are listed to root alone, as in a view and
// on most file systems: btrfs names them to everybody, and overlayfs counts them for everybody.
static ssize_t list_attributes(const char *path, size_t room) {
  static char names[65536];
  ssize_t kept = 0, all = geteuid() == 0 ? 0 : llistxattr(path, names, sizeof names);
  for (ssize_t place = 0, length; place < all; place += length) {
    length = (ssize_t)strlen(names + place) + 1;
    if (strncmp(names + place, "trusted.", 8) == 0) continue;
    memmove(names + kept, names + place, (size_t)length);
    kept += length;
  }
  if (geteuid() == 0 || all < 0 || (kept == all && llistxattr(path, NULL, 0) == all))
    return llistxattr(path, block, room);
  errno = ERANGE;
  return room && (size_t)kept > room ? -1 : kept;
}

void act_list_attributes(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  static const size_t rooms[] = {BLOCK, 0, 5, 4096};
  VALUE(list_attributes(paths[a[0]], rooms[a[1] % 4]));
}

void act_remove_attribute(struct side *side, const long *a, struct answer *answer) {
  (void)side;
  // The kernel moves the time of change of what it keeps even if there was no ACL.
  bool is_acl = strncmp(attributes[a[1]], "system.", 7) == 0;
  if (settings.is_kept && is_acl && getxattr(paths[a[0]], attributes[a[1]], NULL, 0) < 0) return;
  DONE(removexattr(paths[a[0]], attributes[a[1]]));
}

const struct form forms[] = {
    {"open", "fpom", 60, act_open},
    {"close", "f", 8, act_close},
    {"read", "fl", 8, act_read},
    {"pread", "fnl", 12, act_pread},
    {"preadv", "fnl", 4, act_readv},
    {"write", "flv", 14, act_write},
    {"pwrite", "fnlv", 20, act_pwrite},
    {"pwritev2", "fnlvW", 8, act_pwritev},
    {"lseek", "fnw", 12, act_seek},
    {"fsync", "fq", 3, act_sync},
    {"fadvise", "f", 4, act_advise},
    {"ftruncate", "fs", 10, act_resize},
    {"fallocate", "fanl", 12, act_allocate},
    {"copy", "fnfnl", 14, act_copy},
    {"copy-here", "ffl", 6, act_copy_here},
    {"sendfile", "fnfl", 4, act_send},
    {"setfl", "fg", 4, act_flags},
    {"flock", "fq", 3, act_flock},
    {"lock", "fb", 3, act_lock},
    {"mmap", "kfPnl", 14, act_map},
    {"munmap", "k", 3, act_unmap},
    {"store", "knlv", 16, act_store},
    {"load", "k", 4, act_load},
    {"msync", "k", 5, act_sync_map},
    {"list", "dp", 8, act_list},
    {"getdents", "dq", 16, act_entries},
    {"seekdir", "dq", 8, act_return},
    {"link", "pp", 14, act_link},
    {"link-file", "fp", 5, act_link_file},
    {"symlink", "pp", 6, act_symlink},
    {"rename", "ppr", 24, act_rename},
    {"unlink", "p", 12, act_unlink},
    {"rmdir", "p", 5, act_rmdir},
    {"mkdir", "pm", 14, act_mkdir},
    {"mkfifo", "pm", 2, act_mkfifo},
    {"socket", "pm", 2, act_socket},
    {"chmod", "pm", 14, act_chmod},
    {"fchmod", "fm", 6, act_fchmod},
    {"chown", "puu", 8, act_chown},
    {"lchown", "puu", 3, act_lchown},
    {"fchown", "fuu", 5, act_fchown},
    {"utimens", "ptt", 6, act_times},
    {"futimens", "ftt", 4, act_ftimes},
    {"truncate", "ps", 8, act_truncate},
    {"stat", "p", 3, act_stat},
    {"access", "pq", 4, act_access},
    {"readlink", "p", 3, act_readlink},
    {"umask", "U", 2, act_umask},
    {"setxattr", "pxvz", 14, act_set_attribute},
    {"fsetxattr", "fxvz", 6, act_fset_attribute},
    {"getxattr", "pxq", 5, act_get_attribute},
    {"listxattr", "pq", 3, act_list_attributes},
    {"removexattr", "px", 5, act_remove_attribute},
    {"forget", "q", 1, act_forget},
    {"crowd", "p", 2, act_crowd},
    {"uncrowd", "pq", 2, act_uncrowd},
    {"look", "q", 0, act_look},
    {NULL, NULL, 0, NULL},
};
