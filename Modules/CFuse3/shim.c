#include "CFuse3.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

// Takes down what the kernel offers. 0 if this is no INIT.
static int note_init(struct cfuse_context *context, const void *message, size_t length) {
  const struct in_header *header = message;
  const struct init_in *init = (const void *)(header + 1);
  if (length < sizeof *header + offsetof(struct init_in, flags2)) return 0;
  if (header->opcode != OPCODE_INIT) return 0;
  context->offered_flags = init->flags;
  if ((init->flags & INIT_EXTENSION) && length >= sizeof *header + sizeof *init)
    context->offered_flags |= (uint64_t)init->flags2 << 32;
  context->offered_flags &= ~context->hidden_flags;
  return 1;
}

// Puts the extended flag of a SETXATTR among the others, since libfuse hands on only those; below
// 3.17 it knows the short form of the message alone.
static ssize_t simplify_setxattr(void *message, ssize_t count) {
  struct in_header *header = message;
  struct setxattr_in *request = (void *)(header + 1);
  if (count < (ssize_t)(sizeof *header + sizeof *request) || header->opcode != OPCODE_SETXATTR)
    return count;
  if (request->extended_flags & ACL_KILL_SGID) request->flags |= CFUSE_SETXATTR_ACL_KILL_SGID;
#if CFUSE_NEGOTIATES
  return count;
#else
  size_t cut = sizeof *request - SHORT_SETXATTR;
  memmove((char *)request + SHORT_SETXATTR, request + 1,
          (size_t)count - sizeof *header - sizeof *request);
  header->length -= (uint32_t)cut;
  return count - (ssize_t)cut;
#endif
}

// A thread is serving from the moment in which it has a request until it asks for the next one.
static __thread struct cfuse_thread *self;
static __thread struct cfuse_context *home;
// How far another process had come with the request of this thread.
static __thread uint32_t repeated;
// How many of its records in the audit log this run has not come to yet.
static __thread uint32_t audited;
static pthread_key_t leaving_key;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;
// Where crashes are noted; NULL if they are not.
static struct cfuse_journal *noted_in;

enum {
  OPCODE_FORGET = 2,
  OPCODE_INTERRUPT = 36,
  OPCODE_FORGET_MANY = 42,
  CRASH_STACK = 32768
};
enum { NOTIFY_INVALID_NODE = 2, NOTIFY_INVALID_NAME = 3, NOTIFY_RESEND = 7 };
#define RESENT (UINT64_C(1) << 63)

// The thread ends: it serves no request any more.
static void leave(void *thread) {
  struct cfuse_thread *gone = thread;
  __atomic_store_n(&gone->record.state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_store_n(&gone->serving, 0, __ATOMIC_SEQ_CST);
}
static void create_leaving_key(void) { pthread_key_create(&leaving_key, leave); }

static struct cfuse_thread *enlist(struct cfuse_context *context) {
  if (__builtin_expect(home == context, 1)) return self;
  pthread_once(&leaving_once, create_leaving_key);
  struct cfuse_journal *journal = context->journal;
  home = context;
  self = NULL;
  uint32_t place = __atomic_fetch_add(&journal->thread_count, 1, __ATOMIC_ACQ_REL);
  if (place >= CFUSE_THREADS) return NULL;
  self = &journal->threads[place];
  self->record.descriptor = -1;
  self->number = (int)syscall(SYS_gettid);
  pthread_setspecific(leaving_key, self);
  if (noted_in) {
    // A stack that overflows leaves no room on itself.
    void *memory = malloc(CRASH_STACK);
    stack_t stack = {.ss_sp = memory, .ss_size = CRASH_STACK};
    if (memory) sigaltstack(&stack, NULL);
  }
  return self;
}

static uint32_t thread_count(const struct cfuse_journal *journal) {
  uint32_t count = __atomic_load_n(&journal->thread_count, __ATOMIC_ACQUIRE);
  return count < CFUSE_THREADS ? count : CFUSE_THREADS;
}

unsigned long cfuse_journal_requests(const struct cfuse_journal *journal) {
  unsigned long count = journal->received_before;
  for (uint32_t place = 0; place < thread_count(journal); place++)
    count += __atomic_load_n(&journal->threads[place].received, __ATOMIC_RELAXED);
  return count;
}

unsigned long cfuse_journal_answered(const struct cfuse_journal *journal) {
  unsigned long count = 0;
  for (uint32_t place = 0; place < thread_count(journal); place++) {
    const struct cfuse_thread *thread = &journal->threads[place];
    unsigned long received = __atomic_load_n(&thread->received, __ATOMIC_RELAXED);
    if (received) count += received - (thread->record.state != CFUSE_IDLE);
  }
  return count;
}

int cfuse_journal_quiesce(struct cfuse_journal *journal, unsigned milliseconds) {
  unsigned waited = 0;
  for (uint32_t place = 0; place < thread_count(journal); place++) {
    struct cfuse_thread *thread = &journal->threads[place];
    unsigned long served = __atomic_load_n(&thread->served, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&thread->serving, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&thread->served, __ATOMIC_SEQ_CST) == served) {
      if (waited++ >= milliseconds) return -ETIMEDOUT;
      struct timespec pause = {0, 1000000};
      nanosleep(&pause, NULL);
    }
  }
  return 0;
}

// MARK: Threads that hang

