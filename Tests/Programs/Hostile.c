// A program that tries to get out of its container, and to change its bundle.
//
// Usage: Hostile user|root IDENTIFIER SECRET PATH... — `root` first makes itself root of a user and
// mount namespace of its own; then follow the identifier of another app, a text that only that app
// has, and paths of the host that must not exist here.
//
// Prints `NAME: ERRNO` for each attempt that was refused, `NAME: done` for one that was not, and
// `found: PATH` for each trace of the other app.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

// sys/mount.h and linux/mount.h cannot both be included.
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);
int umount2(const char *target, int flags);
enum { ms_remount = 32, ms_bind = 4096, ms_recursive = 16384, mnt_detach = 2 };

static char self[512], bundle[512];
static const char *home = "/home/app";

static void report(const char *name, int result) {
  printf("%s: %s\n", name, result >= 0 ? "done" : strerrorname_np(errno));
  fflush(stdout);
}

static const char *in(const char *directory, const char *name) {
  static char paths[4][1024];
  static int next;
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", directory, name);
  return paths[next];
}

static int opened(const char *path, int flags) {
  int file = open(path, flags, 0755);
  if (file >= 0) close(file);
  return file;
}

// MARK: The bundle

static void change_bundle(void) {
  report("bundle: write", opened(self, O_WRONLY));
  report("bundle: truncate", truncate(self, 0));
  report("bundle: create", opened(in(bundle, "new"), O_WRONLY | O_CREAT));
  report("bundle: unlink", unlink(self));
  report("bundle: rename within", rename(self, in(bundle, "other")));
  report("bundle: rename away", rename(self, in(home, "Documents/Hostile")));
  report("bundle: rename itself", rename(bundle, in(home, "tmp/x.app")));
  report("bundle: link away", link(self, in(home, "Documents/linked")));
  report("bundle: mkdir", mkdir(in(bundle, "d"), 0755));
  report("bundle: symlink", symlink("/etc/passwd", in(bundle, "s")));
  report("bundle: chmod", chmod(self, 0777));
  report("bundle: chown", chown(self, getuid(), getgid()));
  report("bundle: times", utimensat(AT_FDCWD, self, NULL, 0));
  report("bundle: xattr", setxattr(self, "user.x", "y", 1, 0));
  report("bundle: unmount", umount2(bundle, mnt_detach));
  report("bundle: remount", mount(NULL, bundle, NULL, ms_bind | ms_remount, NULL));
}

// MARK: Code that it wrote

static int copy_self(const char *to) {
  int from = open("/proc/self/exe", O_RDONLY);
  int file = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  char buffer[65536];
  ssize_t count = 0;
  while (from >= 0 && file >= 0 && (count = read(from, buffer, sizeof buffer)) > 0)
    if (write(file, buffer, (size_t)count) != count) count = -1;
  close(from);
  if (file < 0 || close(file) != 0 || count < 0) return -1;
  return 0;
}

// The child's errno is its exit status; one that was executed exits with 0 at once.
static int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  return errno == 0 ? 0 : -1;
}

static int execute(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    execl(path, path, "--executed", NULL);
    _exit(errno);
  }
  return ended(child);
}

static int execute_descriptor(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *arguments[] = {(char *)path, "--executed", NULL}, *environment[] = {NULL};
    fexecve(file, arguments, environment);
    _exit(errno);
  }
  return ended(child);
}

static int execute_by_loader(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 2);
    const char *loader = access("/lib64/ld-linux-x86-64.so.2", X_OK) == 0
                             ? "/lib64/ld-linux-x86-64.so.2"
                             : "/lib/ld-linux-aarch64.so.1";
    execl(loader, loader, path, "--executed", NULL);
    _exit(errno);
  }
  // The loader exits with 127 when it is refused what it would map.
  int result = ended(child);
  if (result != 0) errno = EACCES;
  return result;
}

static int map_executable(const char *path) {
  int file = open(path, O_RDONLY);
  void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  int error = errno;
  close(file);
  errno = error;
  return map == MAP_FAILED ? -1 : 0;
}

static int protect_executable(const char *path) {
  int file = open(path, O_RDWR);
  void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) return -1;
  return mprotect(map, 4096, PROT_READ | PROT_EXEC);
}

static void execute_what_it_wrote(void) {
  const char *places[] = {"/home/app/Documents/x", "/home/app/Library/Caches/x", "/home/app/.x",
                          "/tmp/x", "/dev/shm/x"};
  for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
    const char *place = places[index];
    char name[128];
    if (copy_self(place) != 0) {
      printf("cannot write %s: %s\n", place, strerrorname_np(errno));
      continue;
    }
    struct {
      const char *way;
      int (*attempt)(const char *);
    } ways[] = {{"execute", execute},
                {"execute by descriptor", execute_descriptor},
                {"execute by loader", execute_by_loader},
                {"map", map_executable},
                {"protect", protect_executable}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
      snprintf(name, sizeof name, "code: %s %s", ways[way].way, place);
      report(name, ways[way].attempt(place));
    }
    unlink(place);
  }
  report("code: the bundle's own", execute(self));
}

