#include "CLinux_process.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_descriptors = 64 };

static int prepare(posix_spawnattr_t *attributes, int new_session) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (new_session) flags |= POSIX_SPAWN_SETSID;
  int error = posix_spawnattr_setflags(attributes, flags);
  if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
  return error;
}

// Each descriptor is first copied beyond the range that is filled, so that no dup2 can close one
// that is still to be copied.
static int map(posix_spawn_file_actions_t *actions, const int *descriptors, int *copies,
               int count) {
  int error = 0;
  for (int index = 0; index < count && !error; index++) {
    copies[index] = fcntl(descriptors[index], F_DUPFD_CLOEXEC, count);
    if (copies[index] < 0) return errno;
    error = posix_spawn_file_actions_adddup2(actions, copies[index], index);
  }
  return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, count);
}

int clinux_spawn(pid_t *pid, const char *path, char *const arguments[],
                 char *const environment[], const int *descriptors, int count, int new_session) {
  if (count > most_descriptors) return E2BIG;
  int copies[most_descriptors];
  for (int index = 0; index < count; index++) copies[index] = -1;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = prepare(&attributes, new_session);
    if (!error) error = map(&actions, descriptors, copies, count);
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  for (int index = 0; index < count; index++)
    if (copies[index] >= 0) close(copies[index]);
  return error;
}

int clinux_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0u); }

int clinux_pidfd_signal(int handle, int signal) {
  return (int)syscall(SYS_pidfd_send_signal, handle, signal, NULL, 0u);
}

int clinux_exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char **clinux_environment(void) { return environ; }

int clinux_connect(const char *path, int timeout_ms) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
  if (setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
      connect(connection, (struct sockaddr *)&address, sizeof address) == 0)
    return connection;
  int error = errno;
  close(connection);
  errno = error;
  return -1;
}

int clinux_seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0) return -1;
  return (int)ptrace(PTRACE_INTERRUPT, thread, 0, 0);
}

int clinux_has_stopped(pid_t thread) {
  int status = 0;
  pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
  if (found == 0) return 0;
  // What has ended stands as still as it can.
  return 1;
}

int clinux_namespace_above(int processes) { return ioctl(processes, NS_GET_PARENT); }
