// The only place that knows which libfuse this is: 3.14 to 3.18 at compile time.
//
// Several of its functions are plain in one release and macros in the next, so all of them are
// called through here. Requests are read here, by threads of ours; libfuse decodes each, calls the
// operation and sends the answer. That is so with every release, since what survives a death of the
// process stands on it. From 3.17 on libfuse agrees on all that we need by itself; to the INIT of
// an older one the rest is added here.
#pragma once
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdint.h>

/// Whether libfuse can agree by itself on all that this needs.
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
#define CFUSE_NEGOTIATES 1
#else
#define CFUSE_NEGOTIATES 0
#endif

/// FUSE_INIT flags as in the kernel's include/uapi/linux/fuse.h.
#define CFUSE_PARALLEL_DIROPS (1ull << 18)
#define CFUSE_HANDLE_KILLPRIV_V2 (1ull << 28)
#define CFUSE_SETXATTR_EXT (1ull << 29)

/// Beside the flags of setxattr(2): S_ISGID goes with this ACL, since its setter may not keep it.
#define CFUSE_SETXATTR_ACL_KILL_SGID (1 << 30)

#define CFUSE_PASSTHROUGH (1ull << 37)
/// The kernel can send again what was read and not answered.
#define CFUSE_HAS_RESEND (1ull << 39)

/// How far a request has come.
enum {
  /// There is none.
  CFUSE_IDLE = 0,
  /// It was read.
  CFUSE_READ = 1,
  /// Its system call is about to be made, or was.
  CFUSE_EXECUTING = 2,
  /// Its system call was made.
  CFUSE_EXECUTED = 3,
};

/// What must be known about a request if the process dies before it is answered: the kernel then
/// sends it again, and whoever serves it must know what has been done.
struct cfuse_record {
  /// The request's number; the last one stored is `state`.
  uint64_t unique;
  uint32_t state;
  uint32_t opcode;
  /// How many processes have crashed while they served it.
  uint32_t crashes;
  /// An open descriptor that the operation needs to its end; -1 if there is none.
  int32_t descriptor;
  /// What a name meant before it was moved or removed.
  uint64_t inode;
  uint64_t birth_nanoseconds;
  uint32_t device;
  /// How often the kernel was told to doubt what it knows of it, since nobody asked for it again.
  uint32_t doubts;
  /// The number that its latest record has in the audit log, if it is added; in the lowest byte,
  /// how many it has there besides.
  uint64_t audited;
  /// How often the view was taken over when this was left behind.
  uint64_t takeover;
  /// The node that it is about: where it has names, the directory of the first one.
  uint64_t node;
};

/// One thread that reads requests.
struct cfuse_thread {
  unsigned long received;
  unsigned long served;
  int serving;
  int number;
  struct cfuse_record record;
  char padding[128 - 24 - sizeof(struct cfuse_record)];
};

/// The lookups that a request has counted, should nobody get its answer; or those that a FORGET
/// takes back, which the kernel sends only once.
struct cfuse_trail {
  /// How many there are, and with how many of them nothing is to be done any more.
  uint32_t count;
  uint32_t done;
  /// The request's other node, 0 if it has none: the directory of the second name, or what is
  /// linked by the first one.
  uint64_t other;
  /// The names that the request is about, one behind the other, and how long they are; 0 for none.
  uint32_t lengths[2];
  uint64_t padding;
  char names[512];
  struct {
    uint64_t node;
    uint64_t lookups;
  } steps[4095];
};

enum { CFUSE_THREADS = 256, CFUSE_LEFT_BEHIND = 1024, CFUSE_CRASHES = 3, CFUSE_PATIENCE = 500 };

/// What INIT has agreed on.
struct cfuse_agreement {
  uint32_t request_length;
  uint32_t padding;
  uint8_t request[312];
  uint8_t answer[64];
};

