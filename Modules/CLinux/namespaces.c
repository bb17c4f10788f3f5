// Between fork and exec only system calls are made: the caller may have other threads, which hold
// locks that nobody will release in the child.
#include "CLinux_namespaces.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// sys/mount.h and linux/mount.h cannot both be included, and neither has everything.
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *options);
enum {
  ms_recursive = 16384,
  ms_private = 1 << 18,
  ms_slave = 1 << 19,
  at_recursive = 0x8000,
  most_descriptors = 32
};

static int set_attributes(int tree, const char *path, unsigned flags, uint64_t set) {
  struct mount_attr attributes = {.attr_set = set,
                                  .propagation = flags & at_recursive ? ms_private : 0};
  return (int)syscall(SYS_mount_setattr, tree, path, flags, &attributes, sizeof attributes);
}

// Opens what an app can write, or have written: no link leads out of it.
static int open_beneath(const char *base_path, const char *path, uint64_t flags,
                        uint64_t resolve) {
  int base = open(base_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0) return -1;
  struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | resolve};
  int found = (int)syscall(SYS_openat2, base, path, &how, sizeof how);
  int error = errno;
  close(base);
  errno = error;
  return found;
}

static int attach(int tree, const struct clinux_step *step) {
  if (!step->base)
    return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, step->other, MOVE_MOUNT_F_EMPTY_PATH);
  // What is lent may be a file, and may hold other mounts of its lender's.
  int target = step->kind == CLINUX_STEP_LEND
                   ? open_beneath(step->base, step->other, 0, 0)
                   : open_beneath(step->base, step->other, O_DIRECTORY, RESOLVE_NO_XDEV);
  if (target < 0) return -1;
  int result = (int)syscall(SYS_move_mount, tree, "", target, "",
                            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
  int error = errno;
  close(target);
  errno = error;
  return result;
}

static int bind_tree(const struct clinux_step *step) {
  bool is_alike = step->kind == CLINUX_STEP_SHOW;
  unsigned recursive = step->recursive || is_alike ? at_recursive : 0;
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, step->path,
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);
  if (tree < 0) return -1;
  int result = 0;
  unsigned all = is_alike ? at_recursive : 0;
  if (step->set) result = set_attributes(tree, "", AT_EMPTY_PATH | all, step->set);
  if (result == 0) result = attach(tree, step);
  int error = errno;
  close(tree);
  errno = error;
  return result;
}

// The inode is looked at through the descriptor that is cloned, so nothing can come between.
static int open_known(const struct clinux_step *step) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                         .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  int found = (int)syscall(SYS_openat2, AT_FDCWD, step->path, &how, sizeof how);
  if (found < 0) return -1;
  struct statx status;
  int result = statx(found, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO, &status);
  uint64_t device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
  if (result == 0 && device == step->device && status.stx_ino == step->inode) return found;
  int error = result == 0 ? ESTALE : errno;
  close(found);
  errno = error;
  return -1;
}

static int lend(const struct clinux_step *step) {
  int found = open_known(step);
  if (found < 0) return -1;
  int tree = (int)syscall(SYS_open_tree, found, "",
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | at_recursive);
  int result = tree < 0 ? -1 : 0;
  // What is mounted there outside later would have attributes of its own: it stays outside.
  if (result == 0) result = set_attributes(tree, "", AT_EMPTY_PATH | at_recursive, step->set);
  if (result == 0) result = attach(tree, step);
  int error = errno;
  if (tree >= 0) close(tree);
  close(found);
  errno = error;
  return result;
}

static int write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int error = errno;
  close(file);
  errno = error;
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

static char *append_number(char *end, unsigned long number) {
  char digits[24];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) *end++ = digits[--count];
  return end;
}

static int write_map(const char *path, unsigned long outside) {
  char text[40] = "0 ";
  char *end = append_number(text + 2, outside);
  memcpy(end, " 1\n", 4);
  return write_file(path, text);
}

static int map_root(const struct clinux_step *step) {
  if (write_map("/proc/self/uid_map", step->uid) != 0) return -1;
  if (write_file("/proc/self/setgroups", "deny") != 0) return -1;
  return write_map("/proc/self/gid_map", step->gid);
}

