// flock(2), POSIX locks and open file description locks, between processes.
#include "cases.h"
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static int lock(int file, int command, short type, off_t start, off_t length) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  return fcntl(file, command, &lock);
}

static void say_holder(const char *step, int file, int command, short type, off_t start) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
  if (fcntl(file, command, &lock) < 0) return say_number(step, -1);
  if (lock.l_type == F_UNLCK) return say(step, "free");
  say(step, "type %d, from %lld, %lld long, %s", lock.l_type, (long long)lock.l_start,
      (long long)lock.l_len, lock.l_pid == getppid() ? "the parent's" : lock.l_pid == -1 ? "a description's" : "another's");
}

static int f;

static void flock_in_child(void) {
  int g = (int)MUST(open("f", O_RDWR));
  DONE(flock(g, LOCK_SH | LOCK_NB));
  DONE(flock(g, LOCK_EX | LOCK_NB));
  // The inherited descriptor is the parent's description.
  DONE(flock(f, LOCK_EX | LOCK_NB));
  DONE(flock(f, LOCK_SH | LOCK_NB));
}

static void flocks(void) {
  f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  DONE(flock(f, LOCK_EX));
  in_child(flock_in_child);
  DONE(flock(f, LOCK_SH));
  in_child(flock_in_child);
  DONE(flock(f, LOCK_UN));
  in_child(flock_in_child);
  int r = (int)MUST(open("f", O_RDONLY));
  DONE(flock(r, LOCK_EX | LOCK_NB));
  int g = (int)MUST(open("f", O_RDONLY));
  DONE(flock(g, LOCK_EX | LOCK_NB));
  DONE(close(r));
  DONE(flock(g, LOCK_EX | LOCK_NB));
  int d = (int)MUST(open(".", O_RDONLY));
  DONE(flock(d, LOCK_EX | LOCK_NB));
  DONE(flock(f, 77));
}

static void posix_in_child(void) {
  say_holder("holder of 5", f, F_GETLK, F_WRLCK, 5);
  say_holder("holder of 15, to read", f, F_GETLK, F_RDLCK, 15);
  say_holder("holder of 100", f, F_GETLK, F_WRLCK, 100);
  DONE(lock(f, F_SETLK, F_WRLCK, 5, 1));
  DONE(lock(f, F_SETLK, F_RDLCK, 15, 1));
  DONE(lock(f, F_SETLK, F_WRLCK, 15, 1));
  DONE(lock(f, F_SETLK, F_WRLCK, 100, 0));
  DONE(lock(f, F_OFD_SETLK, F_WRLCK, 5, 1));
}

static void posix_locks(void) {
  f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  DONE(lock(f, F_SETLK, F_WRLCK, 0, 10));
  DONE(lock(f, F_SETLK, F_RDLCK, 10, 10));
  in_child(posix_in_child);
  DONE(lock(f, F_SETLK, F_UNLCK, 4, 3));
  in_child(posix_in_child);
  int g = (int)MUST(open("f", O_RDWR));
  DONE(lock(g, F_SETLK, F_WRLCK, 5, 100));
  DONE(close(g));
  in_child(posix_in_child);
  int r = (int)MUST(open("f", O_RDONLY));
  DONE(lock(r, F_SETLK, F_WRLCK, 0, 1));
  DONE(lock(r, F_SETLK, F_RDLCK, 0, 1));
  DONE(lock(f, F_SETLK, F_WRLCK, -5, 1));
  DONE(lock(f, F_SETLK, 99, 0, 1));
}

static void description_in_child(void) {
  int g = (int)MUST(open("f", O_RDWR));
  say_holder("holder of 5", g, F_OFD_GETLK, F_WRLCK, 5);
  DONE(lock(g, F_OFD_SETLK, F_WRLCK, 5, 1));
  DONE(lock(g, F_SETLK, F_WRLCK, 5, 1));
  DONE(lock(f, F_OFD_SETLK, F_WRLCK, 5, 1));
}

static void description_locks(void) {
  f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  int g = (int)MUST(open("f", O_RDWR));
  DONE(lock(f, F_OFD_SETLK, F_WRLCK, 0, 10));
  DONE(lock(g, F_OFD_SETLK, F_WRLCK, 5, 1));
  DONE(lock(g, F_OFD_SETLK, F_RDLCK, 10, 1));
  in_child(description_in_child);
  DONE(close(g));
  in_child(description_in_child);
  DONE(lock(f, F_OFD_SETLK, F_UNLCK, 0, 0));
  in_child(description_in_child);
}

enum { COUNTERS = 4, ROUNDS = 200 };

// Each adds to a number in the file under a lock that waits.
static void count_up(int kind) {
  int file = (int)MUST(open("f", O_RDWR));
  for (int round = 0; round < ROUNDS; round++) {
    int number = 0;
    if (kind == 0) MUST(flock(file, LOCK_EX));
    if (kind == 1) MUST(lock(file, F_SETLKW, F_WRLCK, 0, 0));
    if (kind == 2) MUST(lock(file, F_OFD_SETLKW, F_WRLCK, 0, 0));
    MUST(pread(file, &number, sizeof number, 0));
    number++;
    MUST(pwrite(file, &number, sizeof number, 0));
    if (kind == 0) MUST(flock(file, LOCK_UN));
    if (kind == 1) MUST(lock(file, F_SETLK, F_UNLCK, 0, 0));
    if (kind == 2) MUST(lock(file, F_OFD_SETLK, F_UNLCK, 0, 0));
  }
}

static void waiting(void) {
  static const char *const kinds[] = {"flock", "POSIX locks", "locks of descriptions"};
  for (int kind = 0; kind < 3; kind++) {
    int number = 0;
    int file = (int)MUST(open("f", O_CREAT | O_TRUNC | O_RDWR, 0600));
    MUST(write(file, &number, sizeof number));
    pid_t children[COUNTERS];
    for (int index = 0; index < COUNTERS; index++) {
      children[index] = fork();
      if (children[index] == 0) {
        count_up(kind);
        _exit(0);
      }
    }
    for (int index = 0; index < COUNTERS; index++) waitpid(children[index], NULL, 0);
    MUST(pread(file, &number, sizeof number, 0));
    say(kinds[kind], "%d", number);
    close(file);
  }
}

static void nothing(int number) { (void)number; }

static void interrupted_in_child(void) {
  struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGALRM, &action, NULL);
  int g = (int)MUST(open("f", O_RDWR));
  alarm(1);
  DONE(flock(g, LOCK_EX));
}

static void interrupted(void) {
  f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(flock(f, LOCK_EX));
  in_child(interrupted_in_child);
}

const struct entry locks[] = {
    {"flock", flocks},
    {"POSIX locks", posix_locks},
    {"locks of open file descriptions", description_locks},
    {"locks that wait", waiting},
    {"a lock that a signal interrupts", interrupted},
    {0},
};
