// Many processes at a few names: whatever they do to each other, each answer is one that a local
// file system gives, and an open file stays the file that it is.
//
// Each regular file is born under a private name with a token that can be told from any other
// content, and moved to where all see it; so whoever opens it later can tell whether what it
// reads, and what it asks the same descriptor again, is one file.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DIRECTORIES = 4, NAMES = 10, TOKEN = 32, COMPLAINTS = 20 };

struct shared {
  atomic_long operations, failures, strange;
  atomic_bool stop;
};
static struct shared *shared;
static uint64_t state;
static int number;

static unsigned below(unsigned limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % limit;
}

static void complain(const char *operation, const char *what) {
  if (atomic_fetch_add(&shared->strange, 1) < COMPLAINTS)
    printf("process %d: %s: %s\n", number, operation, what);
  fflush(stdout);
}

// Counts an operation; an error that no local file system gives here is a complaint.
static bool done(const char *operation, long result, const int *allowed) {
  atomic_fetch_add(&shared->operations, 1);
  if (result >= 0) return true;
  atomic_fetch_add(&shared->failures, 1);
  for (const int *code = allowed; *code; code++)
    if (*code == errno) return false;
  complain(operation, strerrorname_np(errno));
  return false;
}

static const int absent[] = {ENOENT, ENOTDIR, 0};
static const int taken[] = {ENOENT, ENOTDIR, EEXIST, 0};
static const int moving[] = {ENOENT, ENOTDIR, EEXIST, EISDIR, ENOTEMPTY, EINVAL, EBUSY, 0};
static const int opening[] = {ENOENT, ENOTDIR, EEXIST, EISDIR, ELOOP, ENXIO, 0};
static const int removing[] = {ENOENT, ENOTDIR, EISDIR, ENOTEMPTY, EPERM, 0};
static const int linking[] = {ENOENT, ENOTDIR, EEXIST, EPERM, 0};
static const int reading[] = {ENOENT, ENOTDIR, EINVAL, 0};
static const int none[] = {0};

static const char *somewhere(void) {
  static char paths[4][64];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  if (below(8) == 0) snprintf(path, 64, "d%u/n%u/n%u", below(DIRECTORIES), below(NAMES), below(3));
  else snprintf(path, 64, "d%u/n%u", below(DIRECTORIES), below(NAMES));
  return path;
}

static void make_token(char *token, unsigned serial) {
  memset(token, '.', TOKEN);
  uint32_t check = (uint32_t)number * 2654435761u ^ serial * 2246822519u;
  snprintf(token, TOKEN, "%04d %08u %08x", number, serial, check);
}

static bool is_token(const char *token) {
  int who;
  unsigned serial, check;
  if (sscanf(token, "%d %u %x", &who, &serial, &check) != 3) return false;
  return check == ((uint32_t)who * 2654435761u ^ serial * 2246822519u);
}

// A new file with a token, moved to a name of all.
static void bear(void) {
  static unsigned serial;
  char private[64], token[TOKEN], back[TOKEN];
  struct stat status;
  snprintf(private, sizeof private, "private-%d-%u", number, ++serial);
  make_token(token, serial);
  int file = open(private, O_CREAT | O_EXCL | O_RDWR, 0644);
  if (!done("create", file, none)) return;
  done("write", write(file, token, TOKEN), none);
  if (!done("rename of the new", renameat2(AT_FDCWD, private, AT_FDCWD, somewhere(), below(2)),
            moving))
    done("unlink of the new", unlink(private), none);
  if (pread(file, back, TOKEN, 0) != TOKEN || memcmp(token, back, TOKEN) != 0)
    complain("read of the new", "another content");
  if (fstat(file, &status) != 0 || status.st_size != TOKEN) complain("fstat", "another size");
  close(file);
}

static void check_open(int file) {
  char token[TOKEN], again[TOKEN], path[64];
  struct stat before, after;
  if (!done("fstat", fstat(file, &before), none) || !S_ISREG(before.st_mode)) return;
  if (pread(file, token, TOKEN, 0) != TOKEN || !is_token(token)) complain("read", "no token");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int other = open(path, O_RDONLY);
  if (done("open again", other, none)) {
    if (pread(other, again, TOKEN, 0) != TOKEN || memcmp(token, again, TOKEN) != 0)
      complain("read again", "another file");
    close(other);
  }
  if (below(4) == 0) done("fchmod", fchmod(file, 0600 | below(64)), none);
  if (below(4) == 0) done("futimens", futimens(file, NULL), none);
  if (!done("fstat", fstat(file, &after), none)) return;
  if (before.st_ino != after.st_ino || before.st_size != after.st_size)
    complain("fstat", "another inode or size");
}

static void open_one(void) {
  int file = open(somewhere(), (below(2) ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK);
  if (!done("open", file, opening)) return;
  check_open(file);
  if (below(3) == 0) {
    done("unlink", unlink(somewhere()), removing);
    check_open(file);
  }
  close(file);
}

static void list_one(void) {
  DIR *directory = opendir(below(2) ? "." : somewhere());
  if (!done("opendir", directory ? 0 : -1, opening)) return;
  struct dirent *entry;
  struct stat status;
  errno = 0;
  while ((entry = readdir(directory)))
    if (below(4) == 0)
      done("stat of the listed", fstatat(dirfd(directory), entry->d_name, &status,
                                         AT_SYMLINK_NOFOLLOW), absent);
  closedir(directory);
}

static void act(void) {
  struct stat status;
  char target[64];
  switch (below(16)) {
  case 0:
  case 1:
  case 2: return bear();
  case 3:
  case 4: return open_one();
  case 5: done("mkdir", mkdir(somewhere(), 0755), taken); return;
  case 6: done("rmdir", rmdir(somewhere()), removing); return;
  case 7: done("unlink", unlink(somewhere()), removing); return;
  case 8: done("rename", rename(somewhere(), somewhere()), moving); return;
  case 9:
    done("exchange", renameat2(AT_FDCWD, somewhere(), AT_FDCWD, somewhere(), RENAME_EXCHANGE),
         moving);
    return;
  case 10: done("link", link(somewhere(), somewhere()), linking); return;
  case 11: done("symlink", symlink("nowhere", somewhere()), taken); return;
  case 12: done("readlink", readlink(somewhere(), target, sizeof target), reading); return;
  case 13: return list_one();
  case 14: done("mkfifo", mkfifo(somewhere(), 0600), taken); return;
  default: done("stat", lstat(somewhere(), &status), absent); return;
  }
}

static void run(void) {
  while (!atomic_load(&shared->stop)) act();
}

int main(int count, char **words) {
  if (count != 5) {
    fprintf(stderr, "usage: storm DIRECTORY PROCESSES MILLISECONDS SEED\n");
    return 2;
  }
  int processes = atoi(words[2]);
  long milliseconds = atol(words[3]);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || chdir(words[1]) != 0) return 1;
  umask(022);
  for (int index = 0; index < DIRECTORIES; index++) {
    char name[8];
    snprintf(name, sizeof name, "d%d", index);
    mkdir(name, 0755);
  }
  for (number = 0; number < processes; number++) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      state = strtoull(words[4], NULL, 0) * 1000003u + (unsigned)number;
      run();
      _exit(0);
    }
  }
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
  atomic_store(&shared->stop, true);
  int status;
  for (int index = 0; index < processes; index++) {
    wait(&status);
    if (status != 0) complain("a process", "has failed");
  }
  printf("%ld operations, %ld failed, %ld strange\n", shared->operations, shared->failures,
         shared->strange);
  return shared->strange != 0;
}
