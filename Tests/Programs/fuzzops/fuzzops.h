// What the parts of the differential fuzzer share.
//
// A sequence of operations is done step by step on two directories, a plain one and one of a view.
// After each step what the operation answered must be the same, and after some of them all that can
// be seen of the two trees. What a side may know of is nothing that two file systems need not agree
// on: no number of an inode, no time.
#ifndef FUZZOPS_H
#define FUZZOPS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { SLOTS = 6, MAPPINGS = 3, LISTINGS = 2, COOKIES = 16, ARGUMENTS = 6, PATHS = 18 };
enum { CROWD = 60, LISTED = 256, BLOCK = 1 << 18, MAPPED = 1 << 17 };

// One operation: what, by whom, with which arguments.
struct operation {
  int kind, actor;
  long arguments[ARGUMENTS];
};

// What an operation answered: a value or an error, and a digest of what it read.
struct answer {
  long value;
  int error;
  uint64_t digest;
};

struct mapping {
  char *start;
  size_t size;
  off_t offset;
  int file;
  bool is_writable;
};

// A name that was there when a listing began, and how often it was read since.
struct listed {
  uint64_t name;
  ino_t inode;
  int times;
};

// A directory that is being read, some entries at a time.
struct listing {
  int file;
  long cookies[COOKIES];
  int cookie_count;
  struct listed names[LISTED];
  int name_count;
  // Since it began: another place was sought, names changed, and which.
  bool is_sought, is_changed;
  uint64_t changed_paths, removed_of_crowd;
};

// One of the two directories, and what is open in it.
struct side {
  const char *name;
  int parent, root;
  int files[SLOTS];
  struct mapping mappings[MAPPINGS];
  struct listing listings[LISTINGS];
  // Something was allocated and not written since the side was made.
  bool is_allocated;
  // Whether an ACL was set.
  bool has_acl;
  // Whether pages were given up.
  bool is_advised;
  char *look;
  size_t look_size;
  struct history *history;
};
enum { PLAIN, VIEW };

// An operation that the fuzzer knows. Each letter of `letters` says what an argument is; see
// `make_argument`.
struct form {
  const char *name, *letters;
  int weight;
  void (*act)(struct side *, const long *, struct answer *);
};
extern const struct form forms[];
int form_named(const char *name);

// How the sides are mounted, and what is to be compared.
struct settings {
  bool is_user;    // everything as whoever runs this: the view is an ordinary user's
  bool is_cached;  // the daemon does the I/O, through the kernel's cache
  bool is_kept;    // besides, the kernel keeps what is written until it has time to write it
  bool is_limited; // the view has limits, which are not met
  bool has_blocks; // both sides allocate at the same moments
  bool is_strict;  // no difference is meant: both are plain
  bool is_timed;   // the clock moves between two operations, so that times that move are seen
};
extern struct settings settings;

// Numbers that depend on the seed only.
void seed(uint64_t value);
unsigned below(unsigned limit);

// A sequence as text, one operation a line.
struct operation make_operation(void);
void print_operation(FILE *, const struct operation *);
bool parse_operation(const char *line, struct operation *);
extern const char *const paths[PATHS];

// Does an operation on one side, as its actor.
void act(struct side *, const struct operation *, struct answer *);
void become(int actor);
void open_root(struct side *);
_Noreturn void stop(const char *where);
uint64_t digest(uint64_t, const void *, size_t);
uint64_t digest_mapping(const struct mapping *);
bool touch_memory(void (*body)(void *), void *argument);

// Writes down all that can be seen of a side.
void look_at_side(struct side *, bool is_thorough);
bool is_same_line(const char *one, size_t, const char *other, size_t);
void forget_history(struct side *);

// The differences that are meant.
bool is_refused_by_views(const struct operation *, const char **reason);
void settle(struct side *plain, struct side *view, const struct operation *, bool has_failed);

#endif
