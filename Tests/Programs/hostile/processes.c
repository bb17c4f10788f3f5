// Other processes, and rights that a process might get back.
#include "hostile.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int raise_limit(int resource) {
  struct rlimit limit;
  getrlimit(resource, &limit);
  limit.rlim_cur = ++limit.rlim_max;
  return setrlimit(resource, &limit);
}

static int take_capabilities(void) {
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct all[2] = {{~0u, ~0u, 0}, {~0u, ~0u, 0}};
  return (int)syscall(SYS_capset, &head, all);
}

// Whether the crash of a child leaves an image of its memory with anybody.
static int dump_core(void) {
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_DUMPABLE, 1);
    raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = was_not_so;
  return WIFSIGNALED(status) && WCOREDUMP(status) ? 0 : -1;
}

static int keep_new_privileges(void) {
  int is_set = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  int result = prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
  return is_set == 1 ? result : 0;
}

// What would make the first process worth more than this one, which may write to its memory on some
// kernels: done if its status does not say so.
static int first_is_not(const char *line) {
  char text[4096];
  int file = open("/proc/1/status", O_RDONLY);
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count < 0) return -1;
  text[count] = 0;
  errno = was_not_so;
  return strstr(text, line) ? -1 : 0;
}

// Done if it has more open than the streams and what it tells its end by.
static int first_holds_more(void) {
  char path[64], target[256];
  if (access("/proc/1/fd", R_OK) != 0) return -1;
  for (int number = 3; number < 256; number++) {
    snprintf(path, sizeof path, "/proc/1/fd/%d", number);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    if (strcmp(target, "anon_inode:[eventfd]")) return 0;
  }
  errno = was_not_so;
  return -1;
}

void reach_processes(void) {
  struct sched_param priority = {.sched_priority = 1};
  pid_t daemon = atoi(host("daemon"));
  report("process: signal the daemon", kill(daemon, 0));
  report("process: hold the daemon", (int)syscall(SYS_pidfd_open, daemon, 0));
  report("process: limit the daemon", prlimit(daemon, RLIMIT_NOFILE, NULL, NULL));
  report("process: trace the first", (int)syscall(SYS_ptrace, 16 /* ATTACH */, 1, 0, 0));
  report("process: join the first", (int)syscall(SYS_setns, syscall(SYS_pidfd_open, 1, 0),
                                                 CLONE_NEWNS | CLONE_NEWNET));
  report("process: the first, without the filter", first_is_not("\nSeccomp:\t2\n"));
  report("process: the first, with capabilities", first_is_not("\nCapEff:\t0000000000000000\n"));
  report("process: the first's descriptors", first_holds_more());
  report("process: real-time priority", sched_setscheduler(0, SCHED_FIFO, &priority));
  report("process: higher priority", setpriority(PRIO_PROCESS, 0, -5));
  report("process: survive a lack of memory", write_text("/proc/self/oom_score_adj", "-1000"));
  report("process: more open files", raise_limit(RLIMIT_NOFILE));
  report("process: core files", raise_limit(RLIMIT_CORE));
  report("process: a crash's core", dump_core());
  report("process: capabilities", take_capabilities());
  report("process: capabilities for programs",
         prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
  report("process: privileges of set-id programs", keep_new_privileges());
}
