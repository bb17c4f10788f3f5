// Sessions of libfuse's: how they answer into memory, and what they agree on with the kernel.
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int cfuse_open_channel(struct cfuse_context *context, struct channel *channel) {
  char *arguments[] = {(char *)"sandboxfs-view", NULL};
  struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
  char place[32];
  *channel = (struct channel){.number = memfd_create("answers", MFD_CLOEXEC)};
  if (channel->number < 0 || ftruncate(channel->number, MESSAGE) < 0) return -errno;
  void *memory = mmap(NULL, MESSAGE, PROT_READ | PROT_WRITE, MAP_SHARED, channel->number, 0);
  if (memory == MAP_FAILED) return -errno;
  channel->answer = memory;
  channel->session =
      fuse_session_new(&args, context->operations, sizeof *context->operations, context);
  fuse_opt_free_args(&args);
  if (!channel->session) return -ENOMEM;
  snprintf(place, sizeof place, "/dev/fd/%d", channel->number);
  if (fuse_session_mount(channel->session, place) < 0) return -EIO;
  channel->knows_number = 1;
  return 0;
}

void cfuse_forget_answers(struct channel *channel) {
  if (channel->answer) munmap(channel->answer, MESSAGE);
  channel->answer = NULL;
}

void cfuse_close_channel(struct channel *channel) {
  cfuse_forget_answers(channel);
  if (channel->session) fuse_session_destroy(channel->session);
  // A session closes what it answers to, once it knows that.
  if (!channel->knows_number && channel->number >= 0) close(channel->number);
}

int cfuse_answer_in_memory(const struct channel *channel, void *message, size_t length) {
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

// Has libfuse answer an INIT; NULL if it refuses it.
static struct init_out *answer_init(struct cfuse_context *context, const struct channel *channel,
                                    void *message, size_t length) {
  struct out_header *header = channel->answer;
  struct init_out *answer = (void *)(header + 1);
  if (!cfuse_answer_in_memory(channel, message, length)) return NULL;
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
  int result = cfuse_open_channel(context, &channel);
  if (result == 0) result = answer_first(context, &channel);
  cfuse_close_channel(&channel);
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
  int result = cfuse_open_channel(context, &channel);
  struct init_out *answer =
      result == 0 ? answer_init(context, &channel, message, length) : NULL;
  if (answer) {
    agree(context, answer);
    struct init_out before;
    memcpy(&before, agreed->answer, sizeof before);
    // Of which release of the protocol libfuse is makes no difference to the kernel.
    before.minor = answer->minor;
    if (memcmp(answer, &before, sizeof before) != 0) answer = NULL;
  }
  if (result == 0 && !answer) result = -EPROTO;
  cfuse_close_channel(&channel);
  note_init(context, agreed->request, agreed->request_length);
  return result;
}

int cfuse_join_agreement(struct cfuse_context *context, const struct channel *channel) {
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
