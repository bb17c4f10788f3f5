// The only place that knows which libfuse this is: 3.14 to 3.18 at compile time.
//
// Several of these are plain functions in one release and macros in the next, so all of them are
// called through here. The transport is ours: every byte from and to /dev/fuse passes cfuse_read
// and cfuse_writev, where the answer to INIT gets what libfuse 3.14 forgets to negotiate.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdint.h>

/// FUSE_INIT flags as in the kernel's include/uapi/linux/fuse.h.
#define CFUSE_PARALLEL_DIROPS (1ull << 18)
#define CFUSE_HANDLE_KILLPRIV_V2 (1ull << 28)
#define CFUSE_SETXATTR_EXT (1ull << 29)

/// Beside the flags of setxattr(2): S_ISGID goes with this ACL, since its setter may not keep it.
#define CFUSE_SETXATTR_ACL_KILL_SGID (1 << 30)

#define CFUSE_PASSTHROUGH (1ull << 37)

/// FOPEN_* flags as in the same header.
#define CFUSE_FOPEN_KEEP_CACHE (1u << 1)
#define CFUSE_FOPEN_CACHE_DIR (1u << 3)

/// What hangs on one session: libfuse hands a pointer to it to every callback.
struct cfuse_context {
  /// The file system, unretained.
  void *owner;
  /// INIT flags that are added to the answer if the kernel offered them.
  uint64_t wanted_flags;
  /// How many file systems may be stacked below ours for passthrough: 1, or 2 over an overlay.
  uint32_t stack_depth;
  /// What the kernel offered, and what it was answered.
  uint64_t offered_flags;
  uint64_t agreed_flags;
  /// The threads that read requests, each by its own record.
  struct cfuse_thread *threads;
  /// The request number of INIT, until it has been answered.
  uint64_t init_request;
  int init_answered;
};

/// A session over `operations`, or NULL.
///
/// `option` is one -o string.
struct fuse_session *cfuse_session_new(const char *option,
                                       const struct fuse_lowlevel_ops *operations,
                                       struct cfuse_context *context);
/// Puts our transport between libfuse and the mounted session's descriptor. 0 or -errno.
int cfuse_session_install_transport(struct fuse_session *session, struct cfuse_context *context);
/// Receives and answers one request on this thread. 0, or -errno.
int cfuse_session_pump(struct fuse_session *session);
/// Serves with `threads` loop threads, of which `idle` are kept, until the kernel ends the
/// connection. 0, or -errno.
int cfuse_session_serve(struct fuse_session *session, unsigned threads, unsigned idle);

/// How many requests the kernel has sent.
unsigned long cfuse_session_requests(struct cfuse_context *context);
/// Waits until every request that is under way now has been answered, but no longer than
/// `milliseconds`. 0, or -ETIMEDOUT.
int cfuse_session_quiesce(struct cfuse_context *context, unsigned milliseconds);
/// Tells the kernel to forget a name in a directory.
///
/// Waits as the next one. 0, or -errno.
int cfuse_session_invalidate_name(struct fuse_session *session, fuse_ino_t parent, const char *name,
                                  size_t length);
/// Tells the kernel to forget the attributes and the cached listing of a node.
///
/// Waits for any operation in that directory. 0, or -errno: -ENOENT if the kernel does not know it.
int cfuse_session_invalidate(struct fuse_session *session, fuse_ino_t node);

/// Tells the kernel to forget the attributes of a node, and answers to it that are under way. Waits
/// for nothing. 0, or -errno.
int cfuse_session_invalidate_attributes(struct fuse_session *session, fuse_ino_t node);

/// Answers OPEN. 0, or -errno if the kernel no longer waits.
int cfuse_reply_open(fuse_req_t request, uint64_t handle, uint32_t flags, int32_t backing);
/// Answers CREATE.
int cfuse_reply_create(fuse_req_t request, const struct fuse_entry_param *entry, uint64_t handle,
                       uint32_t flags, int32_t backing);

/// FUSE_DEV_IOC_BACKING_OPEN: the number by which the kernel reads and writes the file of
/// `descriptor`, O_PATH included, without asking.
///
/// Above 0, or -errno: -EPERM without CAP_SYS_ADMIN.
int cfuse_backing_open(int device, int descriptor);
/// FUSE_DEV_IOC_BACKING_CLOSE. 0, or -errno.
int cfuse_backing_close(int device, int backing);

/// The context that a request belongs to.
static inline struct cfuse_context *cfuse_context_of(fuse_req_t request) {
  return (struct cfuse_context *)fuse_req_userdata(request);
}