struct cfuse_look cfuse_journal_look(const struct cfuse_journal *journal, uint32_t place) {
  struct cfuse_look look = {0};
  if (place >= thread_count(journal)) return look;
  const struct cfuse_thread *thread = &journal->threads[place];
  look.number = __atomic_load_n(&thread->number, __ATOMIC_RELAXED);
  look.served = __atomic_load_n(&thread->served, __ATOMIC_SEQ_CST);
  look.serving = __atomic_load_n(&thread->serving, __ATOMIC_SEQ_CST);
  return look;
}

void cfuse_journal_blame(struct cfuse_journal *journal, uint32_t place) {
  __atomic_fetch_add(&journal->threads[place].record.crashes, 1, __ATOMIC_RELAXED);
}

void cfuse_journal_let_watcher_sleep(struct cfuse_journal *journal, int sleeps) {
  __atomic_store_n(&journal->watcher_sleeps, sleeps ? 1 : 0, __ATOMIC_SEQ_CST);
}

void cfuse_session_ring(const struct cfuse_context *context) {
  uint64_t one = 1;
  if (context->bell >= 0 && write(context->bell, &one, sizeof one) < 0) return;
}

// The first request behind a silence.
static __attribute__((noinline)) void wake_watcher(const struct cfuse_context *context) {
  if (!__atomic_exchange_n(&context->journal->watcher_sleeps, 0, __ATOMIC_SEQ_CST)) return;
  cfuse_session_ring(context);
}

// MARK: What outlives a process

static struct cfuse_record nowhere = {.descriptor = -1};

struct cfuse_record *cfuse_current(void) { return self ? &self->record : &nowhere; }

uint32_t cfuse_repeated(void) { return repeated; }

int cfuse_was_audited(void) {
  if (__builtin_expect(audited == 0, 1)) return 0;
  audited--;
  return 1;
}

static struct cfuse_trail *trail_of(struct cfuse_journal *journal, uint32_t place) {
  return &journal->trails[place];
}

static struct cfuse_trail *own_trail(void) {
  return trail_of(home->journal, (uint32_t)(self - home->journal->threads));
}

static void add_step(struct cfuse_trail *trail, uint64_t node, uint64_t lookups) {
  uint32_t count = trail->count;
  if (count >= sizeof trail->steps / sizeof trail->steps[0]) return;
  trail->steps[count].node = node;
  trail->steps[count].lookups = lookups;
  __atomic_store_n(&trail->count, count + 1, __ATOMIC_RELEASE);
}

void cfuse_note_lookup(uint64_t node) {
  if (self) add_step(own_trail(), node, 1);
}

