// An app that checks every answer, while those who serve it are killed: nothing may be done twice,
// nothing may be lost, and no call may fail that would not fail on a local file system.
//
// survivor DIRECTORY MILLISECONDS THREADS works in directories of its own below DIRECTORY.
// survivor DIRECTORY MILLISECONDS 0 asks for what is refused there, and says how often.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { COMPLAINTS = 20, PAGE = 4096, NAMES = 30 };

static const char *root;
static long long deadline;
static atomic_long operations, errors, rounds;
static atomic_llong longest;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void note(const char *name, bool good, int error, long long began) {
  long long took = now() - began, most = atomic_load(&longest);
  while (took > most && !atomic_compare_exchange_weak(&longest, &most, took)) {
  }
  atomic_fetch_add(&operations, 1);
  if (good) return;
  if (atomic_fetch_add(&errors, 1) < COMPLAINTS) printf("%s: %s\n", name, strerrorname_np(error));
}

// A call, and what must be true of it.
#define CHECK(name, condition)             \
  do {                                     \
    long long began = now();               \
    errno = 0;                             \
    bool good = (condition);               \
    note(name, good, errno, began);        \
  } while (0)

struct paths {
  char directory[256], first[300], second[300], third[300], link[300];
};

static struct paths paths_for(int thread, long round) {
  struct paths paths;
  snprintf(paths.directory, sizeof paths.directory, "%s/%d-%d-%ld", root, getpid(), thread, round);
  snprintf(paths.first, sizeof paths.first, "%s/first", paths.directory);
  snprintf(paths.second, sizeof paths.second, "%s/second", paths.directory);
  snprintf(paths.third, sizeof paths.third, "%s/third", paths.directory);
  snprintf(paths.link, sizeof paths.link, "%s/link", paths.directory);
  return paths;
}

static bool holds(const char *path, long size, unsigned links) {
  struct stat status;
  return stat(path, &status) == 0 && status.st_size == size && status.st_nlink == links;
}

static bool is_absent(const char *path) {
  struct stat status;
  return stat(path, &status) != 0 && errno == ENOENT;
}

static void names(const struct paths *paths) {
  CHECK("link", link(paths->first, paths->second) == 0);
  CHECK("rename", rename(paths->second, paths->third) == 0);
  CHECK("what was renamed is there", holds(paths->third, 100, 2));
  CHECK("what was renamed is gone", is_absent(paths->second));
  CHECK("rename without replacing",
        renameat2(AT_FDCWD, paths->third, AT_FDCWD, paths->second, RENAME_NOREPLACE) == 0);
  int file = -1;
  CHECK("create another", (file = open(paths->third, O_CREAT | O_EXCL | O_WRONLY, 0644)) >= 0);
  CHECK("write to it", write(file, "yy", 2) == 2);
  CHECK("close it", close(file) == 0);
  CHECK("rename without replacing what is there",
        renameat2(AT_FDCWD, paths->third, AT_FDCWD, paths->second, RENAME_NOREPLACE) != 0 &&
            errno == EEXIST);
  CHECK("exchange",
        renameat2(AT_FDCWD, paths->third, AT_FDCWD, paths->second, RENAME_EXCHANGE) == 0);
  CHECK("one side of the exchange", holds(paths->third, 100, 2));
  CHECK("the other side", holds(paths->second, 2, 1));
  CHECK("rename over it", rename(paths->second, paths->third) == 0);
  CHECK("what took its place", holds(paths->third, 2, 1));
  CHECK("what lost its place", holds(paths->first, 100, 1));
  CHECK("mkdir where something is", mkdir(paths->third, 0700) != 0 && errno == EEXIST);
  char target[32];
  CHECK("symlink", symlink("target", paths->link) == 0);
  CHECK("readlink", readlink(paths->link, target, sizeof target) == 6);
  CHECK("mkfifo", mkfifo(paths->second, 0600) == 0);
  CHECK("unlink the fifo", unlink(paths->second) == 0);
}

static void attributes(const struct paths *paths, int file) {
  struct stat status;
  CHECK("setxattr", setxattr(paths->first, "user.a", "v", 1, XATTR_CREATE) == 0);
  char value[8];
  CHECK("getxattr", getxattr(paths->first, "user.a", value, sizeof value) == 1);
  CHECK("removexattr", removexattr(paths->first, "user.a") == 0);
  CHECK("removexattr of none", removexattr(paths->first, "user.a") != 0 && errno == ENODATA);
  CHECK("chmod", chmod(paths->first, 0600) == 0);
  CHECK("ftruncate", ftruncate(file, 10) == 0);
  CHECK("its size", fstat(file, &status) == 0 && status.st_size == 10);
  CHECK("its mode", (status.st_mode & 07777) == 0600);
  struct timespec times[2] = {{1000, 1}, {2000, 2}};
  CHECK("utimens", utimensat(AT_FDCWD, paths->first, times, 0) == 0);
  CHECK("its time", stat(paths->first, &status) == 0 && status.st_mtim.tv_sec == 2000);
}

static void appends(const struct paths *paths) {
  char bytes[150];
  memset(bytes, 'x', sizeof bytes);
  int file = -1;
  CHECK("open to append", (file = open(paths->first, O_WRONLY | O_APPEND)) >= 0);
  for (int line = 0; line < 3; line++) CHECK("append", write(file, bytes, 50) == 50);
  CHECK("fsync", fsync(file) == 0);
  CHECK("close", close(file) == 0);
  CHECK("what was appended", holds(paths->first, 160, 1));
  CHECK("open and truncate", (file = open(paths->first, O_WRONLY | O_TRUNC)) >= 0);
  CHECK("close", close(file) == 0);
  CHECK("what was truncated", holds(paths->first, 0, 1));
}

