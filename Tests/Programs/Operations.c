// One system call for each line of standard input, and what came of it.
//
// Usage: Operations UID [GID] — becomes that user first. Lines are `OPERATION<TAB>PATH` or
// `OPERATION<TAB>PATH<TAB>PATH2`; each is answered by `ok` or the name of the errno.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

typedef int (*call)(const char *path, const char *second);

// MARK: Descriptors

static int done(int file) {
  if (file >= 0) close(file);
  return file >= 0 ? 0 : -1;
}

// Closes a file and keeps the errno of what was done with it.
static int ended(int file, long result) {
  int code = errno;
  close(file);
  errno = code;
  return result < 0 ? -1 : 0;
}

#define WITH(flags, expression)           \
  int file = open(path, flags);           \
  if (file < 0) return -1;                \
  return ended(file, (long)(expression));

#define CALL(name) \
  static int name(const char *path, __attribute__((unused)) const char *second)

// MARK: Finding

CALL(op_stat) { struct stat s; return lstat(path, &s); }
CALL(op_access) { return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW); }
CALL(op_statfs) { struct statfs s; return statfs(path, &s); }
CALL(op_path) { return done(open(path, O_PATH | O_NOFOLLOW)); }
CALL(op_chdir) { return chdir(path); }
CALL(op_listxattr) { char b[4096]; return llistxattr(path, b, sizeof b) < 0 ? -1 : 0; }

// MARK: Reading

CALL(op_readlink) { char b[4096]; return readlink(path, b, sizeof b) < 0 ? -1 : 0; }
CALL(op_open_r) { char b; WITH(O_RDONLY, read(file, &b, 1)) }
CALL(op_getxattr) { char b[64]; return lgetxattr(path, "user.t", b, sizeof b) < 0 ? -1 : 0; }
CALL(op_lseek) { WITH(O_RDONLY, lseek(file, 0, SEEK_DATA)) }
CALL(op_flock) { WITH(O_RDONLY, flock(file, LOCK_EX | LOCK_NB)) }
CALL(op_fcntl) {
  struct flock lock = {.l_type = F_RDLCK};
  WITH(O_RDONLY, fcntl(file, F_SETLK, &lock))
}
CALL(op_fsync) { WITH(O_RDONLY, fsync(file)) }
CALL(op_ioctl) { long flags; WITH(O_RDONLY, ioctl(file, FS_IOC_GETFLAGS, &flags)) }

static int mapped(int file, int protection, int flags) {
  void *start = mmap(NULL, 4096, protection, flags, file, 0);
  if (start == MAP_FAILED) return -1;
  munmap(start, 4096);
  return 0;
}
CALL(op_mmap_r) { WITH(O_RDONLY, mapped(file, PROT_READ, MAP_PRIVATE)) }
CALL(op_mmap_x) { WITH(O_RDONLY, mapped(file, PROT_READ | PROT_EXEC, MAP_PRIVATE)) }
CALL(op_mmap_w) { WITH(O_RDWR, mapped(file, PROT_READ | PROT_WRITE, MAP_SHARED)) }

CALL(op_readdir) {
  DIR *directory = opendir(path);
  if (!directory) return -1;
  errno = 0;
  int result = !readdir(directory) && errno ? -1 : 0, code = errno;
  closedir(directory);
  errno = code;
  return result;
}

// MARK: Writing

CALL(op_open_w) { WITH(O_WRONLY, 0) }
CALL(op_open_rw) { WITH(O_RDWR, 0) }
CALL(op_open_a) { WITH(O_WRONLY | O_APPEND, 0) }
CALL(op_open_trunc) { WITH(O_WRONLY | O_TRUNC, 0) }
CALL(op_open_creat) { return done(open(path, O_WRONLY | O_CREAT, 0666)); }
CALL(op_write_over) { WITH(O_WRONLY, pwrite(file, "#", 1, 0)) }
CALL(op_write_end) { WITH(O_WRONLY | O_APPEND, write(file, "\n", 1)) }
CALL(op_truncate) { return truncate(path, 1); }
CALL(op_ftruncate) { WITH(O_WRONLY, ftruncate(file, 1)) }
CALL(op_fallocate) { WITH(O_WRONLY, fallocate(file, 0, 0, 64)) }
CALL(op_punch) { WITH(O_WRONLY, fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4)) }
CALL(op_zero) { WITH(O_WRONLY, fallocate(file, FALLOC_FL_ZERO_RANGE, 0, 4)) }

static int copied(const char *from, const char *to, int at_end) {
  int source = open(from, O_RDONLY);
  if (source < 0) return -1;
  int target = open(to, O_WRONLY);
  if (target < 0) return ended(source, -1);
  off_t start = 0, place = at_end ? lseek(target, 0, SEEK_END) : 0;
  ssize_t count = copy_file_range(source, &start, target, &place, 4, 0);
  ended(target, 0);
  return ended(source, count);
}
CALL(op_copy_from) { return copied(path, second, 0); }
CALL(op_copy_over) { return copied(second, path, 0); }
CALL(op_copy_end) { return copied(second, path, 1); }