// MARK: The home's structure

static void change_structure(void) {
  report("structure: remove tmp", rmdir("/home/app/tmp"));
  report("structure: rename Library/Caches",
         rename("/home/app/Library/Caches", "/home/app/Documents/Caches"));
  report("structure: replace Documents",
         rename("/home/app/Library/Preferences", "/home/app/Documents"));
  report("structure: new entry", mkdir("/home/app/Other", 0755));
  report("structure: device",
         mknod("/home/app/Documents/null", S_IFCHR | 0666, makedev(1, 3)));
  report("structure: /tmp", unlink("/tmp"));
  report("structure: /etc/passwd", opened("/etc/passwd", O_WRONLY));
}

// MARK: The kernel's doors

static int join(const char *path) {
  int file = open(path, O_RDONLY);
  if (file < 0) return -1;
  return setns(file, 0);
}

static int connect_abstract(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  memcpy(address.sun_path + 1, name, length);
  int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  int result = connect(connection, (struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
  int error = errno;
  close(connection);
  errno = error;
  return result;
}

static int open_by_handle(void) {
  struct {
    struct file_handle head;
    unsigned char bytes[128];
  } handle = {.head = {.handle_bytes = 128}};
  int mount_id;
  if (name_to_handle_at(AT_FDCWD, "/usr", &handle.head, &mount_id, 0) != 0) return -1;
  int directory = open("/usr", O_RDONLY);
  return open_by_handle_at(directory, &handle.head, O_RDONLY);
}

static void try_doors(int is_root) {
  report("door: mount tmpfs", mount("none", "/home/app/Documents", "tmpfs", 0, NULL));
  report("door: remount root", mount(NULL, "/", NULL, ms_bind | ms_remount, NULL));
  report("door: remount home", mount(NULL, home, NULL, ms_bind | ms_remount, NULL));
  report("door: unmount home", umount2(home, mnt_detach));
  report("door: fsopen", (int)syscall(SYS_fsopen, "tmpfs", 0));
  report("door: open_tree", (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE));
  report("door: chroot", chroot("/usr"));
  report("door: setuid", is_root ? -1 : setuid(0));
  gid_t group = 0;
  report("door: setgroups", setgroups(1, &group));
  report("door: join first process", join("/proc/1/ns/mnt"));
  report("door: user namespace", unshare(CLONE_NEWUSER));
  report("door: set host name", sethostname("evil", 4));
  report("door: abstract socket", connect_abstract("sandboxfs-test"));
  report("door: sysrq", opened("/proc/sysrq-trigger", O_WRONLY));
  report("door: sysctl", opened("/proc/sys/kernel/core_pattern", O_WRONLY));
  report("door: kcore", opened("/proc/kcore", O_RDONLY));
  report("door: /dev/fuse", opened("/dev/fuse", O_RDWR));
  report("door: /dev/kmsg", opened("/dev/kmsg", O_RDWR));
  report("door: /sys", opened("/sys", O_RDONLY));
}

// MARK: What the filter of system calls refuses

static int own_socket(int family, int type) {
  int made = socket(family, type, 0);
  if (made >= 0) close(made);
  return made;
}

static int read_memory(pid_t process) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)read_memory, 1};
  return (int)process_vm_readv(process, &here, 1, &there, 1, 0);
}

static int new_process(unsigned long flags) {
  long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return (int)child;
}

static int new_process_by_structure(void) {
  unsigned long arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long child = syscall(SYS_clone3, arguments, sizeof arguments);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return (int)child;
}