static int assume_identity(const struct clinux_step *step) {
  // Raw calls: libc's would look for other threads to tell.
  if (syscall(SYS_setgroups, 0, NULL) != 0) return -1;
  if (syscall(SYS_setresgid, step->gid, step->gid, step->gid) != 0) return -1;
  return (int)syscall(SYS_setresuid, step->uid, step->uid, step->uid);
}

static int make_file(const struct clinux_step *step) {
  // What is only mounted upon need not be opened; it fails likewise where something is.
  if (!step->content_size) return mknod(step->path, S_IFREG | step->mode, 0);
  int file = open(step->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, step->mode);
  if (file < 0) return -1;
  ssize_t size = (ssize_t)step->content_size;
  ssize_t written = write(file, step->content, step->content_size);
  if (written >= 0 && written < size) errno = ENOSPC;
  int error = errno;
  close(file);
  errno = error;
  return written == size ? 0 : -1;
}

static int make(const struct clinux_step *step, const struct clinux_step *owner) {
  int result = step->kind == CLINUX_STEP_FILE        ? make_file(step)
               : step->kind == CLINUX_STEP_DIRECTORY ? mkdir(step->path, step->mode)
                                                     : symlink(step->other, step->path);
  if (result == 0 && owner) result = lchown(step->path, owner->uid, owner->gid);
  return result;
}

// The directory belongs to the app, which may have put anything there: that is then its own affair.
static int make_directory_beneath(const struct clinux_step *step) {
  // Mostly it is there: the kernel then knows, where mkdir would have the view's daemon asked.
  int found = open_beneath(step->base, step->other, 0, RESOLVE_NO_XDEV);
  if (found >= 0) return close(found);
  if (errno != ENOENT) return 0;
  char parent_path[512] = ".";
  const char *slash = strrchr(step->other, '/');
  const char *name = slash ? slash + 1 : step->other;
  if (slash) {
    size_t length = (size_t)(slash - step->other);
    if (length >= sizeof parent_path) {
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(parent_path, step->other, length);
    parent_path[length] = 0;
  }
  int parent = open_beneath(step->base, parent_path, O_DIRECTORY, RESOLVE_NO_XDEV);
  if (parent < 0) return 0;
  mkdirat(parent, name, step->mode);
  close(parent);
  return 0;
}

static int take_streams(const struct clinux_step *step) {
  for (int stream = 0; stream < 3; stream++)
    if (step->mode >> stream & 1 && dup2((int)step->uid, stream) < 0) return -1;
  return close((int)step->uid);
}

int clinux_keep_from_abstract_sockets(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  // struct landlock_ruleset_attr of Linux 6.12, which older headers do not have.
  const struct {
    uint64_t files, network, scoped;
  } attributes = {.scoped = 1 /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET */};
  int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0u);
  // Older kernels: E2BIG, EINVAL; without Landlock: ENOSYS, EOPNOTSUPP.
  if (rules < 0)
    return errno == E2BIG || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1;
  int result = (int)syscall(SYS_landlock_restrict_self, rules, 0u);
  int error = errno;
  close(rules);
  errno = error;
  return result;
}

static int take(const struct clinux_step *step, const struct clinux_step **owner) {
  switch (step->kind) {
    case CLINUX_STEP_UNSHARE: return (int)syscall(SYS_unshare, (unsigned long)step->set);
    case CLINUX_STEP_MAP_ROOT: return map_root(step);
    case CLINUX_STEP_SLAVE: return mount(NULL, "/", NULL, ms_slave | ms_recursive, NULL);
    case CLINUX_STEP_BIND:
    case CLINUX_STEP_SHOW:
    case CLINUX_STEP_BIND_BENEATH: return bind_tree(step);
    case CLINUX_STEP_LEND: return lend(step);
    case CLINUX_STEP_FILESYSTEM:
      return mount(step->type, step->path, step->type, (unsigned long)step->set, step->options);
    case CLINUX_STEP_ATTRIBUTES: return set_attributes(AT_FDCWD, step->path, 0, step->set);
    case CLINUX_STEP_DIRECTORY:
    case CLINUX_STEP_FILE:
    case CLINUX_STEP_LINK: return make(step, *owner);
    case CLINUX_STEP_OWNER: *owner = step; return 0;
    case CLINUX_STEP_IDENTITY: return assume_identity(step);
    case CLINUX_STEP_DIRECTORY_BENEATH: return make_directory_beneath(step);
    case CLINUX_STEP_SCOPE: return clinux_keep_from_abstract_sockets();
    case CLINUX_STEP_STREAMS: return take_streams(step);
    default: errno = EINVAL; return -1;
  }
}

