#include "CFuse3.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The parts of the kernel's protocol that are patched here; layouts as in
// include/uapi/linux/fuse.h, which promises never to change them.
struct in_header {
  uint32_t length, opcode;
  uint64_t unique, node;
  uint32_t uid, gid, pid;
  uint16_t extension_length, padding;
};
struct init_in {
  uint32_t major, minor, max_readahead, flags, flags2;
};
struct out_header {
  uint32_t length;
  int32_t error;
  uint64_t unique;
};
struct init_out {
  uint32_t major, minor, max_readahead, flags;
  uint16_t max_background, congestion_threshold;
  uint32_t max_write, time_granularity;
  uint16_t max_pages, map_alignment;
  uint32_t flags2, max_stack_depth;
  uint16_t request_timeout, unused[11];
};
struct attributes_out {
  uint64_t ino, size, blocks, atime, mtime, ctime;
  uint32_t atime_nanoseconds, mtime_nanoseconds, ctime_nanoseconds;
  uint32_t mode, links, uid, gid, device, block_size, flags;
};
struct entry_out {
  uint64_t node, generation, entry_valid, attributes_valid;
  uint32_t entry_valid_nanoseconds, attributes_valid_nanoseconds;
  struct attributes_out attributes;
};
struct setxattr_in {
  uint32_t size, flags, extended_flags, padding;
};
struct open_out {
  uint64_t handle;
  uint32_t flags;
  int32_t backing;
};
_Static_assert(sizeof(struct init_out) == 64, "fuse_init_out");
_Static_assert(sizeof(struct entry_out) == 128, "fuse_entry_out");
_Static_assert(sizeof(struct open_out) == 16, "fuse_open_out");

enum { OPCODE_SETXATTR = 21, OPCODE_INIT = 26, SHORT_SETXATTR = 8, ACL_KILL_SGID = 1 };
#define INIT_EXTENSION (UINT64_C(1) << 30)

static void note_init(struct cfuse_context *context, const void *message, ssize_t count) {
  if (count < (ssize_t)(sizeof(struct in_header) + offsetof(struct init_in, flags2))) return;
  const struct in_header *header = message;
  if (header->opcode != OPCODE_INIT) return;
  const struct init_in *init = (const void *)(header + 1);
  context->init_request = header->unique;
  context->offered_flags = init->flags;
  if ((init->flags & INIT_EXTENSION) &&
      count >= (ssize_t)(sizeof(struct in_header) + sizeof(struct init_in)))
    context->offered_flags |= (uint64_t)init->flags2 << 32;
}

/// Gives a SETXATTR the short form that libfuse knows, with the extended flag among the others.
static ssize_t shorten_setxattr(void *message, ssize_t count) {
  struct in_header *header = message;
  struct setxattr_in *request = (void *)(header + 1);
  if (count < (ssize_t)(sizeof *header + sizeof *request) || header->opcode != OPCODE_SETXATTR)
    return count;
  if (request->extended_flags & ACL_KILL_SGID) request->flags |= CFUSE_SETXATTR_ACL_KILL_SGID;
  size_t cut = sizeof *request - SHORT_SETXATTR;
  memmove((char *)request + SHORT_SETXATTR, request + 1,
          (size_t)count - sizeof *header - sizeof *request);
  header->length -= (uint32_t)cut;
  return count - (ssize_t)cut;
}

// One thread that reads requests. It is serving from the moment in which it has one until it asks
// for the next. Records are never freed: there are as many as there were threads at once.
struct cfuse_thread {
  _Atomic unsigned long received;
  _Atomic unsigned long served;
  _Atomic int serving;
  struct cfuse_thread *next;
};

static __thread struct cfuse_thread *self;
static __thread struct cfuse_context *home;
static pthread_key_t leaving_key;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

// The thread ends, or only answered INIT: it serves no request any more.
static void leave(void *thread) { atomic_store(&((struct cfuse_thread *)thread)->serving, 0); }
static void create_leaving_key(void) { pthread_key_create(&leaving_key, leave); }

