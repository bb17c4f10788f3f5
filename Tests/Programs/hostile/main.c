// A program that tries to get out of its container, and to change its bundle.
//
// Usage: hostile user|root IDENTIFIER SECRET NAME=VALUE... — `root` first makes itself root of a
// user and mount namespace of its own; then follow the identifier of another app, a text that only
// that app has, and what is known of the host: `daemon` and `launcher` are processes, `port` is one
// of the host's loopback on which somebody listens, `memory` the key of shared memory; all others
// are paths that must not exist here.
//
// Prints `NAME: ERRNO` for each attempt that was refused, `NAME: done` for one that was not, and
// `found: PATH` for each trace of the other app.
#include "hostile.h"

#include <stdbool.h>
#include <sys/prctl.h>

char self[512], bundle[512];
const char *home = "/home/app";
static char **facts;
static int attempts;

void begin_attempt(void) {
  char name[16];
  snprintf(name, sizeof name, "attempt-%d", attempts++);
  prctl(PR_SET_NAME, name);
  errno = 0;
}

void end_attempt(const char *name, int result) {
  const char *refusal = errno == was_killed   ? "SIGSYS"
                        : errno == was_not_so ? "no"
                                              : strerrorname_np(errno);
  printf("%s: %s\n", name, result >= 0 ? "done" : refusal);
  fflush(stdout);
}

const char *host(const char *name) {
  size_t length = strlen(name);
  for (char **fact = facts; *fact; fact++)
    if (!strncmp(*fact, name, length) && (*fact)[length] == '=') return *fact + length + 1;
  return "";
}

const char *in(const char *directory, const char *name) {
  static char paths[4][1024];
  static int next;
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", directory, name);
  return paths[next];
}

int opened(const char *path, int flags) {
  int file = open(path, flags, 0755);
  if (file >= 0) close(file);
  return file;
}

int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  return errno == 0 ? 0 : -1;
}

int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  int result = file < 0 || write(file, text, strlen(text)) < 0 ? -1 : 0;
  int error = errno;
  close(file);
  errno = error;
  return result;
}

static int become_root(void) {
  char uids[64], gids[64];
  snprintf(uids, sizeof uids, "0 %d 1", getuid());
  snprintf(gids, sizeof gids, "0 %d 1", getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (write_text("/proc/self/setgroups", "deny") != 0) return -1;
  if (write_text("/proc/self/uid_map", uids) != 0) return -1;
  return write_text("/proc/self/gid_map", gids);
}

static bool is_fact_of_paths(const char *fact) {
  return strncmp(fact, "daemon=", 7) && strncmp(fact, "port=", 5) && strncmp(fact, "memory=", 7);
}

int main(int count, char *arguments[]) {
  if (count > 1 && !strcmp(arguments[1], "--executed")) return 0;
  if (count < 4) return 2;
  facts = arguments + 4;
  bool is_root = !strcmp(arguments[1], "root");
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return 2;
  memcpy(bundle, self, (size_t)length);
  *strrchr(bundle, '/') = 0;
  // In both, so that an attempt has the same number.
  report("becoming root", is_root ? become_root() : (errno = EPERM, -1));
  change_bundle();
  execute_what_it_wrote();
  change_structure();
  make_strange_files();
  leave_by_paths();
  look_for_traces(arguments[2], arguments[3]);
  for (char **fact = facts; *fact; fact++) {
    char name[128];
    snprintf(name, sizeof name, "way: %.*s", (int)strcspn(*fact, "="), *fact);
    if (is_fact_of_paths(*fact)) report(name, opened(strchr(*fact, '=') + 1, O_RDONLY));
  }
  reach_processes();
  reach_others();
  try_system_calls();
  try_doors(is_root);
  return 0;
}
