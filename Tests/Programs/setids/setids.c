// Whatever changes the bytes of a file takes its set-id bits away, whoever does it, while others
// create files as several users: no thread of a daemon may keep what it borrowed for a request.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREATORS = 6, WRITERS = 4, ROUNDS = 60, OWNER = 4001, STRANGER = 4003 };

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static void become(uid_t user) {
  if (setegid(0) != 0 || seteuid(0) != 0 || setgroups(0, NULL) != 0) fail("back to root");
  if (user != 0 && (setegid(user) != 0 || seteuid(user) != 0)) fail("become");
}

static void write_some(const char *path) {
  int file = open(path, O_WRONLY);
  if (write(file, "x", 1) != 1) fail("write");
  close(file);
}
static void append(const char *path) {
  int file = open(path, O_WRONLY | O_APPEND);
  if (write(file, "x", 1) != 1) fail("append");
  close(file);
}
static void open_truncated(const char *path) { close(open(path, O_WRONLY | O_TRUNC)); }
static void shorten(const char *path) {
  if (truncate(path, 1) != 0) fail("truncate");
}
static void lengthen_open(const char *path) {
  int file = open(path, O_RDWR);
  if (ftruncate(file, 10000) != 0) fail("ftruncate");
  close(file);
}
static void allocate(const char *path) {
  int file = open(path, O_RDWR);
  if (fallocate(file, 0, 0, 8192) != 0) fail("fallocate");
  close(file);
}
static void punch(const char *path) {
  int file = open(path, O_RDWR);
  if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0) fail("punch");
  close(file);
}
static void copy(const char *path) {
  int file = open(path, O_RDWR), source = open("source", O_RDONLY);
  off_t from = 0, to = 0;
  if (copy_file_range(source, &from, file, &to, 100, 0) != 100) fail("copy_file_range");
  close(file), close(source);
}
static void give(const char *path) {
  if (geteuid() != 0) return write_some(path);
  if (chown(path, STRANGER, STRANGER) != 0) fail("chown");
}

static const struct {
  const char *name;
  void (*change)(const char *);
} changes[] = {{"write", write_some},      {"append", append},
               {"O_TRUNC", open_truncated}, {"truncate", shorten},
               {"ftruncate", lengthen_open}, {"fallocate", allocate},
               {"punching a hole", punch}, {"copy_file_range", copy},
               {"chown", give}};

// Makes the daemon's threads act as many users, and keep set-group-ID bits where it is right.
static void create_forever(int number) {
  become(OWNER + (uid_t)number);
  for (unsigned turn = 0;; turn++) {
    char path[64];
    snprintf(path, sizeof path, "of-%d-%u", number, turn % 8);
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 02755);
    if (file >= 0) fchmod(file, 02711), close(file);
    unlink(path);
  }
}

static int check(const char *path, const char *change, uid_t user) {
  struct stat status;
  if (stat(path, &status) != 0) fail(path);
  // Where root changes the owner, a bit stays that does not mean execution.
  bool is_kept = user == 0 && strcmp(change, "chown") == 0 && !(status.st_mode & S_IXGRP);
  mode_t bits = is_kept ? S_ISUID : S_ISUID | S_ISGID;
  if (!(status.st_mode & bits)) return 0;
  printf("%s as %u leaves %04o\n", change, user, status.st_mode & 07777);
  return 1;
}

static int change_all(int number) {
  char path[64];
  int failures = 0;
  snprintf(path, sizeof path, "changed-%d", number);
  for (int round = 0; round < ROUNDS; round++)
    for (size_t index = 0; index < sizeof changes / sizeof *changes; index++) {
      // Root's group, the owner's own, and one of which the writer is no member; S_ISGID with and
      // without execution for the group.
      static const gid_t groups[] = {0, OWNER, STRANGER};
      uid_t user = (uid_t[]){STRANGER, 0, OWNER}[round % 3];
      become(0);
      int file = open(path, O_CREAT | O_RDWR, 0600);
      if (file < 0 || fchown(file, OWNER, groups[round / 3 % 3]) != 0) fail("prepare");
      if (fchmod(file, round % 2 ? 06777 : 06767) != 0) fail("fchmod");
      close(file);
      become(user);
      changes[index].change(path);
      failures += check(path, changes[index].name, user);
    }
  return failures != 0;
}

int main(int count, char **words) {
  if (count != 2 || chdir(words[1]) != 0) return fprintf(stderr, "usage: setids DIRECTORY\n"), 2;
  umask(0);
  chmod(".", 0777);
  int source = open("source", O_CREAT | O_RDWR, 0644);
  if (ftruncate(source, 4096) != 0) fail("source");
  pid_t processes[CREATORS + WRITERS];
  for (int number = 0; number < CREATORS + WRITERS; number++) {
    fflush(stdout);
    processes[number] = fork();
    if (processes[number] != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (number < CREATORS) create_forever(number);
    exit(change_all(number));
  }
  int failures = 0, status;
  for (int number = CREATORS; number < CREATORS + WRITERS; number++) {
    waitpid(processes[number], &status, 0);
    failures += status != 0;
  }
  for (int number = 0; number < CREATORS; number++) {
    kill(processes[number], SIGKILL);
    waitpid(processes[number], &status, 0);
  }
  return failures != 0;
}
