// What the files of this module share.
#pragma once
#include "CFuse3.h"
#include "protocol.h"
#include <sys/types.h>

#pragma GCC visibility push(hidden)

enum { MESSAGE = (1 << 20) + 4096, PAGE = 4096 };

// MARK: journal.c

/// The place of this thread in the journal; NULL if it has none.
extern __thread struct cfuse_thread *cfuse_self;

/// The place of this thread in a context's journal, which it gets with the first call; NULL if all
/// are taken.
struct cfuse_thread *cfuse_enlist(struct cfuse_context *context);
/// Notes what was read before it is begun. False if it was answered with a refusal instead.
int cfuse_note_request(struct cfuse_context *context, int device, const void *message,
                       ssize_t count);
/// Wakes whoever looks for threads that hang, since there is something to look at again.
void cfuse_wake_watcher(const struct cfuse_context *context);

// MARK: messages.c

/// Has the kernel look a name up before it uses it again; waits for operations in that directory.
/// 0, or -errno.
int cfuse_expire_name(int device, uint64_t parent, const char *name, uint32_t length);

// MARK: lost.c

/// Notes the names that a request is about.
void cfuse_note_names(struct cfuse_trail *trail, const struct in_header *header, ssize_t count);
/// Notes what may be the first request that is not sent again.
void cfuse_note_fresh(struct cfuse_journal *journal, const struct in_header *header);

static inline int is_forget(uint32_t opcode) {
  return opcode == OPCODE_FORGET || opcode == OPCODE_FORGET_MANY;
}

// MARK: inboxes.c

/// How many threads can keep what they have read.
enum { INBOXES = 32 };

/// Reads a request and keeps it; what another process has left comes first.
ssize_t cfuse_read_keeping(struct cfuse_context *context, int device, void *buffer, size_t size);
/// Keeps an answer, and sends it.
void cfuse_write_keeping(struct cfuse_context *context, struct out_header *answer);
/// This thread is done with what it has read.
void cfuse_drop_message(struct cfuse_context *context);

// MARK: sessions.c

/// A session of libfuse's: one thread's, which reads a request by itself, has libfuse call the
/// operation, and has the answer written to where `number` leads. libfuse can be given a transport
/// of ours too, but from 3.18 on it is built without that.
struct channel {
  struct fuse_session *session;
  /// Where libfuse writes answers, once it knows it: to memory, or to the device.
  int number;
  int knows_number;
  /// That memory.
  struct out_header *answer;
};

/// A session that answers into memory; to be closed also where this fails. 0, or -errno.
int cfuse_open_channel(struct cfuse_context *context, struct channel *channel);
/// Does without the memory, before `number` leads elsewhere.
void cfuse_forget_answers(struct channel *channel);
void cfuse_close_channel(struct channel *channel);
/// Has libfuse answer a message into memory; false if it gives none.
int cfuse_answer_in_memory(const struct channel *channel, void *message, size_t length);
/// Has a thread's own session know what is agreed. 0, or -errno.
int cfuse_join_agreement(struct cfuse_context *context, const struct channel *channel);

#pragma GCC visibility pop