static void locks(const struct paths *paths, int file) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
  CHECK("lock", fcntl(file, F_OFD_SETLK, &lock) == 0);
  int other = -1;
  CHECK("open again", (other = open(paths->first, O_RDWR)) >= 0);
  struct flock same = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1};
  CHECK("a lock that is held", fcntl(other, F_OFD_SETLK, &same) != 0 && errno == EAGAIN);
  lock.l_type = F_UNLCK;
  CHECK("unlock", fcntl(file, F_OFD_SETLK, &lock) == 0);
  CHECK("a lock that is free", fcntl(other, F_OFD_SETLK, &same) == 0);
  CHECK("close", close(other) == 0);
}

static void mappings(int file) {
  CHECK("allocate", posix_fallocate(file, 0, 2 * PAGE) == 0);
  char *bytes = MAP_FAILED;
  CHECK("map", (bytes = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) !=
                   MAP_FAILED);
  if (bytes == MAP_FAILED) return;
  memset(bytes, 'm', 2 * PAGE);
  CHECK("msync", msync(bytes, 2 * PAGE, MS_SYNC) == 0);
  char seen = 0;
  CHECK("read what was mapped", pread(file, &seen, 1, PAGE + 17) == 1 && seen == 'm');
  CHECK("write beside the mapping", pwrite(file, "n", 1, 5) == 1 && bytes[5] == 'n');
  CHECK("unmap", munmap(bytes, 2 * PAGE) == 0);
}

static void listings(const struct paths *paths) {
  char path[320];
  for (int name = 0; name < NAMES; name++) {
    snprintf(path, sizeof path, "%s/entry-%d", paths->directory, name);
    int file = -1;
    CHECK("create an entry", (file = open(path, O_CREAT | O_EXCL | O_RDWR, 0400)) >= 0);
    CHECK("close it", close(file) == 0);
  }
  DIR *directory = NULL;
  CHECK("opendir", (directory = opendir(paths->directory)) != NULL);
  int seen = 0;
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (strncmp(entry->d_name, "entry-", 6) == 0) seen++;
  CHECK("each entry once", seen == NAMES);
  if (directory) CHECK("closedir", closedir(directory) == 0);
  for (int name = 0; name < NAMES; name++) {
    snprintf(path, sizeof path, "%s/entry-%d", paths->directory, name);
    CHECK("unlink an entry", unlink(path) == 0);
  }
}

static void removals(const struct paths *paths, int file) {
  struct stat status;
  char bytes[64];
  CHECK("unlink what is open", unlink(paths->first) == 0);
  CHECK("its links", fstat(file, &status) == 0 && status.st_nlink == 0);
  CHECK("write to it", pwrite(file, "12345678901234567890", 20, 0) == 20);
  CHECK("truncate it", ftruncate(file, 20) == 0);
  CHECK("read it", pread(file, bytes, sizeof bytes, 0) == 20 && bytes[19] == '0');
  CHECK("change its mode", fchmod(file, 0640) == 0);
  CHECK("close it", close(file) == 0);
  CHECK("it is gone", is_absent(paths->first));
  CHECK("unlink", unlink(paths->third) == 0);
  CHECK("unlink twice", unlink(paths->third) != 0 && errno == ENOENT);
  CHECK("unlink the link", unlink(paths->link) == 0);
  CHECK("rmdir", rmdir(paths->directory) == 0);
  CHECK("rmdir twice", rmdir(paths->directory) != 0 && errno == ENOENT);
}

static void *work(void *argument) {
  int thread = (int)(long)argument;
  for (long round = 0; now() < deadline; round++) {
    struct paths paths = paths_for(thread, round);
    char bytes[100];
    memset(bytes, 'x', sizeof bytes);
    int file = -1;
    struct stat status;
    CHECK("mkdir", mkdir(paths.directory, 0755) == 0);
    CHECK("create", (file = open(paths.first, O_CREAT | O_EXCL | O_RDWR, 0644)) >= 0);
    CHECK("write", write(file, bytes, 100) == 100);
    CHECK("fstat", fstat(file, &status) == 0 && status.st_size == 100);
    CHECK("read", pread(file, bytes, 100, 0) == 100 && bytes[99] == 'x');
    names(&paths);
    attributes(&paths, file);
    appends(&paths);
    locks(&paths, file);
    mappings(file);
    listings(&paths);
    removals(&paths, file);
    atomic_fetch_add(&rounds, 1);
  }
  return NULL;
}

// Each of these is refused, and each is to be in the log once.
static void ask_for_what_is_refused(void) {
  char path[300];
  for (long round = 0; now() < deadline; round++) {
    snprintf(path, sizeof path, "%s/refused-%ld", root, round);
    CHECK("what is refused", mkdir(path, 0755) != 0 && errno == EACCES);
    atomic_fetch_add(&rounds, 1);
  }
}

int main(int count, char **words) {
  if (count != 4) return 2;
  root = words[1];
  deadline = now() + atoll(words[2]) * 1000000;
  long threads = atol(words[3]);
  pthread_t all[64];
  if (threads > 64) return 2;
  if (threads == 0) ask_for_what_is_refused();
  for (long thread = 0; thread < threads; thread++)
    if (pthread_create(&all[thread], NULL, work, (void *)thread) != 0) return 2;
  for (long thread = 0; thread < threads; thread++) pthread_join(all[thread], NULL);
  printf("rounds %ld operations %ld errors %ld longest %.1f ms\n", atomic_load(&rounds),
         atomic_load(&operations), atomic_load(&errors), (double)atomic_load(&longest) / 1e6);
  return atomic_load(&errors) != 0;
}
