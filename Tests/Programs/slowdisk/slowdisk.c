// A disk that takes as long as a test likes: while there is a file $SLOWDISK, calls of the process
// into which this is loaded that go to the disk write a line to $SLOWDISK.waiting, and wait.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for_the_gate(void) {
  const char *gate = getenv("SLOWDISK");
  char waiting[4096];
  if (!gate || access(gate, F_OK) != 0) return;
  snprintf(waiting, sizeof waiting, "%s.waiting", gate);
  int file = open(waiting, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, "\n", 1) != 1) abort();
  close(file);
  while (access(gate, F_OK) == 0) usleep(1000);
}

int fsync(int file) {
  wait_for_the_gate();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_the_gate();
  return (int)syscall(SYS_fdatasync, file);
}

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count,
                        unsigned flags) {
  wait_for_the_gate();
  return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, count, flags);
}

int fallocate(int file, int mode, off_t offset, off_t length) {
  wait_for_the_gate();
  return (int)syscall(SYS_fallocate, file, mode, offset, length);
}

int ftruncate(int file, off_t length) {
  struct stat status;
  // What is in memory is on no disk.
  if (fstat(file, &status) == 0 && status.st_nlink > 0) wait_for_the_gate();
  return (int)syscall(SYS_ftruncate, file, length);
}

int truncate(const char *path, off_t length) {
  wait_for_the_gate();
  return (int)syscall(SYS_truncate, path, length);
}
