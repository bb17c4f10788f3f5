#include "CLinux_daemon.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int clinux_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data) {
  return mount(source, target, type, flags, data);
}

long clinux_raise_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  // The starter's limit of a file's size is not the limit of whoever writes through the view.
  struct rlimit size;
  if (getrlimit(RLIMIT_FSIZE, &size) != 0) return -1;
  size.rlim_cur = size.rlim_max;
  if (setrlimit(RLIMIT_FSIZE, &size) != 0) return -1;
  return limit.rlim_cur == RLIM_INFINITY ? 1 << 20 : (long)limit.rlim_cur;
}

int clinux_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

int clinux_listen(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  if (unlink(path) != 0 && errno != ENOENT) return -1;
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  mode_t mask = umask(0177);
  int result = bind(listener, (struct sockaddr *)&address, sizeof address);
  umask(mask);
  if (result != 0 || listen(listener, 128) != 0) {
    int error = errno;
    close(listener);
    errno = error;
    return -1;
  }
  return listener;
}

int clinux_accept(int listener, uid_t *uid) {
  int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return -1;
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    int error = errno;
    close(connection);
    errno = error;
    return -1;
  }
  *uid = peer.uid;
  return connection;
}

int clinux_block_signals(void) {
  sigset_t blocked, awaited;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGHUP);
  sigaddset(&blocked, SIGINT);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGPIPE);
  sigaddset(&blocked, SIGXFSZ);
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  int error = pthread_sigmask(SIG_SETMASK, &blocked, NULL);
  if (error) {
    errno = error;
    return -1;
  }
  return signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_wait_three(int first, int second, int third) {
  struct pollfd files[3] = {{first, POLLIN, 0}, {second, POLLIN, 0}, {third, POLLIN, 0}};
  while (poll(files, 3, -1) < 0)
    if (errno != EINTR) return -1;
  int ready = 0;
  for (int index = 0; index < 3; index++) ready |= files[index].revents ? 1 << index : 0;
  return ready;
}

int clinux_start_thread(void *(*body)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  int error = pthread_create(&thread, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

void clinux_leave_session(void) {
  setsid();
  if (chdir("/") != 0) return;
}

static int leave_code(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  (void)argument;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[index];
    // Only what nobody can have written to: of the rest a changed page would be lost.
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || part->p_flags & PF_W) continue;
    uintptr_t start = object->dlpi_addr + part->p_vaddr;
    uintptr_t end = start + part->p_filesz;
    start &= ~(page - 1);
    end &= ~(page - 1);
    // The kernel's own object, which is no file, refuses.
    if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void clinux_leave_start_behind(void) {
  malloc_trim(0);
  dl_iterate_phdr(leave_code, NULL);
}

_Noreturn void clinux_exit(int status) { _exit(status); }

int clinux_command_name(int *pid, char name[16]) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/status", *pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count <= 0) return 0;
  text[count] = 0;
  const char *leader = strstr(text, "\nTgid:");
  if (leader) *pid = atoi(leader + 6);
  const char *start = strncmp(text, "Name:\t", 6) == 0 ? text + 6 : text;
  size_t length = strcspn(start, "\n");
  if (length > 15) length = 15;
  memcpy(name, start, length);
  name[length] = 0;
  return (int)length;
}

int clinux_format_time(int64_t seconds, int64_t nanoseconds, char text[32]) {
  time_t time = seconds;
  struct tm parts;
  if (!gmtime_r(&time, &parts)) return 0;
  size_t count = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &parts);
  return (int)count + snprintf(text + count, 32 - count, ".%03dZ", (int)(nanoseconds / 1000000));
}

int clinux_format_syslog_time(int64_t seconds, char text[32]) {
  time_t time = seconds;
  struct tm parts;
  if (!localtime_r(&time, &parts)) return 0;
  return (int)strftime(text, 32, "%b %e %H:%M:%S", &parts);
}