static struct cfuse_thread *enlist(struct cfuse_context *context) {
  if (__builtin_expect(home == context, 1)) return self;
  pthread_once(&leaving_once, create_leaving_key);
  self = calloc(1, sizeof *self);
  home = context;
  if (!self) return NULL;
  pthread_setspecific(leaving_key, self);
  self->next = __atomic_load_n(&context->threads, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&context->threads, &self->next, self, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
  return self;
}

unsigned long cfuse_session_requests(struct cfuse_context *context) {
  unsigned long count = 0;
  struct cfuse_thread *thread = __atomic_load_n(&context->threads, __ATOMIC_ACQUIRE);
  for (; thread; thread = thread->next) count += atomic_load(&thread->received);
  return count;
}

int cfuse_session_quiesce(struct cfuse_context *context, unsigned milliseconds) {
  struct cfuse_thread *thread = __atomic_load_n(&context->threads, __ATOMIC_ACQUIRE);
  unsigned waited = 0;
  for (; thread; thread = thread->next) {
    unsigned long served = atomic_load(&thread->served);
    while (atomic_load(&thread->serving) && atomic_load(&thread->served) == served) {
      if (waited++ >= milliseconds) return -ETIMEDOUT;
      struct timespec pause = {0, 1000000};
      nanosleep(&pause, NULL);
    }
  }
  return 0;
}

int cfuse_session_invalidate_name(struct fuse_session *session, fuse_ino_t parent, const char *name,
                                  size_t length) {
  return fuse_lowlevel_notify_inval_entry(session, parent, name, length);
}

int cfuse_session_invalidate_attributes(struct fuse_session *session, fuse_ino_t node) {
  return fuse_lowlevel_notify_inval_inode(session, node, -1, 0);
}

int cfuse_session_invalidate(struct fuse_session *session, fuse_ino_t node) {
  return fuse_lowlevel_notify_inval_inode(session, node, 0, 0);
}

static ssize_t transport_read(int device, void *buffer, size_t size, void *user) {
  struct cfuse_context *context = user;
  // A kill while the kernel copies into a page that is absent would end that request with EIO.
  static __thread void *populated;
  if (populated != buffer) {
    uintptr_t start = ((uintptr_t)buffer + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)buffer + size) & ~(uintptr_t)4095;
    if (end > start) madvise((void *)start, end - start, MADV_POPULATE_WRITE);
    populated = buffer;
  }
  struct cfuse_thread *thread = enlist(context);
  if (thread) {
    atomic_store(&thread->serving, 0);
    atomic_fetch_add(&thread->served, 1);
  }
  ssize_t count = read(device, buffer, size);
  if (thread) {
    atomic_store(&thread->serving, 1);
    if (count > 0) atomic_fetch_add(&thread->received, 1);
  }
  if (__builtin_expect(!context->init_answered, 0)) note_init(context, buffer, count);
  return context->agreed_flags & CFUSE_SETXATTR_EXT ? shorten_setxattr(buffer, count) : count;
}

static ssize_t transport_writev(int device, struct iovec *parts, int count, void *user) {
  struct cfuse_context *context = user;
  if (__builtin_expect(context->init_answered, 1) || count != 2)
    return writev(device, parts, count);
  struct out_header *header = parts[0].iov_base;
  if (header->unique != context->init_request || header->error != 0 ||
      parts[1].iov_len != sizeof(struct init_out))
    return writev(device, parts, count);
  struct init_out answer;
  memcpy(&answer, parts[1].iov_base, sizeof answer);
  uint64_t flags = answer.flags | (uint64_t)answer.flags2 << 32;
  flags |= context->wanted_flags & context->offered_flags;
  answer.flags = (uint32_t)(flags | INIT_EXTENSION);
  answer.flags2 = (uint32_t)(flags >> 32);
  if (flags & CFUSE_PASSTHROUGH) answer.max_stack_depth = context->stack_depth;
  context->agreed_flags = flags;
  context->init_answered = 1;
  struct iovec patched[2] = {parts[0], {&answer, sizeof answer}};
  return writev(device, patched, 2);
}

static ssize_t transport_splice(int from, off_t *from_offset, int to, off_t *to_offset,
                                size_t length, unsigned flags, void *user) {
  (void)user;
  return splice(from, from_offset, to, to_offset, length, flags);
}

struct fuse_session *cfuse_session_new(const char *option,
                                       const struct fuse_lowlevel_ops *operations,
                                       struct cfuse_context *context) {
  char *arguments[] = {(char *)"sandboxfs-view", (char *)"-o", (char *)option, NULL};
  struct fuse_args args = FUSE_ARGS_INIT(option[0] ? 3 : 1, arguments);
  return fuse_session_new(&args, operations, sizeof *operations, context);
}

int cfuse_session_install_transport(struct fuse_session *session, struct cfuse_context *context) {
  (void)context;
  struct fuse_custom_io io = {.writev = transport_writev,
                              .read = transport_read,
                              .splice_receive = transport_splice,
                              .splice_send = transport_splice};
  return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

int cfuse_session_pump(struct fuse_session *session) {
  struct fuse_buf buffer = {0};
  int count = fuse_session_receive_buf(session, &buffer);
  if (count > 0) fuse_session_process_buf(session, &buffer);
  free(buffer.mem);
  if (self) leave(self);
  return count < 0 ? count : count == 0 ? -ENODEV : 0;
}

int cfuse_session_serve(struct fuse_session *session, unsigned threads, unsigned idle) {
  struct fuse_loop_config *config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, idle);
  int result = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return result;
}

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