// MARK: Names

CALL(op_create) { return done(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666)); }
CALL(op_mkdir) { return mkdir(path, 0777); }
CALL(op_symlink) { return symlink("nowhere", path); }
CALL(op_mknod_file) { return mknod(path, S_IFREG | 0666, 0); }
CALL(op_mknod_fifo) { return mknod(path, S_IFIFO | 0666, 0); }
CALL(op_mknod_socket) { return mknod(path, S_IFSOCK | 0666, 0); }
CALL(op_mknod_device) { return mknod(path, S_IFCHR | 0666, makedev(1, 3)); }
CALL(op_unlink) { return unlink(path); }
CALL(op_rmdir) { return rmdir(path); }
CALL(op_rename) { return rename(path, second); }
CALL(op_noreplace) { return renameat2(AT_FDCWD, path, AT_FDCWD, second, RENAME_NOREPLACE); }
CALL(op_exchange) { return renameat2(AT_FDCWD, path, AT_FDCWD, second, RENAME_EXCHANGE); }
CALL(op_link) { return link(path, second); }

// MARK: Attributes

CALL(op_chmod) { return chmod(path, 0776); }
CALL(op_chown) { struct stat s; return chown(path, stat(path, &s) ? -1u : s.st_uid, -1); }
CALL(op_utimes) {
  struct timespec times[2] = {{1, 0}, {1, 0}};
  return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}
CALL(op_touch) { return utimensat(AT_FDCWD, path, NULL, 0); }
CALL(op_setxattr) { return lsetxattr(path, "user.t", "new", 3, 0); }
CALL(op_removexattr) { return lremovexattr(path, "user.t"); }

// MARK: Executing

CALL(op_execve) {
  int *code = mmap(NULL, sizeof *code, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return -1;
  pid_t child = fork();
  if (child == 0) {
    char *words[] = {(char *)path, NULL};
    execv(path, words);
    *code = errno;
    _exit(1);
  }
  if (child < 0) return -1;
  waitpid(child, NULL, 0);
  errno = *code;
  munmap(code, sizeof *code);
  return errno ? -1 : 0;
}

static const struct {
  const char *name;
  call call;
} operations[] = {
    {"access", op_access},       {"chdir", op_chdir},
    {"chmod", op_chmod},         {"chown", op_chown},
    {"copy end", op_copy_end},   {"copy from", op_copy_from},
    {"copy over", op_copy_over}, {"create", op_create},
    {"exchange", op_exchange},   {"execve", op_execve},
    {"fallocate", op_fallocate}, {"fcntl", op_fcntl},
    {"flock", op_flock},         {"fsync", op_fsync},
    {"ftruncate", op_ftruncate}, {"getxattr", op_getxattr},
    {"ioctl", op_ioctl},         {"link", op_link},
    {"listxattr", op_listxattr}, {"lseek", op_lseek},
    {"mkdir", op_mkdir},         {"mknod device", op_mknod_device},
    {"mknod fifo", op_mknod_fifo}, {"mknod file", op_mknod_file},
    {"mknod socket", op_mknod_socket}, {"mmap r", op_mmap_r},
    {"mmap w", op_mmap_w},       {"mmap x", op_mmap_x},
    {"noreplace", op_noreplace}, {"open a", op_open_a},
    {"open creat", op_open_creat}, {"open path", op_path},
    {"open r", op_open_r},       {"open rw", op_open_rw},
    {"open trunc", op_open_trunc}, {"open w", op_open_w},
    {"punch", op_punch},         {"readdir", op_readdir},
    {"readlink", op_readlink},   {"removexattr", op_removexattr},
    {"rename", op_rename},       {"rmdir", op_rmdir},
    {"setxattr", op_setxattr},   {"stat", op_stat},
    {"statfs", op_statfs},       {"symlink", op_symlink},
    {"touch", op_touch},         {"truncate", op_truncate},
    {"unlink", op_unlink},       {"utimes", op_utimes},
    {"write end", op_write_end}, {"write over", op_write_over},
    {"zero range", op_zero},
};

static call named(const char *name) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (!strcmp(operations[i].name, name)) return operations[i].call;
  fprintf(stderr, "Operations: no operation '%s'\n", name);
  exit(2);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  uid_t user = (uid_t)strtoul(words[1], NULL, 10);
  if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)) return 2;
  umask(0);
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) > 0) {
    line[length - 1] = 0;
    char *rest = line, *name = strsep(&rest, "\t"), *path = strsep(&rest, "\t"), *second = rest;
    if (!path) return 2;
    errno = 0;
    puts(named(name)(path, second ? second : "") < 0 ? strerrorname_np(errno) : "ok");
  }
  return 0;
}