// Copies first go beyond the range that is filled, so that no dup2 closes one that is still needed.
static int place_descriptors(const int *descriptors, int count, int *report) {
  int copies[most_descriptors];
  if (count > most_descriptors) {
    errno = E2BIG;
    return -1;
  }
  for (int index = 0; index < count; index++)
    if ((copies[index] = fcntl(descriptors[index], F_DUPFD_CLOEXEC, 3 + most_descriptors)) < 0)
      return -1;
  if ((*report = fcntl(*report, F_DUPFD_CLOEXEC, 3 + most_descriptors)) < 0) return -1;
  if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0) return -1;
  for (int index = 0; index < count; index++)
    if (dup2(copies[index], 3 + index) < 0) return -1;
  return 0;
}

int clinux_forget_signals(void) {
  // libc's sigaction refuses two that are its own, and a caller may have left those ignored. The
  // kernel's structure is smaller than this, and all zeros mean SIG_DFL.
  struct sigaction plain;
  memset(&plain, 0, sizeof plain);
  for (int number = 1; number < 65; number++)
    syscall(SYS_rt_sigaction, number, &plain, NULL, 8 /* bytes in the kernel's set */);
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int die_with(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return -1;
  if (getppid() != parent) _exit(125);
  return 0;
}

struct launch {
  const char *program;
  char *const *arguments, *const *environment;
  const struct clinux_step *steps;
  int step_count;
  const int *descriptors;
  int descriptor_count, report;
  pid_t parent;
};

static void run_child(struct launch *launch) {
  struct clinux_step_failure failure = {.step = 0};
  // The steps name their modes exactly; the program gets the caller's mask again.
  mode_t mask = umask(0);
  int result = place_descriptors(launch->descriptors, launch->descriptor_count, &launch->report);
  // A terminal's Ctrl-C is for the launcher, which passes it on.
  if (result == 0) result = setsid() < 0 ? -1 : 0;
  // A new session keyring, without the caller's keys; kernels without keyrings have none to hide.
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
  // One byte says to the kernel what zero does not: that no helper of the host's, root as it may
  // be, is to look at a process that crashed.
  struct rlimit core = {1, 1};
  if (result == 0) result = setrlimit(RLIMIT_CORE, &core);
  const struct clinux_step *owner = NULL;
  for (; result == 0 && failure.step < launch->step_count; failure.step++)
    if ((result = take(&launch->steps[failure.step], &owner)) != 0) break;
  // A change of uid has forgotten the death signal, so it is asked for last.
  if (result == 0) result = die_with(launch->parent);
  if (result == 0) result = clinux_forget_signals();
  umask(mask);
  if (result == 0) execve(launch->program, launch->arguments, launch->environment);
  failure.error = errno;
  ssize_t ignored = write(launch->report, &failure, sizeof failure);
  (void)ignored;
  _exit(125);
}

pid_t clinux_spawn_through(const char *program, char *const arguments[],
                           char *const environment[], const struct clinux_step *steps,
                           int step_count, const int *descriptors, int descriptor_count,
                           int *handle, struct clinux_step_failure *failure) {
  int report[2];
  *failure = (struct clinux_step_failure){.step = step_count};
  if (pipe2(report, O_CLOEXEC) != 0) {
    failure->error = errno;
    return -1;
  }
  struct launch launch = {program,    arguments,   environment,      steps,
                          step_count, descriptors, descriptor_count, report[1], getpid()};
  pid_t child = fork();
  if (child == 0) run_child(&launch);
  failure->error = errno;
  close(report[1]);
  ssize_t count = 0;
  if (child > 0) {
    do count = read(report[0], failure, sizeof *failure);
    while (count < 0 && errno == EINTR);
    if (count == 0) {
      *handle = (int)syscall(SYS_pidfd_open, child, 0);
      if (*handle < 0) failure->error = errno;
    }
  }
  close(report[0]);
  if (child > 0 && (count != 0 || *handle < 0)) {
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    child = -1;
  }
  return child;
}