/// All requests that are being served, in memory that outlives the process.
struct cfuse_journal {
  /// Not 0 where whoever looks for threads that hang is to be woken by the next request.
  uint32_t watcher_sleeps;
  /// How often a signal of a crash has come that somebody else had sent.
  uint32_t outside_signals;
  /// How many of `threads` are in use.
  uint32_t thread_count;
  /// How many of `left` are.
  uint32_t left_count;
  uint64_t takeovers;
  /// INIT as the kernel has sent it, and as it was answered: what is agreed is agreed for the life
  /// of a view, also if another program goes on with it.
  struct cfuse_agreement agreement;
  /// Requests before the last takeover, and those that were refused because they crash.
  unsigned long received_before;
  unsigned long refused;
  /// Whether a request has been read since the last takeover that comes for the first time: the
  /// kernel has nothing to send again any more then.
  uint32_t is_fresh;
  uint32_t more_padding;
  char padding[128 - 48 - sizeof(struct cfuse_agreement) % 128];
  struct cfuse_thread threads[CFUSE_THREADS];
  /// What processes that died have left behind, until the kernel sends it again.
  struct cfuse_record left[CFUSE_LEFT_BEHIND];
  /// What belongs to `threads`, and then what belongs to `left`.
  struct cfuse_trail trails[CFUSE_THREADS + CFUSE_LEFT_BEHIND];
};

/// What hangs on one connection: libfuse hands a pointer to it to every callback.
struct cfuse_context {
  /// The file system, unretained, and its operations.
  void *owner;
  const struct fuse_lowlevel_ops *operations;
  /// /dev/fuse; -1 until it is mounted.
  int device;
  /// How many file systems may be stacked below ours for passthrough: 1, or 2 over an overlay.
  uint32_t stack_depth;
  /// INIT flags that are agreed on if the kernel offers them, beside libfuse's own.
  uint64_t wanted_flags;
  /// INIT flags that are taken as not offered.
  uint64_t hidden_flags;
  /// What the kernel offered; what of that is wanted or, once INIT is answered, agreed; and all
  /// that it was answered.
  uint64_t offered_flags;
  uint64_t agreeable_flags;
  uint64_t agreed_flags;
  /// The most bytes of one WRITE.
  uint32_t max_write;
  /// Whether what is read is kept, since the kernel can't send it again.
  int keeps;
  /// Takes lookups of a node back.
  void (*forget)(void *owner, uint64_t node, uint64_t lookups);
  /// Hears of a request that was refused, since each process that served it has crashed.
  void (*give_up)(void *owner, uint32_t opcode, uint64_t node, uint32_t uid, uint32_t pid);
  /// The threads that read requests, and what each of them is doing.
  struct cfuse_journal *journal;
  /// An eventfd that wakes whoever looks for threads that hang; -1 if nobody does.
  int bell;
};

/// Mounts through fusermount3, with one -o string. 0, or -errno: -EINVAL for options that libfuse
/// does not take, -EPERM for what fusermount3 refuses.
int cfuse_mount_by_helper(struct cfuse_context *context, const char *option, const char *target);
/// Receives and answers INIT. 0, or -errno: -ENODEV if the mount went away before.
int cfuse_answer_init(struct cfuse_context *context);
/// Answers INIT as it was answered before, to nobody: `agreed` is what was agreed then.
///
/// Returns 0; -EPROTO where it would be answered otherwise now.
int cfuse_repeat_init(struct cfuse_context *context, const struct cfuse_agreement *agreed);
/// Serves with up to `threads` threads, made as they are needed, until the kernel ends the
/// connection. 0, or -errno.
///
/// Where `clones` is 0 all read from one device: whoever takes over can answer by no other.
int cfuse_serve(struct cfuse_context *context, uint32_t threads, int clones);

/// This thread is about to make a call that may take long, for the request that it serves: another
/// one takes its place meanwhile, where too few are left.
void cfuse_begin_long(void);
/// That call has returned.
void cfuse_end_long(void);

/// What libfuse's init has to call: agrees by libfuse's own means, where it has them. Whether the
/// file system is to be asked too.
int cfuse_negotiate(struct cfuse_context *context, struct fuse_conn_info *connection);
/// Wants a capability, FUSE_CAP_*. 0 if the kernel does not offer it.
int cfuse_want(struct fuse_conn_info *connection, uint32_t capability);
/// Does without a capability that libfuse would want by itself.
void cfuse_refuse(struct fuse_conn_info *connection, uint32_t capability);

