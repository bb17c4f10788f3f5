// Where the kernel can't send a request again: what threads have read is kept, and their answers.
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
  size_t place = cfuse_self ? (size_t)(cfuse_self - context->journal->threads) : INBOXES;
  return place < INBOXES ? &inboxes_of(context->journal)->own[place] : NULL;
}

static void copy_message(struct inbox *to, struct inbox *from) {
  uint32_t length = message_of(from)->length;
  memcpy(to->message + 4, from->message + 4, length - 4);
  to->answer_length = 0;
  // The length is what makes it one.
  __atomic_store_n(&message_of(to)->length, length, __ATOMIC_RELEASE);
}

// Whether there is a message, where other threads may take it meanwhile.
static int has_message(struct inbox *inbox) {
  return __atomic_load_n(&message_of(inbox)->length, __ATOMIC_ACQUIRE) != 0;
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
    if (!has_message(left) || __atomic_exchange_n(&left->taken, 1, __ATOMIC_ACQ_REL))
      continue;
    copy_message(inbox, left);
    empty(left);
    return message_of(inbox)->length;
  }
  return 0;
}

// The thread is done with what it has read: before its record says so, since who finds a message
// without a record takes it for one that was never begun.
void cfuse_drop_message(struct cfuse_context *context) {
  struct inbox *inbox = own_inbox(context);
  if (!inbox) return;
  empty(inbox);
  inbox->answer_length = 0;
}

ssize_t cfuse_read_keeping(struct cfuse_context *context, int device, void *buffer, size_t size) {
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
void cfuse_write_keeping(struct cfuse_context *context, struct out_header *answer) {
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
