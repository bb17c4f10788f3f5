// A disk that takes as long as a test likes: fsync(2) of the process into which this is loaded
// writes a line to $SLOWDISK.waiting, and returns when there is a file $SLOWDISK.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for_the_gate(void) {
  const char *gate = getenv("SLOWDISK");
  char waiting[4096];
  if (!gate) return;
  snprintf(waiting, sizeof waiting, "%s.waiting", gate);
  int file = open(waiting, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, "\n", 1) != 1) abort();
  close(file);
  while (access(gate, F_OK) != 0) usleep(1000);
}

int fsync(int file) {
  wait_for_the_gate();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_the_gate();
  return (int)syscall(SYS_fdatasync, file);
}
