// What the kernel is told other than by libfuse: notifications, files behind files, and the answers
// that name these.
#include "internal.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int notify(int device, const void *message, size_t length) {
  return write(device, message, length) < 0 ? -errno : 0;
}

int cfuse_resend(int device) {
  struct out_header message = {.length = sizeof message, .error = NOTIFY_RESEND};
  return notify(device, &message, sizeof message);
}

// MARK: What the kernel is to ask again

struct inode_notice {
  struct out_header header;
  uint64_t node;
  int64_t offset, length;
};

static struct inode_notice inode_notice(uint64_t node, int64_t offset) {
  return (struct inode_notice){
      {sizeof(struct inode_notice), NOTIFY_INVALID_NODE, 0}, node, offset, 0};
}

int cfuse_invalidate_attributes(int device, uint64_t node) {
  struct inode_notice notice = inode_notice(node, -1);
  return notify(device, &notice, sizeof notice);
}

struct errand {
  int device;
  const void *message;
  size_t length;
  int result;
};

static int run_errand(void *raw) {
  struct errand *errand = raw;
  // A plain system call: whoever waits has the same thread-local memory.
  long written = syscall(SYS_write, errand->device, errand->message, errand->length);
  errand->result = written < 0 ? -errno : 0;
  return 0;
}

// Notifies from another process, in our memory and by our descriptors, and waits for it. The kernel
// waits for the lock of a directory here, and can't be woken from that; whoever has the lock may
// wait for our answer. If we are killed meanwhile we must end, since only then another process
// serves and answers. This one ends when it can.
static int notify_apart(int device, const void *message, size_t length) {
  enum { STACK = 16384 };
  _Alignas(16) char stack[STACK];
  struct errand errand = {device, message, length, -EINTR};
  int process = clone(run_errand, stack + STACK, CLONE_VM | CLONE_FILES | SIGCHLD, &errand);
  // Where no process can be made this thread does it.
  if (process < 0) return notify(device, message, length);
  while (waitpid(process, NULL, 0) != process && errno != ECHILD) {
  }
  return errand.result;
}

int cfuse_invalidate(int device, uint64_t node) {
  struct inode_notice notice = inode_notice(node, 0);
  return notify_apart(device, &notice, sizeof notice);
}

static int invalidate_name(int device, uint64_t parent, const char *name, uint32_t length,
                           uint32_t flags) {
  enum { LONGEST = 255 };
  struct {
    struct out_header header;
    uint64_t parent;
    uint32_t length, flags;
    char name[LONGEST + 1];
  } message = {{0, NOTIFY_INVALID_NAME, 0}, parent, length, flags, {0}};
  if (length > LONGEST) return -ENAMETOOLONG;
  message.header.length = (uint32_t)(offsetof(__typeof__(message), name) + length + 1);
  memcpy(message.name, name, length);
  return notify_apart(device, &message, message.header.length);
}

int cfuse_invalidate_name(int device, uint64_t parent, const char *name, uint32_t length) {
  return invalidate_name(device, parent, name, length, 0);
}

int cfuse_expire_name(int device, uint64_t parent, const char *name, uint32_t length) {
  return invalidate_name(device, parent, name, length, EXPIRE_ONLY);
}

// MARK: Passthrough

struct backing_map {
  int32_t descriptor;
  uint32_t flags;
  uint64_t padding;
};

int cfuse_backing_open(int device, int descriptor) {
  struct backing_map map = {descriptor, 0, 0};
  int backing = ioctl(device, _IOW(229, 1, struct backing_map), &map);
  return backing < 0 ? -errno : backing;
}

int cfuse_backing_close(int device, int backing) {
  uint32_t number = (uint32_t)backing;
  return ioctl(device, _IOW(229, 2, uint32_t), &number) < 0 ? -errno : 0;
}

int cfuse_reply_open(fuse_req_t request, uint64_t handle, uint32_t flags, int32_t backing) {
  struct open_out answer = {handle, flags, backing};
  return fuse_reply_buf(request, (const char *)&answer, sizeof answer);
}

int cfuse_reply_create(fuse_req_t request, const struct fuse_entry_param *entry, uint64_t handle,
                       uint32_t flags, int32_t backing) {
  const struct stat *status = &entry->attr;
  struct {
    struct entry_out entry;
    struct open_out open;
  } answer = {
      .entry = {.node = entry->ino,
                .generation = entry->generation,
                .entry_valid = (uint64_t)entry->entry_timeout,
                .attributes_valid = (uint64_t)entry->attr_timeout,
                .attributes = {status->st_ino, (uint64_t)status->st_size,
                               (uint64_t)status->st_blocks, (uint64_t)status->st_atim.tv_sec,
                               (uint64_t)status->st_mtim.tv_sec, (uint64_t)status->st_ctim.tv_sec,
                               (uint32_t)status->st_atim.tv_nsec, (uint32_t)status->st_mtim.tv_nsec,
                               (uint32_t)status->st_ctim.tv_nsec, status->st_mode,
                               (uint32_t)status->st_nlink, status->st_uid, status->st_gid,
                               (uint32_t)status->st_rdev, (uint32_t)status->st_blksize, 0}},
      .open = {handle, flags, backing},
  };
  return fuse_reply_buf(request, (const char *)&answer, sizeof answer);
}
