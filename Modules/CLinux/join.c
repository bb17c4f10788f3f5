// A process that joins a container which others have made, with no more rights than theirs.
//
// It comes from outside with more than it may take along: so nothing inside can look at it (it is
// not dumpable) until it has given up everything and executes a program of the container's.
#include "CLinux_join.h"
#include "CLinux_namespaces.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { first_free = 64, namespace_count = 7 };

static const struct {
  const char *name;
  int type;
} namespaces[namespace_count] = {
    {"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},      {"ipc", CLONE_NEWIPC},
    {"uts", CLONE_NEWUTS},   {"cgroup", CLONE_NEWCGROUP}, {"net", CLONE_NEWNET},
    {"pid", CLONE_NEWPID},
};

struct joining {
  const struct clinux_join *join;
  int report;
  pid_t parent;
};

static _Noreturn void stop(struct joining *joining, const char *what) {
  struct clinux_join_report report = {.pid = -1, .error = errno};
  strncpy(report.what, what, sizeof report.what - 1);
  ssize_t ignored = write(joining->report, &report, sizeof report);
  (void)ignored;
  _exit(125);
}

// The streams take their places, and nothing else of the caller's goes along.
static void take_streams(struct joining *joining) {
  int copies[3];
  for (int stream = 0; stream < 3; stream++)
    if ((copies[stream] = fcntl(joining->join->streams[stream], F_DUPFD_CLOEXEC, first_free)) < 0)
      stop(joining, "streams");
  for (int stream = 0; stream < 3; stream++)
    if (dup2(copies[stream], stream) < 0) stop(joining, "streams");
  if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0)
    stop(joining, "streams");
}

// Who was root becomes the app's user first: from here on root and an ordinary user are alike.
static void become_the_app(struct joining *joining) {
  const struct clinux_join *join = joining->join;
  if (geteuid() == 0) {
    if (syscall(SYS_setgroups, 0, NULL) != 0 ||
        syscall(SYS_setresgid, join->gid, join->gid, join->gid) != 0 ||
        syscall(SYS_setresuid, join->uid, join->uid, join->uid) != 0)
      stop(joining, "identity");
  }
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) stop(joining, "identity");
}

// A network that is shared with the host need not be joined, and only root could.
static int is_in(int file, const char *name) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/ns/%s", name);
  struct stat there, here;
  return fstat(file, &there) == 0 && stat(path, &here) == 0 && there.st_ino == here.st_ino &&
         there.st_dev == here.st_dev;
}

// The user namespace that owns the others is joined first: whoever made it has every right in it.
// The innermost comes last, since it has none over the others.
static void enter(struct joining *joining) {
  const int *files = joining->join->namespaces;
  int owner = ioctl(files[1], NS_GET_USERNS);
  if (owner < 0 || setns(owner, CLONE_NEWUSER) != 0) stop(joining, "user namespace");
  for (int index = 1; index < namespace_count; index++)
    if (files[index] >= 0 && setns(files[index], namespaces[index].type) != 0)
      stop(joining, namespaces[index].name);
  // EINVAL: there is no inner one.
  if (setns(files[0], CLONE_NEWUSER) != 0 && errno != EINVAL) stop(joining, "user namespace");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) stop(joining, "identity");
}