void cfuse_note_forgotten(void) {
  if (!self) return;
  struct cfuse_trail *trail = own_trail();
  // Before it is: a count that stays too high does no harm.
  __atomic_store_n(&trail->done, trail->done + 1, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void follow(struct cfuse_context *context, struct cfuse_trail *trail) {
  while (trail->done < trail->count) {
    uint32_t step = trail->done;
    __atomic_store_n(&trail->done, step + 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    context->forget(context->owner, trail->steps[step].node, trail->steps[step].lookups);
  }
}

static int is_forget(uint32_t opcode) {
  return opcode == OPCODE_FORGET || opcode == OPCODE_FORGET_MANY;
}

// Where a record is left: in the place of what was left of the same request before. That is there
// where a process died while it took over, or between the two steps of a claim, and says less than
// the thread's own record: of two the older one would be found first.
static uint32_t place_for(struct cfuse_journal *journal, const struct cfuse_record *record) {
  uint32_t empty = journal->left_count;
  for (uint32_t place = 0; place < journal->left_count; place++) {
    const struct cfuse_record *left = &journal->left[place];
    if (left->state == CFUSE_IDLE) {
      if (empty == journal->left_count) empty = place;
    } else if (left->unique == record->unique && !is_forget(record->opcode)) {
      return place;
    }
  }
  return empty;
}

static void leave_behind(struct cfuse_journal *journal, uint32_t thread, uint64_t takeover) {
  struct cfuse_record record = journal->threads[thread].record;
  uint32_t place = place_for(journal, &record);
  if (place >= CFUSE_LEFT_BEHIND) return;
  // Should this be interrupted, the thread's record is still there, and is left again.
  __atomic_store_n(&journal->left[place].state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const struct cfuse_trail *from = trail_of(journal, thread);
  struct cfuse_trail *to = trail_of(journal, CFUSE_THREADS + place);
  to->done = from->done;
  to->count = from->count;
  memcpy(to->steps, from->steps, from->count * sizeof from->steps[0]);
  struct cfuse_record *left = &journal->left[place];
  uint32_t state = record.state;
  record.state = CFUSE_IDLE;
  record.takeover = takeover;
  *left = record;
  __atomic_store_n(&left->state, state, __ATOMIC_RELEASE);
  if (place == journal->left_count)
    __atomic_store_n(&journal->left_count, place + 1, __ATOMIC_RELEASE);
}

void cfuse_journal_take_over(struct cfuse_journal *journal) {
  uint64_t takeover = journal->takeovers + 1;
  // What nobody has asked for again since long was taken back by its caller. Where one process
  // after the other dies at once, a request may wait for many of them.
  for (uint32_t place = 0; place < journal->left_count; place++)
    if (takeover - journal->left[place].takeover > CFUSE_PATIENCE)
      journal->left[place].state = CFUSE_IDLE;
  for (uint32_t place = 0; place < thread_count(journal); place++) {
    struct cfuse_thread *thread = &journal->threads[place];
    if (thread->record.state != CFUSE_IDLE) leave_behind(journal, place, takeover);
    __atomic_store_n(&thread->record.state, CFUSE_IDLE, __ATOMIC_RELEASE);
    journal->received_before += thread->received;
    thread->received = 0;
    thread->serving = 0;
    thread->record.descriptor = -1;
  }
  __atomic_store_n(&journal->thread_count, 0, __ATOMIC_RELEASE);
  // Last: until then what was answered is what others have answered.
  __atomic_store_n(&journal->takeovers, takeover, __ATOMIC_RELEASE);
  home = NULL;
  self = NULL;
}

void cfuse_journal_forget(struct cfuse_context *context) {
  struct cfuse_journal *journal = context->journal;
  for (uint32_t place = 0; place < journal->left_count; place++) {
    struct cfuse_record *left = &journal->left[place];
    if (left->state == CFUSE_IDLE || !is_forget(left->opcode)) continue;
    follow(context, trail_of(journal, CFUSE_THREADS + place));
    left->state = CFUSE_IDLE;
  }
}

// The kernel sends each of these once, and they are lost with the process that has read them.
static void note_forget(const struct in_header *header, ssize_t count) {
  struct cfuse_trail *trail = own_trail();
  const uint64_t *words = (const void *)(header + 1);
  const uint64_t *end = (const void *)((const char *)header + count);
  if (header->opcode == OPCODE_FORGET) {
    if (words + 1 <= end) add_step(trail, header->node, words[0]);
    return;
  }
  // A count and padding, then a node and its lookups for each.
  uint32_t many = words < end ? (uint32_t)words[0] : 0;
  for (words++; many > 0 && words + 2 <= end; many--, words += 2)
    add_step(trail, words[0], words[1]);
}

// MARK: Where the kernel can't send anything again

enum { INBOXES = 32, MESSAGE = (1 << 20) + 4096, PAGE = 4096 };

// What a thread has read, and how it answers that. A message begins with its length, 0 where there
// is none.
struct inbox {
  char message[MESSAGE];
  char answer[MESSAGE];
  // How long the answer is that is being sent; 0 if none is.
  uint32_t answer_length;
  // Whether a thread of this process has taken what was left here.
  uint32_t taken;
  char padding[PAGE - 8];
};

// Behind the journal, with memory only where it is used.
struct inboxes {
  // What the first threads have read, and what processes that died have left of that.
  struct inbox own[INBOXES];
  struct inbox left[INBOXES];
  // How many of the latter may hold something.
  uint32_t left_count;
  char padding[PAGE - 4];
};

static unsigned long journal_pages(void) {
  return (sizeof(struct cfuse_journal) + PAGE - 1) & ~(unsigned long)(PAGE - 1);
}

unsigned long cfuse_journal_size(void) { return journal_pages() + sizeof(struct inboxes); }

static struct inboxes *inboxes_of(struct cfuse_journal *journal) {
  return (struct inboxes *)((char *)journal + journal_pages());
}

static struct in_header *message_of(struct inbox *inbox) {
  return (struct in_header *)inbox->message;
}

static struct inbox *own_inbox(struct cfuse_context *context) {
  size_t place = self ? (size_t)(self - context->journal->threads) : INBOXES;
  return place < INBOXES ? &inboxes_of(context->journal)->own[place] : NULL;
}

static void copy_message(struct inbox *to, struct inbox *from) {
  uint32_t length = message_of(from)->length;
  memcpy(to->message + 4, from->message + 4, length - 4);
  to->answer_length = 0;
  // The length is what makes it one.
  __atomic_store_n(&message_of(to)->length, length, __ATOMIC_RELEASE);
}

static void empty(struct inbox *inbox) {
  __atomic_store_n(&message_of(inbox)->length, 0, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static int is_left(struct inboxes *inboxes, uint64_t unique) {
  for (uint32_t place = 0; place < inboxes->left_count; place++) {
    const struct in_header *left = message_of(&inboxes->left[place]);
    if (left->length && left->unique == unique) return 1;
  }
  return 0;
}

static void leave_message(struct inboxes *inboxes, struct inbox *inbox) {
  for (uint32_t place = 0; place < INBOXES; place++) {
    struct inbox *left = &inboxes->left[place];
    if (message_of(left)->length) continue;
    copy_message(left, inbox);
    if (place >= inboxes->left_count)
      __atomic_store_n(&inboxes->left_count, place + 1, __ATOMIC_RELEASE);
    return;
  }
}

static void sort_inbox(struct cfuse_journal *journal, uint32_t place, int device) {
  struct inboxes *inboxes = inboxes_of(journal);
  struct inbox *inbox = &inboxes->own[place];
  struct cfuse_record *record = &journal->threads[place].record;
  const struct in_header *message = message_of(inbox);
  if (message->length >= sizeof *message && message->length <= MESSAGE) {
    int is_noted = record->state != CFUSE_IDLE;
    if (inbox->answer_length && inbox->answer_length <= MESSAGE) {
      // Where the kernel has it already, it says that nobody has asked.
      if (write(device, inbox->answer, inbox->answer_length) >= 0 || errno == ENOENT)
        __atomic_store_n(&record->state, CFUSE_IDLE, __ATOMIC_RELEASE);
    } else if (message->opcode != OPCODE_INTERRUPT && !is_left(inboxes, message->unique) &&
               !(is_forget(message->opcode) && is_noted)) {
      leave_message(inboxes, inbox);
    }
  }
  empty(inbox);
}

void cfuse_journal_sort(struct cfuse_context *context, int device) {
  struct cfuse_journal *journal = context->journal;
  if (!context->keeps) return;
  for (uint32_t place = 0; place < INBOXES; place++) {
    sort_inbox(journal, place, device);
    inboxes_of(journal)->left[place].taken = 0;
  }
}

// What another process had read, as if the kernel had sent it again; 0 if there is nothing.
static ssize_t read_left(struct inboxes *inboxes, struct inbox *inbox) {
  for (uint32_t place = 0; place < inboxes->left_count; place++) {
    struct inbox *left = &inboxes->left[place];
    if (!message_of(left)->length || __atomic_exchange_n(&left->taken, 1, __ATOMIC_ACQ_REL))
      continue;
    copy_message(inbox, left);
    empty(left);
    return message_of(inbox)->length;
  }
  return 0;
}

// The thread is done with what it has read: before its record says so, since who finds a message
// without a record takes it for one that was never begun.
static void drop_message(struct cfuse_context *context) {
  struct inbox *inbox = own_inbox(context);
  if (!inbox) return;
  empty(inbox);
  inbox->answer_length = 0;
}

static ssize_t read_keeping(struct cfuse_context *context, int device, void *buffer, size_t size) {
  struct inbox *inbox = own_inbox(context);
  if (!inbox) return read(device, buffer, size);
  static __thread int is_populated;
  if (!is_populated) {
    madvise(inbox->message, MESSAGE, MADV_POPULATE_WRITE);
    is_populated = 1;
  }
  ssize_t count = read_left(inboxes_of(context->journal), inbox);
  int was_left = count > 0;
  if (!was_left) count = read(device, inbox->message, size < MESSAGE ? size : MESSAGE);
  if (count <= 0) return count;
  memcpy(buffer, inbox->message, (size_t)count);
  if (was_left) ((struct in_header *)buffer)->unique |= RESENT;
  return count;
}

// Keeps an answer before it is sent. What READ answers can be read again; all else may have been
// counted.
static void write_keeping(struct cfuse_context *context, struct out_header *answer) {
  enum { OPCODE_READ = 15 };
  struct inbox *inbox = own_inbox(context);
  answer->unique &= ~RESENT;
  if (inbox && message_of(inbox)->unique == answer->unique &&
      message_of(inbox)->opcode != OPCODE_READ) {
    memcpy(inbox->answer, answer, answer->length);
    __atomic_store_n(&inbox->answer_length, answer->length, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  // Nobody waits any more where this fails.
  if (write(context->device, answer, answer->length) < 0) return;
}

static void note_crash(int signal, siginfo_t *details, void *context) {
  (void)context;
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(signal, &plain, NULL);
  // What others send says nothing about the request, nor about us.
  int is_own = details->si_code > 0 || details->si_pid == getpid();
  if (!is_own) {
    // It may have come to any thread.
    __atomic_fetch_add(&noted_in->outside_signals, 1, __ATOMIC_RELAXED);
  } else if (self) {
    self->record.crashes++;
  }
  raise(signal);
}

void cfuse_note_crashes(struct cfuse_journal *journal) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  struct sigaction action = {.sa_sigaction = note_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  noted_in = journal;
  for (size_t index = 0; index < sizeof signals / sizeof signals[0]; index++)
    sigaction(signals[index], &action, NULL);
}

// The kernel sends a request again: what is known of it becomes the record of this thread, which
// answers it. False if it was refused instead, since it has crashed too often.
static __attribute__((noinline)) int claim(struct cfuse_context *context, int device,
                                           const struct in_header *header) {
  struct cfuse_journal *journal = context->journal;
  struct cfuse_record *record = &self->record;
  uint64_t unique = header->unique & ~RESENT;
  for (uint32_t place = 0; place < journal->left_count; place++) {
    struct cfuse_record *left = &journal->left[place];
    uint32_t state = left->state;
    if (left->unique != unique || state == CFUSE_IDLE) continue;
    // Nobody got the answer for which these were counted.
    follow(context, trail_of(journal, CFUSE_THREADS + place));
    struct cfuse_record copy = *left;
    copy.state = CFUSE_IDLE;
    *record = copy;
    __atomic_store_n(&record->state, state, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    // Whoever dies between these two leaves two records, which say the same.
    __atomic_store_n(&left->state, CFUSE_IDLE, __ATOMIC_RELEASE);
    repeated = state;
    audited = record->audited & 0xFF;
    break;
  }
  if (record->unique != unique || record->crashes < CFUSE_CRASHES) return 1;
  // Only who sends it again knows it by that bit.
  struct out_header answer = {.length = sizeof answer,
                              .error = -EIO,
                              .unique = context->keeps ? unique : header->unique};
  __atomic_fetch_add(&journal->refused, 1, __ATOMIC_RELAXED);
  context->give_up(context->owner, header->opcode, header->node, header->uid, header->pid);
  // Nobody waits any more where this fails.
  if (write(device, &answer, sizeof answer) < 0) return 0;
  return 0;
}

static inline int note_request(struct cfuse_context *context, int device, const void *message,
                               ssize_t count) {
  const struct in_header *header = message;
  struct cfuse_record *record = &self->record;
  struct cfuse_trail *trail = own_trail();
  repeated = CFUSE_IDLE;
  audited = 0;
  trail->count = 0;
  trail->done = 0;
  if (__builtin_expect((header->unique & RESENT) != 0, 0) && header->opcode != OPCODE_INTERRUPT) {
    record->unique = 0;
    if (!claim(context, device, header)) return 0;
    if (repeated != CFUSE_IDLE) return 1;
  }
  record->unique = header->unique & ~RESENT;
  record->opcode = header->opcode;
  record->crashes = 0;
  record->audited = 0;
  if (__builtin_expect(is_forget(header->opcode), 0)) note_forget(header, count);
  __atomic_store_n(&record->state, CFUSE_READ, __ATOMIC_RELEASE);
  return 1;
}

// MARK: Telling the kernel something

static int notify(int device, const void *message, size_t length) {
  return write(device, message, length) < 0 ? -errno : 0;
}

int cfuse_resend(int device) {
  struct out_header message = {.length = sizeof message, .error = NOTIFY_RESEND};
  return notify(device, &message, sizeof message);
}

static int invalidate(int device, uint64_t node, int64_t offset) {
  struct {
    struct out_header header;
    uint64_t node;
    int64_t offset, length;
  } message = {{sizeof message, NOTIFY_INVALID_NODE, 0}, node, offset, 0};
  return notify(device, &message, sizeof message);
}

int cfuse_invalidate_attributes(int device, uint64_t node) { return invalidate(device, node, -1); }

int cfuse_invalidate(int device, uint64_t node) { return invalidate(device, node, 0); }

int cfuse_invalidate_name(int device, uint64_t parent, const char *name, uint32_t length) {
  enum { LONGEST = 255 };
  struct {
    struct out_header header;
    uint64_t parent;
    uint32_t length, flags;
    char name[LONGEST + 1];
  } message = {{0, NOTIFY_INVALID_NAME, 0}, parent, length, 0, {0}};
  if (length > LONGEST) return -ENAMETOOLONG;
  message.header.length = (uint32_t)(offsetof(__typeof__(message), name) + length + 1);
  memcpy(message.name, name, length);
  return notify(device, &message, message.header.length);
}

// MARK: libfuse

// A session of libfuse's: one thread's, which reads a request by itself, has libfuse call the
// operation, and has the answer written to where `number` leads. libfuse can be given a transport
// of ours too, but from 3.18 on it is built without that.
struct channel {
  struct fuse_session *session;
  // Where libfuse writes answers: to memory, or to the device.
  int number;
  // That memory.
  struct out_header *answer;
};

// A session that answers into memory.
static int open_channel(struct cfuse_context *context, struct channel *channel) {
  char *arguments[] = {(char *)"sandboxfs-view", NULL};
  struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
  char place[32];
  channel->number = memfd_create("answers", MFD_CLOEXEC);
  if (channel->number < 0 || ftruncate(channel->number, MESSAGE) < 0) return -errno;
  channel->answer =
      mmap(NULL, MESSAGE, PROT_READ | PROT_WRITE, MAP_SHARED, channel->number, 0);
  if (channel->answer == MAP_FAILED) return -errno;
  channel->session =
      fuse_session_new(&args, context->operations, sizeof *context->operations, context);
  fuse_opt_free_args(&args);
  if (!channel->session) return -ENOMEM;
  snprintf(place, sizeof place, "/dev/fd/%d", channel->number);
  return fuse_session_mount(channel->session, place) < 0 ? -EIO : 0;
}

static void close_channel(struct channel *channel) {
  munmap(channel->answer, MESSAGE);
  // This closes what it answers to.
  fuse_session_destroy(channel->session);
}

// Has libfuse answer a message into memory; false if it gives none.
static int answer_in_memory(const struct channel *channel, void *message, size_t length) {
  struct fuse_buf buffer = {.size = length, .mem = message};
  channel->answer->length = 0;
  lseek(channel->number, 0, SEEK_SET);
  fuse_session_process_buf(channel->session, &buffer);
  return channel->answer->length >= sizeof *channel->answer && channel->answer->length <= MESSAGE;
}

// Answers to threads' own INIT say what is agreed already, and the file system is not asked.
static __thread int joins;

int cfuse_negotiate(struct cfuse_context *context, struct fuse_conn_info *connection) {
#if CFUSE_NEGOTIATES
  static const struct {
    uint64_t flag, capability;
  } known[] = {{CFUSE_PARALLEL_DIROPS, FUSE_CAP_PARALLEL_DIROPS},
               {CFUSE_HANDLE_KILLPRIV_V2, FUSE_CAP_HANDLE_KILLPRIV_V2},
               {CFUSE_SETXATTR_EXT, FUSE_CAP_SETXATTR_EXT},
               {CFUSE_PASSTHROUGH, FUSE_CAP_PASSTHROUGH}};
  for (size_t index = 0; index < sizeof known / sizeof known[0]; index++)
    if (context->agreeable_flags & known[index].flag)
      fuse_set_feature_flag(connection, known[index].capability);
  // libfuse counts the file systems below ours, and the kernel ours too.
  if (context->agreeable_flags & CFUSE_PASSTHROUGH)
    connection->max_backing_stack_depth = context->stack_depth - 1;
#ifdef FUSE_CAP_OVER_IO_URING
  // Requests that come so can't be sent again to whoever takes over.
  fuse_unset_feature_flag(connection, FUSE_CAP_OVER_IO_URING);
#endif
  // They are not handed to it.
  connection->no_interrupt = 1;
#else
  (void)connection;
#endif
  return !joins;
}

int cfuse_want(struct fuse_conn_info *connection, uint32_t capability) {
#if CFUSE_NEGOTIATES
  return fuse_set_feature_flag(connection, capability);
#else
  if (!(connection->capable & capability)) return 0;
  connection->want |= capability;
  return 1;
#endif
}

void cfuse_refuse(struct fuse_conn_info *connection, uint32_t capability) {
#if CFUSE_NEGOTIATES
  fuse_unset_feature_flag(connection, capability);
#else
  connection->want &= ~capability;
#endif
}

// Adds to libfuse's answer what it can't or forgets to agree on.
static void complete(const struct cfuse_context *context, struct init_out *answer) {
#if CFUSE_NEGOTIATES
  (void)context;
  (void)answer;
#else
  uint64_t flags = context->agreeable_flags | INIT_EXTENSION;
  answer->flags |= (uint32_t)flags;
  answer->flags2 |= (uint32_t)(flags >> 32);
  if (flags & CFUSE_PASSTHROUGH) answer->max_stack_depth = context->stack_depth;
#endif
}

// MARK: INIT

// Has libfuse answer an INIT; NULL if it refuses it.
static struct init_out *answer_init(struct cfuse_context *context, const struct channel *channel,
                                    void *message, size_t length) {
  struct out_header *header = channel->answer;
  struct init_out *answer = (void *)(header + 1);
  if (!answer_in_memory(channel, message, length)) return NULL;
  if (header->error || header->length != sizeof *header + sizeof *answer) return NULL;
  complete(context, answer);
  return answer;
}

static void agree(struct cfuse_context *context, const struct init_out *answer) {
  context->agreed_flags = answer->flags | (uint64_t)answer->flags2 << 32;
  context->agreeable_flags = context->agreed_flags & context->wanted_flags;
  context->max_write = answer->max_write;
}

static int answer_first(struct cfuse_context *context, const struct channel *channel) {
  struct cfuse_agreement *agreement = &context->journal->agreement;
  char message[16384];
  for (;;) {
    ssize_t count = read(context->device, message, sizeof message);
    if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
    if (count < 0) return -errno;
    if (!note_init(context, message, (size_t)count)) continue;
    context->agreeable_flags = context->wanted_flags & context->offered_flags;
    if ((size_t)count <= sizeof agreement->request) {
      memcpy(agreement->request, message, (size_t)count);
      agreement->request_length = (uint32_t)count;
    }
    const struct init_out *answer = answer_init(context, channel, message, (size_t)count);
    // Also if it is a refusal.
    if (write(context->device, channel->answer, channel->answer->length) < 0) return -errno;
    if (!answer) return -EPROTO;
    agree(context, answer);
    memcpy(agreement->answer, answer, sizeof *answer);
    return 0;
  }
}

int cfuse_answer_init(struct cfuse_context *context) {
  struct channel channel;
  int result = open_channel(context, &channel);
  if (result < 0) return result;
  result = answer_first(context, &channel);
  close_channel(&channel);
  return result;
}

// An INIT that offers what was agreed and no more, so that no later libfuse takes more; its length,
// 0 if there was none.
static size_t repeat(const struct cfuse_agreement *agreed, char *message) {
  size_t length = agreed->request_length;
  struct init_out before;
  if (length < sizeof(struct in_header) + sizeof(struct init_in)) return 0;
  if (length > sizeof agreed->request) return 0;
  memcpy(&before, agreed->answer, sizeof before);
  memcpy(message, agreed->request, length);
  struct init_in *init = (void *)(message + sizeof(struct in_header));
  init->flags &= before.flags;
  init->flags2 &= before.flags2;
  return length;
}

int cfuse_repeat_init(struct cfuse_context *context, const struct cfuse_agreement *agreed) {
  char message[sizeof agreed->request];
  size_t length = repeat(agreed, message);
  struct channel channel;
  if (!length || !note_init(context, message, length)) return -EPROTO;
  context->agreeable_flags = context->wanted_flags & context->offered_flags;
  int result = open_channel(context, &channel);
  if (result < 0) return result;
  struct init_out *answer = answer_init(context, &channel, message, length);
  if (answer) {
    agree(context, answer);
    struct init_out before;
    memcpy(&before, agreed->answer, sizeof before);
    // Of which release of the protocol libfuse is makes no difference to the kernel.
    before.minor = answer->minor;
    if (memcmp(answer, &before, sizeof before) != 0) answer = NULL;
  }
  close_channel(&channel);
  note_init(context, agreed->request, agreed->request_length);
  return answer ? 0 : -EPROTO;
}

// Has a thread's own session know what is agreed.
static int join_agreement(struct cfuse_context *context, const struct channel *channel) {
  char message[sizeof context->journal->agreement.request];
  size_t length = repeat(&context->journal->agreement, message);
  if (!length) return -EPROTO;
  joins = 1;
  const struct init_out *answer = answer_init(context, channel, message, length);
  joins = 0;
  return answer ? 0 : -EPROTO;
}

int cfuse_mount_by_helper(struct cfuse_context *context, const char *option, const char *target) {
  char *arguments[] = {(char *)"sandboxfs-view", (char *)"-o", (char *)option, NULL};
  struct fuse_args args = FUSE_ARGS_INIT(3, arguments);
  struct fuse_session *session =
      fuse_session_new(&args, context->operations, sizeof *context->operations, context);
  fuse_opt_free_args(&args);
  if (!session) return -EINVAL;
  int result = fuse_session_mount(session, target) < 0 ? -EPERM : 0;
  if (result == 0) {
    context->device = fcntl(fuse_session_fd(session), F_DUPFD_CLOEXEC, 3);
    if (context->device < 0) result = -errno;
  }
  fuse_session_destroy(session);
  return result;
}

// MARK: Serving

// What the threads of one connection share. A few of them serve, which is faster than many; while
// some are kept by a call that may take long, others take their place, and rest afterwards.
struct server {
  struct cfuse_context *context;
  // How many serve at once, and how many there may be in all.
  uint32_t most;
  uint32_t limit;
  int clones;
  // How many serve or are kept, how many of them wait for a request, and how many are kept.
  uint32_t active;
  uint32_t waiting;
  uint32_t kept;
  // Whether one has come so far as to serve.
  int serves;
  pthread_mutex_t lock;
  // Under the lock: how many there are; how many rest, and how many of them are called.
  uint32_t started;
  uint32_t resting;
  uint32_t called;
  int is_over;
  pthread_cond_t call;
  // Once for each that has ended; why the first one has that did not end with the connection.
  sem_t ended;
  int result;
};
static __thread struct server *employer;

static void *run_thread(void *raw);

static int has_place(const struct server *server) {
  uint32_t places =
      server->most + __atomic_load_n(&server->kept, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&server->active, __ATOMIC_SEQ_CST) <
         (places < server->limit ? places : server->limit);
}

// Has one more thread serve, where one may.
static void invite(struct server *server) {
  if (!has_place(server)) return;
  pthread_mutex_lock(&server->lock);
  if (has_place(server)) {
    pthread_t thread;
    __atomic_fetch_add(&server->active, 1, __ATOMIC_SEQ_CST);
    if (server->resting > server->called) {
      server->called++;
      pthread_cond_signal(&server->call);
    } else if (pthread_create(&thread, NULL, run_thread, server) == 0) {
      pthread_detach(thread);
      server->started++;
    } else {
      // Those that are there serve, and the next request tries again.
      __atomic_fetch_sub(&server->active, 1, __ATOMIC_SEQ_CST);
    }
  }
  pthread_mutex_unlock(&server->lock);
}

void cfuse_begin_long(void) {
  struct server *server = employer;
  if (!server) return;
  __atomic_fetch_add(&server->kept, 1, __ATOMIC_SEQ_CST);
  // One that waits and gets a request invites another one then.
  if (__atomic_load_n(&server->waiting, __ATOMIC_SEQ_CST) == 0) invite(server);
}

void cfuse_end_long(void) {
  if (employer) __atomic_fetch_sub(&employer->kept, 1, __ATOMIC_SEQ_CST);
}

// Rests until it is called or all is over, if there are more threads than are to serve. What it
// reads into is given back after a while.
static void rest(struct server *server, void *buffer, size_t size) {
  struct timespec then;
  int is_held = 1;
  pthread_mutex_lock(&server->lock);
  if (server->active > server->most + __atomic_load_n(&server->kept, __ATOMIC_SEQ_CST)) {
    __atomic_fetch_sub(&server->active, 1, __ATOMIC_SEQ_CST);
    server->resting++;
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_sec++;
    while (server->called == 0 && !server->is_over) {
      if (!is_held) {
        pthread_cond_wait(&server->call, &server->lock);
      } else if (pthread_cond_timedwait(&server->call, &server->lock, &then) == ETIMEDOUT) {
        madvise(buffer, size, MADV_DONTNEED);
        is_held = 0;
      }
    }
    if (server->called > 0) server->called--;
    server->resting--;
  }
  pthread_mutex_unlock(&server->lock);
  if (!is_held) madvise(buffer, size, MADV_POPULATE_WRITE);
}

// Another device of the same connection, so that threads don't queue for one; the same one where
// there can be no other.
static int lead_to_device(const struct server *server, const struct channel *channel) {
  int device = server->context->device;
  int clone = server->clones ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;
  uint32_t master = (uint32_t)device;
  if (clone >= 0 && ioctl(clone, _IOR(229, 0, uint32_t), &master) < 0) {
    close(clone);
    clone = -1;
  }
  int result = dup3(clone >= 0 ? clone : device, channel->number, O_CLOEXEC) < 0 ? -errno : 0;
  if (clone >= 0) close(clone);
  return result;
}

// A thread serves no request, any more or yet.
static struct cfuse_thread *finish(struct cfuse_context *context) {
  struct cfuse_thread *thread = enlist(context);
  if (!thread) return NULL;
  if (__builtin_expect(context->keeps, 0)) drop_message(context);
  // First of all: what is answered is not to be done again.
  __atomic_store_n(&thread->record.state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_store_n(&thread->serving, 0, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&thread->served, 1, __ATOMIC_SEQ_CST);
  return thread;
}

static ssize_t read_request(struct cfuse_context *context, struct cfuse_thread *thread, int device,
                            void *buffer, size_t size) {
  ssize_t count = context->keeps ? read_keeping(context, device, buffer, size)
                                 : read(device, buffer, size);
  if (thread) {
    __atomic_store_n(&thread->serving, 1, __ATOMIC_SEQ_CST);
    // Behind that store: one of the two sees what the other has stored.
    if (__builtin_expect(__atomic_load_n(&context->journal->watcher_sleeps, __ATOMIC_SEQ_CST), 0))
      wake_watcher(context);
    if (count >= (ssize_t)sizeof(struct in_header)) {
      __atomic_store_n(&thread->received, thread->received + 1, __ATOMIC_RELAXED);
      if (!note_request(context, device, buffer, count)) {
        errno = EINTR;
        return -1;
      }
    }
  }
  return context->agreed_flags & CFUSE_SETXATTR_EXT ? simplify_setxattr(buffer, count) : count;
}

// What a thread reads into: a mapping of its own, which no copy of the process gets. A kill while
// the kernel copies into a page that is absent would end that request with EIO; so would one that
// is shared with a copy until somebody writes to it.
static void *map_buffer(size_t size) {
  void *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return NULL;
  madvise(buffer, size, MADV_POPULATE_WRITE);
  madvise(buffer, size, MADV_DONTFORK);
  return buffer;
}

static int serve_requests(struct server *server, const struct channel *channel, void *buffer,
                          size_t size) {
  struct cfuse_context *context = server->context;
  int device = context->keeps ? context->device : channel->number;
  for (;;) {
    struct cfuse_thread *thread = finish(context);
    if (__builtin_expect(__atomic_load_n(&server->active, __ATOMIC_SEQ_CST) >
                             server->most + __atomic_load_n(&server->kept, __ATOMIC_SEQ_CST),
                         0))
      rest(server, buffer, size);
    __atomic_fetch_add(&server->waiting, 1, __ATOMIC_SEQ_CST);
    ssize_t count = read_request(context, thread, device, buffer, size);
    int error = count < 0 ? errno : 0;
    int is_last = __atomic_fetch_sub(&server->waiting, 1, __ATOMIC_SEQ_CST) == 1;
    if (error == EINTR || error == EAGAIN || error == ENOENT) continue;
    if (error) return error == ENODEV ? 0 : -error;
    if (count < (ssize_t)sizeof(struct in_header)) return -EIO;
    // Nobody asks whether a request was interrupted, and this needs no answer.
    if (((struct in_header *)buffer)->opcode == OPCODE_INTERRUPT) continue;
    if (is_last) invite(server);
    if (__builtin_expect(context->keeps, 0)) {
      if (answer_in_memory(channel, buffer, (size_t)count))
        write_keeping(context, channel->answer);
      continue;
    }
    struct fuse_buf message = {.size = (size_t)count, .mem = buffer};
    fuse_session_process_buf(channel->session, &message);
  }
}

static void *run_thread(void *raw) {
  struct server *server = raw;
  struct cfuse_context *context = server->context;
  // Never destroyed: another thread may still owe the answer to a request that was read here.
  struct channel channel;
  size_t size = context->max_write + PAGE;
  int result = open_channel(context, &channel);
  if (result == 0) result = join_agreement(context, &channel);
  if (result == 0 && !context->keeps) {
    munmap(channel.answer, MESSAGE);
    result = lead_to_device(server, &channel);
  }
  void *buffer = result == 0 ? map_buffer(size) : NULL;
  employer = server;
  if (buffer) {
    __atomic_store_n(&server->serves, 1, __ATOMIC_SEQ_CST);
    result = serve_requests(server, &channel, buffer, size);
  } else if (__atomic_load_n(&server->serves, __ATOMIC_SEQ_CST)) {
    // The others go on without it.
    result = 0;
  } else if (result == 0) {
    result = -ENOMEM;
  }
  int none = 0;
  __atomic_compare_exchange_n(&server->result, &none, result, 0, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  if (buffer) {
    pthread_mutex_lock(&server->lock);
    server->is_over = 1;
    pthread_cond_broadcast(&server->call);
    pthread_mutex_unlock(&server->lock);
  }
  sem_post(&server->ended);
  return NULL;
}

static uint32_t started(struct server *server) {
  pthread_mutex_lock(&server->lock);
  uint32_t count = server->started;
  pthread_mutex_unlock(&server->lock);
  return count;
}

int cfuse_serve(struct cfuse_context *context, uint32_t threads, int clones) {
  enum { KEPT = 64 };
  // Its threads may outlive the call.
  static struct server server;
  // More could not keep what they have read.
  uint32_t limit = context->keeps ? INBOXES : threads + KEPT;
  server = (struct server){.context = context, .most = threads, .limit = limit, .clones = clones};
  pthread_mutex_init(&server.lock, NULL);
  pthread_cond_init(&server.call, NULL);
  sem_init(&server.ended, 0, 0);
  invite(&server);
  if (started(&server) == 0) return -EAGAIN;
  for (uint32_t ended = 0; ended < started(&server);) {
    if (sem_wait(&server.ended) < 0) continue;
    ended++;
    int result = __atomic_load_n(&server.result, __ATOMIC_SEQ_CST);
    if (result < 0) return result;
  }
  return 0;
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
