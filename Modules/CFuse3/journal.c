// What each thread is doing with which request, and what of that outlives the process.
#include "internal.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A thread is serving from the moment in which it has a request until it asks for the next one.
__thread struct cfuse_thread *cfuse_self;
static __thread struct cfuse_context *home;
// How far another process had come with the request of this thread.
static __thread uint32_t repeated;
// How many of its records in the audit log this run has not come to yet.
static __thread uint32_t audited;
static pthread_key_t leaving_key;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;
// Where crashes are noted; NULL if they are not.
static struct cfuse_journal *noted_in;

enum { CRASH_STACK = 32768 };

// The thread ends: it serves no request any more.
static void leave(void *thread) {
  struct cfuse_thread *gone = thread;
  __atomic_store_n(&gone->record.state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_store_n(&gone->serving, 0, __ATOMIC_SEQ_CST);
}
static void create_leaving_key(void) { pthread_key_create(&leaving_key, leave); }

struct cfuse_thread *cfuse_enlist(struct cfuse_context *context) {
  if (__builtin_expect(home == context, 1)) return cfuse_self;
  pthread_once(&leaving_once, create_leaving_key);
  struct cfuse_journal *journal = context->journal;
  home = context;
  cfuse_self = NULL;
  uint32_t place = __atomic_fetch_add(&journal->thread_count, 1, __ATOMIC_ACQ_REL);
  if (place >= CFUSE_THREADS) return NULL;
  cfuse_self = &journal->threads[place];
  cfuse_self->record.descriptor = -1;
  __atomic_store_n(&cfuse_self->number, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
  pthread_setspecific(leaving_key, cfuse_self);
  if (noted_in) {
    // A stack that overflows leaves no room on itself.
    void *memory = malloc(CRASH_STACK);
    stack_t stack = {.ss_sp = memory, .ss_size = CRASH_STACK};
    if (memory) sigaltstack(&stack, NULL);
  }
  return cfuse_self;
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
    if (received) count += received - (cfuse_load_state(&thread->record) != CFUSE_IDLE);
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
void cfuse_wake_watcher(const struct cfuse_context *context) {
  if (!__atomic_exchange_n(&context->journal->watcher_sleeps, 0, __ATOMIC_SEQ_CST)) return;
  cfuse_session_ring(context);
}

// MARK: What outlives a process

static struct cfuse_record nowhere = {.descriptor = -1};

struct cfuse_record *cfuse_current(void) { return cfuse_self ? &cfuse_self->record : &nowhere; }

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
  return trail_of(home->journal, (uint32_t)(cfuse_self - home->journal->threads));
}

static void add_step(struct cfuse_trail *trail, uint64_t node, uint64_t lookups) {
  uint32_t count = trail->count;
  if (count >= sizeof trail->steps / sizeof trail->steps[0]) return;
  trail->steps[count].node = node;
  trail->steps[count].lookups = lookups;
  __atomic_store_n(&trail->count, count + 1, __ATOMIC_RELEASE);
}

void cfuse_note_lookup(uint64_t node) {
  if (cfuse_self) add_step(own_trail(), node, 1);
}

void cfuse_note_forgotten(void) {
  if (!cfuse_self) return;
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

// Where a record is left: in the place of what was left of the same request before. That is there
// where a process died while it took over, or between the two steps of a claim, and says less than
// the thread's own record: of two the older one would be found first. Where all are taken the
// oldest goes, whose caller is the likeliest to have taken it back.
static uint32_t place_for(struct cfuse_journal *journal, const struct cfuse_record *record) {
  uint32_t empty = journal->left_count, oldest = 0;
  for (uint32_t place = 0; place < journal->left_count; place++) {
    const struct cfuse_record *left = &journal->left[place];
    if (left->state == CFUSE_IDLE) {
      if (empty == journal->left_count) empty = place;
    } else if (left->unique == record->unique && !is_forget(record->opcode)) {
      return place;
    } else if (left->takeover < journal->left[oldest].takeover) {
      oldest = place;
    }
  }
  return empty < CFUSE_LEFT_BEHIND ? empty : oldest;
}

static void leave_behind(struct cfuse_journal *journal, uint32_t thread, uint64_t takeover) {
  struct cfuse_record record = journal->threads[thread].record;
  uint32_t place = place_for(journal, &record);
  // Should this be interrupted, the thread's record is still there, and is left again.
  __atomic_store_n(&journal->left[place].state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const struct cfuse_trail *from = trail_of(journal, thread);
  struct cfuse_trail *to = trail_of(journal, CFUSE_THREADS + place);
  to->done = from->done;
  to->count = from->count;
  to->other = from->other;
  memcpy(to->lengths, from->lengths, sizeof to->lengths);
  memcpy(to->names, from->names, from->lengths[0] + from->lengths[1]);
  memcpy(to->steps, from->steps, from->count * sizeof from->steps[0]);
  struct cfuse_record *left = &journal->left[place];
  uint32_t state = record.state;
  record.state = CFUSE_IDLE;
  record.takeover = takeover;
  record.doubts = 0;
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
  journal->is_fresh = 0;
  // Last: until then what was answered is what others have answered.
  __atomic_store_n(&journal->takeovers, takeover, __ATOMIC_RELEASE);
  home = NULL;
  cfuse_self = NULL;
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

// The kernel sends a request again: what is known of it becomes the record of this thread, which
// answers it. False if it was refused instead, since it has crashed too often.
static __attribute__((noinline)) int claim(struct cfuse_context *context, int device,
                                           const struct in_header *header) {
  struct cfuse_journal *journal = context->journal;
  struct cfuse_record *record = &cfuse_self->record;
  uint64_t unique = header->unique & ~RESENT;
  for (uint32_t place = 0; place < journal->left_count; place++) {
    struct cfuse_record *left = &journal->left[place];
    uint32_t state = cfuse_load_state(left);
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

int cfuse_note_request(struct cfuse_context *context, int device, const void *message,
                               ssize_t count) {
  const struct in_header *header = message;
  struct cfuse_record *record = &cfuse_self->record;
  struct cfuse_trail *trail = own_trail();
  repeated = CFUSE_IDLE;
  audited = 0;
  trail->count = 0;
  trail->done = 0;
  // Also of what is sent again: this process may die over it too.
  cfuse_note_names(trail, header, count);
  if (__builtin_expect((header->unique & RESENT) != 0, 0) && header->opcode != OPCODE_INTERRUPT) {
    record->unique = 0;
    if (!claim(context, device, header)) return 0;
    if (repeated != CFUSE_IDLE) return 1;
  }
  record->unique = header->unique & ~RESENT;
  record->opcode = header->opcode;
  record->node = header->node;
  record->crashes = 0;
  record->audited = 0;
  if (__builtin_expect(is_forget(header->opcode), 0)) note_forget(header, count);
  __atomic_store_n(&record->state, CFUSE_READ, __ATOMIC_RELEASE);
  if (__builtin_expect(!context->journal->is_fresh, 0)) cfuse_note_fresh(context->journal, header);
  return 1;
}

// MARK: Crashes

static void note_crash(int signal, siginfo_t *details, void *context) {
  (void)context;
  struct sigaction plain = {.sa_handler = SIG_DFL};
  sigaction(signal, &plain, NULL);
  // What others send says nothing about the request, nor about us.
  int is_own = details->si_code > 0 || details->si_pid == getpid();
  if (!is_own) {
    // It may have come to any thread.
    __atomic_fetch_add(&noted_in->outside_signals, 1, __ATOMIC_RELAXED);
  } else if (cfuse_self) {
    cfuse_self->record.crashes++;
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
