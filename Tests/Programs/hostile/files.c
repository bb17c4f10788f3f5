// The home's structure, files that are more than files, and ways that lead up or elsewhere.
#include "hostile.h"

#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

void change_structure(void) {
  report("structure: remove tmp", rmdir("/home/app/tmp"));
  report("structure: rename Library/Caches",
         rename("/home/app/Library/Caches", "/home/app/Documents/Caches"));
  report("structure: replace Documents",
         rename("/home/app/Library/Preferences", "/home/app/Documents"));
  report("structure: exchange Documents",
         renameat2(AT_FDCWD, "/home/app/Documents", AT_FDCWD, "/home/app/tmp", RENAME_EXCHANGE));
  report("structure: link in the place of Library/Caches",
         (rmdir("/home/app/Library/Caches") || symlink("/", "/home/app/Library/Caches")) ? -1 : 0);
  mkdir("/home/app/tmp/d", 0700);
  report("structure: over the bundle", rename("/home/app/tmp/d", bundle));
  report("structure: new entry", mkdir("/home/app/Other", 0755));
  report("structure: small letters", mkdir("/home/app/documents", 0755));
  report("structure: an invisible letter", mkdir("/home/app/Documents\u200b", 0755));
  report("structure: a bundle of its own", mkdir("/home/app/hostile.app", 0755));
  report("structure: /tmp", unlink("/tmp"));
  report("structure: /etc/passwd", opened("/etc/passwd", O_WRONLY));
  report("structure: /usr", opened("/usr/bin/sandboxfs-test", O_WRONLY | O_CREAT));
}

static int link_open_file(const char *path, const char *to) {
  char way[64];
  int file = open(path, O_RDONLY);
  if (file < 0) return -1;
  snprintf(way, sizeof way, "/proc/self/fd/%d", file);
  int result = linkat(AT_FDCWD, way, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
  int error = errno;
  close(file);
  errno = error;
  return result;
}

static int execute_with_set_id(const char *path) {
  if (copy_self(path) != 0 || chmod(path, 06755) != 0) return -1;
  int result = execute(path);
  int error = errno;
  unlink(path);
  errno = error;
  return result;
}

static int give_capability(const char *path) {
  // VFS_CAP_REVISION_2, effective, with CAP_SYS_ADMIN permitted.
  const uint32_t words[5] = {0x02000001, 1u << 21, 0, 0, 0};
  close(open(path, O_WRONLY | O_CREAT, 0755));
  int result = setxattr(path, "security.capability", words, sizeof words, 0);
  int error = errno;
  unlink(path);
  errno = error;
  return result;
}

static int write_into_mapping(void) {
  int file = open(self, O_RDONLY);
  void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  int memory = open("/proc/self/mem", O_RDWR);
  ssize_t result = pwrite(memory, "x", 1, (off_t)(uintptr_t)map);
  int error = errno;
  close(memory);
  close(file);
  munmap(map, 4096);
  errno = error;
  return result < 0 ? -1 : 0;
}

static int map_for_writing(void) {
  int file = open(self, O_RDONLY);
  void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int error = errno;
  close(file);
  errno = error;
  return map == MAP_FAILED ? -1 : 0;
}

static int open_again_for_writing(void) {
  char way[64];
  int file = open(self, O_RDONLY);
  snprintf(way, sizeof way, "/proc/self/fd/%d", file);
  int result = opened(way, O_WRONLY);
  int error = errno;
  close(file);
  errno = error;
  return result;
}

void make_strange_files(void) {
  report("file: character device in Documents",
         mknod("/home/app/Documents/null", S_IFCHR | 0666, makedev(1, 3)));
  report("file: block device in tmp", mknod("/home/app/tmp/disk", S_IFBLK | 0666, makedev(8, 0)));
  report("file: device in /dev/shm", mknod("/dev/shm/mem", S_IFCHR | 0666, makedev(1, 1)));
  report("file: set-id program in Documents", execute_with_set_id("/home/app/Documents/root"));
  report("file: set-id program in /dev/shm", execute_with_set_id("/dev/shm/root"));
  report("file: capability", give_capability("/home/app/Documents/capable"));
  report("file: hard link to the bundle's", link_open_file(self, "/home/app/tmp/linked"));
  report("file: hard link to the system's", link("/usr/bin/env", "/home/app/tmp/env"));
  report("file: whiteout", renameat2(AT_FDCWD, "/home/app/tmp/d", AT_FDCWD, "/home/app/tmp/e",
                                     RENAME_WHITEOUT));
  report("file: map the bundle's for writing", map_for_writing());
  report("file: write the bundle's by /proc/self/mem", write_into_mapping());
  report("file: open the bundle's again for writing", open_again_for_writing());
}

// MARK: Ways

static atomic_bool is_over;

static void *swap(void *nothing) {
  while (!atomic_load(&is_over))
    renameat2(AT_FDCWD, "/home/app/tmp/swap", AT_FDCWD, "/home/app/tmp/link", RENAME_EXCHANGE);
  return nothing;
}

// Goes through a name that is a directory now and a link to the root directory then.
static int race_by_swap(void) {
  pthread_t thread;
  int result = -1;
  mkdir("/home/app/tmp/swap", 0700);
  if (symlink("/", "/home/app/tmp/link") != 0) return -1;
  if (pthread_create(&thread, NULL, swap, NULL) != 0) return -1;
  for (int turn = 0; turn < 2000 && result < 0; turn++)
    result = opened("/home/app/tmp/swap/etc/shadow", O_RDONLY);
  int error = errno;
  atomic_store(&is_over, true);
  pthread_join(thread, NULL);
  errno = error;
  return result;
}

// Keeps a directory open, has it moved deeper and goes up from it.
static int up_from_moved(void) {
  mkdir("/home/app/tmp/a", 0700);
  mkdir("/home/app/tmp/a/b", 0700);
  int directory = open("/home/app/tmp/a/b", O_RDONLY | O_DIRECTORY);
  if (directory < 0 || rename("/home/app/tmp/a/b", "/home/app/tmp/b") != 0) return -1;
  int file = openat(directory, "../../../../../../etc/shadow", O_RDONLY);
  int error = errno;
  close(directory);
  errno = error;
  return file;
}

void leave_by_paths(void) {
  report("way: up from the home", opened("/home/app/../../../../etc/shadow", O_RDONLY));
  report("way: up from a moved directory", up_from_moved());
  report("way: the own root", opened("/proc/self/root/../../etc/shadow", O_RDONLY));
  report("way: the first process's root", opened("/proc/1/root/etc/shadow", O_RDONLY));
  report("way: the first process's directory", opened("/proc/1/cwd/etc/shadow", O_RDONLY));
  report("way: a link and a directory that change places", race_by_swap());
  // For who tidies up when all is over: see the test.
  symlink(host("canary"), "/home/app/tmp/canary");
  symlink(host("canary"), "/home/app/Library/Caches/canary");
}
