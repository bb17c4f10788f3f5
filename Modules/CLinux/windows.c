#include "CLinux_windows.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/// The window of a thread, which its handler looks at.
static _Thread_local struct {
  char *volatile start;
  volatile size_t count;
  volatile sig_atomic_t is_torn;
} window;

static struct sigaction before;

/// Puts zeros in the place of what has gone, up to the window's end.
static int replace(char *address) {
  size_t place = (uintptr_t)address - (uintptr_t)window.start;
  if (place >= window.count) return -1;
  place -= place % (size_t)sysconf(_SC_PAGESIZE);
  window.is_torn = 1;
  void *zeros = mmap(window.start + place, window.count - place, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return zeros == MAP_FAILED ? -1 : 0;
}

static void on_missing_page(int signal, siginfo_t *info, void *context) {
  (void)context;
  int error = errno;
  // A code above 0 is the kernel's word that an access of this thread's failed.
  if (info->si_code <= 0 || replace(info->si_addr) != 0) {
    // Not ours: what was there before has it, when the same access fails again.
    sigaction(signal, &before, NULL);
    if (info->si_code <= 0) raise(signal);
  }
  errno = error;
}

static void install(void) {
  struct sigaction action = {.sa_sigaction = on_missing_page, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

const void *clinux_window_open(int descriptor, off_t offset, size_t count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  char *start = mmap(NULL, count, PROT_READ, MAP_PRIVATE, descriptor, offset);
  if (start == MAP_FAILED) return NULL;
  window.start = start;
  window.is_torn = 0;
  window.count = count;
  atomic_signal_fence(memory_order_seq_cst);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t place = 0; place < count; place += page) (void)((const volatile char *)start)[place];
  return start;
}

int clinux_window_close(const void *start, size_t count) {
  atomic_signal_fence(memory_order_seq_cst);
  window.count = 0;
  munmap((void *)start, count);
  return !window.is_torn;
}