// By what numbers other architectures call; each in a child, which it may kill.
static void call_as_another(const char *name, void (*call)(void)) {
  pid_t child = fork();
  if (child == 0) {
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("%s: %s\n", name,
         WIFSIGNALED(status) ? WTERMSIG(status) == SIGSYS ? "SIGSYS" : "another signal" : "done");
}

#ifdef __x86_64__
static void call_x32(void) { syscall(0x40000000 | SYS_getpid); }

static void call_i386(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
}
#endif

static void try_system_calls(void) {
  char bytes[512] = {0};
  unsigned long high = 1ul << 32;
  report("call: TIOCSTI", (int)syscall(SYS_ioctl, 0, TIOCSTI, "x"));
  report("call: TIOCSTI with high bits", (int)syscall(SYS_ioctl, 0, TIOCSTI | high, "x"));
  report("call: TIOCLINUX", ioctl(0, TIOCLINUX, bytes));
  report("call: TIOCSETD", ioctl(0, TIOCSETD, bytes));
  report("call: ptrace attach", (int)ptrace(PTRACE_ATTACH, getppid(), 0, 0));
  report("call: ptrace seize", (int)ptrace(PTRACE_SEIZE, getppid(), 0, 0));
  report("call: process_vm_readv", read_memory(getppid()));
  report("call: pidfd_getfd", (int)syscall(SYS_pidfd_getfd, -1, 0, 0));
  report("call: keyctl", (int)syscall(SYS_keyctl, 10 /* SEARCH */, -3, "user", "sandboxfs-test", 0));
  report("call: add_key", (int)syscall(SYS_add_key, "user", "x", "y", 1, -3));
  report("call: request_key", (int)syscall(SYS_request_key, "user", "sandboxfs-test", NULL, -3));
  report("call: clone", new_process(CLONE_NEWUSER));
  report("call: clone3", new_process_by_structure());
  report("call: setns", setns(-1, CLONE_NEWUSER));
  report("call: personality", personality(READ_IMPLIES_EXEC) < 0 ? -1 : 0);
  report("call: bpf", (int)syscall(SYS_bpf, 0, bytes, sizeof bytes));
  report("call: perf_event_open", (int)syscall(SYS_perf_event_open, bytes, 0, -1, -1, 0));
  report("call: userfaultfd", (int)syscall(SYS_userfaultfd, 0));
  report("call: io_uring_setup", (int)syscall(SYS_io_uring_setup, 4, bytes));
  report("call: open_by_handle_at", open_by_handle());
  report("call: syslog", (int)syscall(SYS_syslog, 3, bytes, sizeof bytes));
  report("call: init_module", (int)syscall(SYS_init_module, bytes, 1, ""));
  report("call: reboot", (int)syscall(SYS_reboot, 0, 0, 0, NULL));
  report("call: vsock", own_socket(AF_VSOCK, SOCK_STREAM));
  report("call: vsock with high bits", (int)syscall(SYS_socket, AF_VSOCK | high, SOCK_STREAM, 0));
  report("call: packet socket", own_socket(AF_PACKET, SOCK_RAW));
  report("call: kernel crypto", own_socket(AF_ALG, SOCK_SEQPACKET));
  report("call: bluetooth", own_socket(AF_BLUETOOTH, SOCK_RAW));
#ifdef __x86_64__
  call_as_another("call: x32", call_x32);
  call_as_another("call: i386", call_i386);
#endif
}

// MARK: Traces of the other app

static const char *identifier, *secret;

static void look_into(const char *path) {
  static char text[1 << 16];
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return;
  ssize_t count;
  while ((count = read(file, text, sizeof text)) > 0)
    if (memmem(text, (size_t)count, identifier, strlen(identifier)) ||
        memmem(text, (size_t)count, secret, strlen(secret))) {
      printf("found: %s\n", path);
      break;
    }
  close(file);
}

static void walk(const char *path, int depth) {
  DIR *directory = depth < 12 ? opendir(path) : NULL;
  if (!directory) return;
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    char below[2048], target[2048];
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name);
    // The system's programs are no app's, and /proc is looked through process by process.
    if (!strcmp(below, "/usr") || !strcmp(below, "/proc")) continue;
    if (strstr(entry->d_name, identifier)) printf("found: %s\n", below);
    struct stat status;
    if (lstat(below, &status) != 0) continue;
    if (S_ISLNK(status.st_mode)) {
      ssize_t length = readlink(below, target, sizeof target - 1);
      if (length > 0) target[length] = 0;
      if (length > 0 && strstr(target, identifier)) printf("found: %s\n", below);
    }
    if (S_ISREG(status.st_mode)) look_into(below);
    if (S_ISDIR(status.st_mode)) walk(below, depth + 1);
  }
  closedir(directory);
}

static void look_at_processes(void) {
  const char *files[] = {"cmdline", "environ", "mountinfo", "mounts", "maps", "comm", "cgroup"};
  for (int pid = 1; pid < 200; pid++) {
    char path[256], target[2048];
    for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
      snprintf(path, sizeof path, "/proc/%d/%s", pid, files[index]);
      // Its own arguments are what it was told.
      if (pid == getpid() && !strcmp(files[index], "cmdline")) continue;
      if (pid == 1 && !strcmp(files[index], "cmdline")) continue;
      look_into(path);
    }
    snprintf(path, sizeof path, "/proc/%d/root/home", pid);
    walk(path, 8);
    for (int number = 0; number < 64; number++) {
      snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
      ssize_t length = readlink(path, target, sizeof target - 1);
      if (length > 0) target[length] = 0;
      if (length > 0 && number > 2 && target[0] == '/' && strncmp(target, "/home/app", 9) &&
          strncmp(target, "/proc", 5))
        printf("found: %s\n", path);
    }
  }
  look_into("/proc/keys");
  look_into("/proc/locks");
  look_into("/proc/net/unix");
}

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  int result = file < 0 || write(file, text, strlen(text)) < 0 ? -1 : 0;
  close(file);
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

int main(int count, char *arguments[]) {
  if (count > 1 && !strcmp(arguments[1], "--executed")) return 0;
  if (count < 4) return 2;
  int is_root = !strcmp(arguments[1], "root");
  identifier = arguments[2];
  secret = arguments[3];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return 2;
  memcpy(bundle, self, (size_t)length);
  *strrchr(bundle, '/') = 0;
  if (is_root) report("becoming root", become_root());
  change_bundle();
  execute_what_it_wrote();
  change_structure();
  walk("/", 0);
  look_at_processes();
  for (int index = 4; index < count; index++) report("path", opened(arguments[index], O_RDONLY));
  try_system_calls();
  try_doors(is_root);
  return 0;
}
