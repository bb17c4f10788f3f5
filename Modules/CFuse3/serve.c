// The threads that read requests and have libfuse answer them.
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SHORT_SETXATTR = 8, ACL_KILL_SGID = 1 };

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
  struct cfuse_thread *thread = cfuse_enlist(context);
  if (!thread) return NULL;
  if (__builtin_expect(context->keeps, 0)) cfuse_drop_message(context);
  // First of all: what is answered is not to be done again.
  __atomic_store_n(&thread->record.state, CFUSE_IDLE, __ATOMIC_RELEASE);
  __atomic_store_n(&thread->serving, 0, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&thread->served, 1, __ATOMIC_SEQ_CST);
  return thread;
}

static ssize_t read_request(struct cfuse_context *context, struct cfuse_thread *thread, int device,
                            void *buffer, size_t size) {
  ssize_t count = context->keeps ? cfuse_read_keeping(context, device, buffer, size)
                                 : read(device, buffer, size);
  if (thread) {
    __atomic_store_n(&thread->serving, 1, __ATOMIC_SEQ_CST);
    // Behind that store: one of the two sees what the other has stored.
    if (__builtin_expect(__atomic_load_n(&context->journal->watcher_sleeps, __ATOMIC_SEQ_CST), 0))
      cfuse_wake_watcher(context);
    if (count >= (ssize_t)sizeof(struct in_header)) {
      __atomic_store_n(&thread->received, thread->received + 1, __ATOMIC_RELAXED);
      if (!cfuse_note_request(context, device, buffer, count)) {
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
      if (cfuse_answer_in_memory(channel, buffer, (size_t)count))
        cfuse_write_keeping(context, channel->answer);
      continue;
    }
    struct fuse_buf message = {.size = (size_t)count, .mem = buffer};
    fuse_session_process_buf(channel->session, &message);
  }
}

static void *run_thread(void *raw) {
  struct server *server = raw;
  struct cfuse_context *context = server->context;
  struct channel channel;
  size_t size = context->max_write + PAGE;
  int result = cfuse_open_channel(context, &channel);
  if (result == 0) result = cfuse_join_agreement(context, &channel);
  if (result == 0 && !context->keeps) {
    cfuse_forget_answers(&channel);
    result = lead_to_device(server, &channel);
  }
  void *buffer = result == 0 ? map_buffer(size) : NULL;
  employer = server;
  if (buffer) {
    __atomic_store_n(&server->serves, 1, __ATOMIC_SEQ_CST);
    result = serve_requests(server, &channel, buffer, size);
  } else {
    if (result == 0) result = -ENOMEM;
    // The others go on without it, and the next request tries again.
    if (__atomic_load_n(&server->serves, __ATOMIC_SEQ_CST)) result = 0;
    __atomic_fetch_sub(&server->active, 1, __ATOMIC_SEQ_CST);
  }
  cfuse_close_channel(&channel);
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