static void give_up_rights(struct joining *joining) {
  for (int capability = 0; capability < 64; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL)
      stop(joining, "capabilities");
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  if (syscall(SYS_capset, &head, none) != 0) stop(joining, "capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) stop(joining, "no_new_privs");
  if (joining->join->is_scoped && clinux_keep_from_abstract_sockets() != 0)
    stop(joining, "sockets");
}

static _Noreturn void run_inside(struct joining *joining, int alive) {
  const struct clinux_join *join = joining->join;
  // Its end must not be missed: before the first call nobody told us of it.
  struct pollfd waiting = {.fd = alive, .events = POLLIN};
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || poll(&waiting, 1, 0) != 0) _exit(125);
  if (setsid() < 0) stop(joining, "session");
  if (join->has_terminal && ioctl(0, TIOCSCTTY, 0) != 0) stop(joining, "terminal");
  if (chdir(join->directory) != 0) stop(joining, "directory");
  give_up_rights(joining);
  if (clinux_forget_signals() != 0) stop(joining, "signals");
  struct sock_fprog filter = {(unsigned short)(join->filter_size / sizeof(struct sock_filter)),
                              (struct sock_filter *)join->filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) stop(joining, "filter");
  execve(join->program, join->arguments, join->environment);
  stop(joining, "execution");
}

static int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 125;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The namespace of processes holds only for children, so there is one who stays in between.
static _Noreturn void run_between(struct joining *joining) {
  take_streams(joining);
  if (setsid() < 0) stop(joining, "session");
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
  struct rlimit core = {1, 1};
  if (setrlimit(RLIMIT_CORE, &core) != 0) stop(joining, "limits");
  become_the_app(joining);
  enter(joining);
  // A change of identity has forgotten it.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) stop(joining, "death signal");
  if (getppid() != joining->parent) _exit(125);
  int alive[2];
  if (pipe2(alive, O_CLOEXEC) != 0) stop(joining, "pipe");
  pid_t child = fork();
  if (child < 0) stop(joining, "process");
  if (child == 0) {
    close(alive[1]);
    run_inside(joining, alive[0]);
  }
  struct clinux_join_report report = {.pid = child};
  ssize_t ignored = write(joining->report, &report, sizeof report);
  (void)ignored;
  // A terminal, and a pipe that somebody waits for the end of, are not kept open from here.
  for (int stream = 0; stream < 3; stream++) close(stream);
  close(joining->report);
  _exit(end_of(child));
}

int clinux_open_namespaces(pid_t pid, int files[CLINUX_NAMESPACES]) {
  for (int index = 0; index < namespace_count; index++) files[index] = -1;
  for (int index = 0; index < namespace_count; index++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, namespaces[index].name);
    files[index] = open(path, O_RDONLY | O_CLOEXEC);
    if (files[index] >= 0 && namespaces[index].type == CLONE_NEWNET &&
        is_in(files[index], namespaces[index].name)) {
      close(files[index]);
      files[index] = -1;
      continue;
    }
    // A kernel may have been built without one of them.
    if (files[index] >= 0 || errno == ENOENT) continue;
    int error = errno;
    while (index-- > 0) close(files[index]);
    errno = error;
    return -1;
  }
  return 0;
}

static pid_t read_reports(int file, struct clinux_join_report *report) {
  // The first says who was started, a second one that it did not come to execute its program.
  struct clinux_join_report next;
  ssize_t count;
  pid_t started = -1;
  while ((count = read(file, &next, sizeof next)) == sizeof next || (count < 0 && errno == EINTR)) {
    if (count < 0) continue;
    if (next.pid < 0) {
      *report = next;
      return -1;
    }
    started = next.pid;
  }
  if (started < 0) *report = (struct clinux_join_report){.pid = -1, .error = ESRCH};
  return started;
}

pid_t clinux_join(const struct clinux_join *join, int *handle, pid_t *inside,
                  struct clinux_join_report *report) {
  int ends[2];
  *report = (struct clinux_join_report){.pid = -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    report->error = errno;
    return -1;
  }
  struct joining joining = {join, ends[1], getpid()};
  pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != joining.parent) _exit(125);
    run_between(&joining);
  }
  report->error = errno;
  close(ends[1]);
  *inside = child > 0 ? read_reports(ends[0], report) : -1;
  close(ends[0]);
  if (*inside > 0 && (*handle = (int)syscall(SYS_pidfd_open, child, 0)) >= 0) return child;
  if (child > 0) {
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
  }
  return -1;
}
