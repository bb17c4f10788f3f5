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
  uint32_t padding;
  /// The number that its latest record has in the audit log, if it is added; in the lowest byte,
  /// how many it has there besides.
  uint64_t audited;
  /// How often the view was taken over when this was left behind.
  uint64_t takeover;
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
  uint64_t padding;
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
  char padding[128 - 40 - sizeof(struct cfuse_agreement) % 128];
  struct cfuse_thread threads[CFUSE_THREADS];
  /// What processes that died have left behind, until the kernel sends it again.
  struct cfuse_record left[CFUSE_LEFT_BEHIND];
  /// What belongs to `threads`, and then what belongs to `left`.
  struct cfuse_trail trails[CFUSE_THREADS + CFUSE_LEFT_BEHIND];
};

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
  /// Takes lookups of a node back.
  void (*forget)(void *owner, uint64_t node, uint64_t lookups);
  /// Hears of a request that was refused, since each process that served it has crashed.
  void (*give_up)(void *owner, uint32_t opcode, uint64_t node, uint32_t uid, uint32_t pid);
  /// The threads that read requests, and what each of them is doing.
  struct cfuse_journal *journal;
  /// The request number of INIT, until it has been answered.
  uint64_t init_request;
  int init_answered;
  /// INIT flags that are taken as not offered.
  uint64_t hidden_flags;
  /// Whether what is read is kept, since the kernel can't send it again.
  int keeps;
  /// An eventfd that wakes whoever looks for threads that hang; -1 if nobody does.
  int bell;
  /// Where INIT is not the kernel's but a repetition: what it is answered is noted here.
  struct cfuse_agreement *rehearsal;
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
/// Answers INIT as it was answered before, to nobody: `agreed` is what was agreed then.
///
/// Returns 0; -EPROTO where it would be answered otherwise now.
int cfuse_session_repeat_init(struct fuse_session *session, struct cfuse_context *context,
                              const struct cfuse_agreement *agreed);
/// Serves with `threads` loop threads, of which `idle` are kept, until the kernel ends the
/// connection. 0, or -errno.
///
/// Where `clones` is 0 all read from one device: whoever takes over can answer by no other.
int cfuse_session_serve(struct fuse_session *session, unsigned threads, unsigned idle, int clones);

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
/// How many requests have been answered since the last takeover.
unsigned long cfuse_journal_answered(const struct cfuse_journal *journal);
/// Has the kernel send again what was read and not answered. 0, or -errno: -EINVAL where it can't.
int cfuse_session_resend(struct fuse_session *session);
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

/// Rings the bell of whoever watches, if there is one.
void cfuse_session_ring(const struct cfuse_context *context);
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