/// How many bytes a journal takes, with what is kept where the kernel can't send again.
unsigned long cfuse_journal_size(void);
/// Takes over what a process has left that died while it served: all its threads are gone, and none
/// of ours serves yet.
void cfuse_journal_take_over(struct cfuse_journal *journal);
/// Sorts what threads had read that are dead: what was being answered is answered now, and the rest
/// is left for those who read next. Only where it is kept, and before `cfuse_journal_take_over`.
void cfuse_journal_sort(struct cfuse_context *context, int device);
/// Does what processes that died should have done for a FORGET.
void cfuse_journal_forget(struct cfuse_context *context);
/// Whether the kernel has nothing more to send again, as far as can be seen.
int cfuse_journal_is_drained(const struct cfuse_journal *journal);
/// Has the kernel ask again for the nodes and names of a request that is left behind and that
/// nobody asks for any more.
///
/// Such a request may have been carried out, and the kernel not know. Waits for operations in the
/// directories. 0 where there is none, or the kernel was told twice already.
int cfuse_journal_doubt(struct cfuse_context *context, uint32_t place);
/// How many requests have been answered since the last takeover.
unsigned long cfuse_journal_answered(const struct cfuse_journal *journal);
/// Has the kernel send again what was read and not answered. 0, or -errno: -EINVAL where it can't.
int cfuse_resend(int device);
/// What a thread is about, as it is seen from another process.
struct cfuse_look {
  /// Its number; 0 if there is no such thread.
  int number;
  /// Whether it serves a request, and how many it has served.
  int serving;
  unsigned long served;
};
/// Looks at one of the threads.
struct cfuse_look cfuse_journal_look(const struct cfuse_journal *journal, uint32_t place);
/// Counts a crash for the request that a thread serves: it has hung.
void cfuse_journal_blame(struct cfuse_journal *journal, uint32_t place);
/// Whether the next request is to wake whoever looks.
void cfuse_journal_let_watcher_sleep(struct cfuse_journal *journal, int sleeps);
/// From here on a signal of a crash is noted in the record of the thread that has crashed.
void cfuse_note_crashes(struct cfuse_journal *journal);

/// The record of the request that this thread serves; one that nobody reads if there is none.
struct cfuse_record *cfuse_current(void);
/// Whether what this thread's request is about to note was noted by an earlier run of it.
int cfuse_was_audited(void);
/// A lookup of a node was counted for the request of this thread.
void cfuse_note_lookup(uint64_t node);
/// The next step of a FORGET is taken now.
void cfuse_note_forgotten(void);
/// How far an earlier process had come with this thread's request: CFUSE_IDLE if none had it.
uint32_t cfuse_repeated(void);

/// Says how far the request has come, after everything that was stored before.
static inline void cfuse_store_state(struct cfuse_record *record, uint32_t state) {
  __atomic_store_n(&record->state, state, __ATOMIC_RELEASE);
}

/// How far a request has come; nothing that is read after was stored later than that.
static inline uint32_t cfuse_load_state(const struct cfuse_record *record) {
  return __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
}

/// Rings the bell of whoever watches, if there is one.
void cfuse_session_ring(const struct cfuse_context *context);
/// How many requests the kernel has sent.
unsigned long cfuse_journal_requests(const struct cfuse_journal *journal);
/// Waits until every request that is under way now has been answered, but no longer than
/// `milliseconds`. 0, or -ETIMEDOUT.
int cfuse_journal_quiesce(struct cfuse_journal *journal, unsigned milliseconds);
/// Tells the kernel to forget a name in a directory.
///
/// Waits as the next one. 0, or -errno.
int cfuse_invalidate_name(int device, uint64_t parent, const char *name, uint32_t length);
/// Tells the kernel to forget the attributes and the cached listing of a node.
///
/// Waits for any operation in that directory. 0, or -errno: -ENOENT if the kernel does not know it.
int cfuse_invalidate(int device, uint64_t node);

/// Tells the kernel to forget the attributes of a node, and answers to it that are under way. Waits
/// for nothing. 0, or -errno.
int cfuse_invalidate_attributes(int device, uint64_t node);

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
