// What the filter of system calls refuses.
#include "hostile.h"

#include <linux/mount.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>

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
static int call_as_another(void (*call)(void)) {
  pid_t child = fork();
  if (child == 0) {
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  errno = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? was_killed : EINTR;
  return WIFSIGNALED(status) ? -1 : 0;
}

#ifdef __x86_64__
static void call_x32(void) { syscall(0x40000000 | SYS_getpid); }

static void call_i386(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
}
#endif

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

void try_system_calls(void) {
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
  report("call: keyctl",
         (int)syscall(SYS_keyctl, 10 /* SEARCH */, -3, "user", "sandboxfs-test", 0));
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
  report("call: x32", call_as_another(call_x32));
  report("call: i386", call_as_another(call_i386));
#endif
}
