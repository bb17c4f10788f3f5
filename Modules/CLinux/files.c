#include "CLinux_files.h"
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

int clinux_openat2(int directory, const char *path, uint64_t flags, uint64_t mode,
                   uint64_t resolve) {
  struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
  return openat(directory, path, flags, mode);
}

int clinux_fcntl(int descriptor, int command, long argument) {
  return fcntl(descriptor, command, argument);
}

int clinux_ioctl(int descriptor, unsigned long request, void *argument) {
  return ioctl(descriptor, request, argument);
}

long clinux_getdents64(int descriptor, void *buffer, unsigned long count) {
  return syscall(SYS_getdents64, descriptor, buffer, count);
}

int clinux_clone(int to, int from) { return ioctl(to, FICLONE, from); }

long clinux_readlinkat(int directory, const char *path, void *buffer, unsigned long size) {
  return readlinkat(directory, path, buffer, size);
}