int clinux_datagram_socket(void) {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int clinux_send_datagram(int socket, const char *path, const void *bytes, unsigned long count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  ssize_t sent = sendto(socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL,
                        (struct sockaddr *)&address, sizeof address);
  return sent < 0 ? -1 : 0;
}

// fork(2) would give the new process a table of its own, in which nothing outlives it.
pid_t clinux_clone_sharing_descriptors(void) {
  return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
}

int clinux_signals_of_children(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  sigaddset(&signals, SIGTERM);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_watch(pid_t child, int signals, int bell, int milliseconds, int *status) {
  struct pollfd files[2] = {{signals, POLLIN, 0}, {bell, POLLIN, 0}};
  for (;;) {
    if (waitpid(child, status, WNOHANG) == child) return 1;
    int ready = poll(files, 2, milliseconds);
    if (ready == 0) return 0;
    if (ready < 0) continue;
    struct signalfd_siginfo signal;
    uint64_t rings;
    if (files[0].revents && read(signals, &signal, sizeof signal) == sizeof signal &&
        signal.ssi_signo == SIGTERM)
      return 2;
    if (files[1].revents && read(bell, &rings, sizeof rings) == sizeof rings) return 3;
  }
}

static ssize_t read_of_thread(pid_t process, pid_t thread, const char *name, char *text,
                              size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/%s", process, thread, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = read(file, text, size - 1);
  close(file);
  if (count >= 0) text[count] = 0;
  return count;
}

struct clinux_thread clinux_look_at_thread(pid_t process, pid_t thread) {
  struct clinux_thread look = {0};
  char text[1024];
  if (read_of_thread(process, thread, "stat", text, sizeof text) <= 0) return look;
  // The name before it is the thread's own and may hold anything.
  const char *rest = strrchr(text, ')');
  if (!rest || sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &look.state,
                      &look.program_time, &look.kernel_time) != 3)
    return look;
  look.waits_for_thread = look.state == 'S';
  if (read_of_thread(process, thread, "syscall", text, sizeof text) > 0)
    look.waits_for_thread = look.waits_for_thread && atol(text) == SYS_futex;
  return look;
}

int clinux_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void clinux_ring(int bell) {
  uint64_t one = 1;
  if (write(bell, &one, sizeof one) < 0) return;
}

void clinux_close_range(unsigned first, unsigned last) {
  syscall(SYS_close_range, first, last, 0u);
}

// No memory is asked for: a guardian is a copy of a process of many threads.
void clinux_keep_on_exec(int keep) {
  int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  char buffer[4096] __attribute__((aligned(8)));
  long count;
  while ((count = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
    for (long place = 0; place < count;) {
      const char *record = buffer + place;
      uint16_t length;
      memcpy(&length, record + 16, sizeof length);
      place += length;
      int number = 0;
      const char *digit = record + 19;
      for (; *digit >= '0' && *digit <= '9'; digit++) number = number * 10 + (*digit - '0');
      if (*digit || number < 3 || number == directory) continue;
      fcntl(number, F_SETFD, keep ? 0 : FD_CLOEXEC);
    }
  }
  close(directory);
}

int clinux_become(const char *path, char *const arguments[], char *const environment[]) {
  clinux_keep_on_exec(1);
  execve(path, arguments, environment);
  int error = errno;
  clinux_keep_on_exec(0);
  return error;
}

int clinux_set_oom_score(int score) {
  int file = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (file < 0) return -2000;
  char text[16] = {0};
  int before = read(file, text, sizeof text - 1) > 0 ? atoi(text) : -2000;
  int length = snprintf(text, sizeof text, "%d", score);
  // Without the privilege it stays as it is.
  if (before != -2000 && pwrite(file, text, (size_t)length, 0) < 0) before = -2000;
  close(file);
  return before;
}

pid_t clinux_start_guardian(int worker, struct clinux_guard guard, char *const arguments[],
                            char *const environment[]) {
  pid_t guardian = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
  if (guardian != 0) return guardian;
  // As a supervisor is called, by which it is found.
  prctl(PR_SET_NAME, "sandboxfs-view", 0, 0, 0);
  struct pollfd end = {worker, POLLIN, 0};
  while (poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
  if (*guard.ended) _exit(0);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *guard.death = now.tv_sec * 1000000 + now.tv_nsec / 1000;
  clinux_become("/proc/self/exe", arguments, environment);
  _exit(127);
}

void clinux_set_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
