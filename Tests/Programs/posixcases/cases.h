// What the cases share: who acts, and how a step says what came of it.
//
// A case runs in an empty directory of its own and prints one line a step: `what = result`. The
// same cases run on a plain directory and on a view; a line is all that is compared, so it holds
// nothing that two runs need not agree on: no number of an inode or a device, no time.
#ifndef CASES_H
#define CASES_H

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

struct entry {
  const char *name;
  void (*run)(void);
};

// Each family of cases; the last entry has no name.
extern const struct entry opening[], naming[], renaming[], permissions[], attributes[], contents[],
    allocations[], mappings[], locks[], listings[], spellings[], lifetimes[], channels[];

// Who acts. `owner` and `member` are in the group of most files that the cases make.
struct actor {
  const char *name;
  uid_t uid;
  gid_t gid;
  gid_t groups[2];
  int group_count;
};
enum { OWNER = 4001, MEMBER = 4002, OTHER = 4003, GROUP = 4101, STRANGERS = 4102 };
extern const struct actor root, owner, expelled, member, other;

// Runs `act` as somebody, in a process of its own.
void as(const struct actor *who, void (*act)(void));

// For each actor: a directory of its own, in which root prepares and the actor acts.
void for_everyone(void (*prepare)(void), void (*act)(void));

// Runs `act` in a process of its own, which ends before this returns.
void in_child(void (*act)(void));

// Prints a step and its result. A negative result stands for errno.
void say_number(const char *step, long result);
void say_done(const char *step, long result);
void say(const char *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A step is shown as it is written here. VALUE shows the number that it returns, DONE only whether
// it succeeded.
#define VALUE(call) say_number(#call, (long)(call))
#define DONE(call) say_done(#call, (long)(call))

// What must succeed for a case to have a meaning.
#define MUST(call) must(#call, (long)(call))
long must(const char *step, long result);

// Opens and closes; 0 or -1.
int opens(const char *path, int flags, ...);

// Makes things, as whoever runs the case, for others: they must succeed.
void make_file(const char *path, mode_t mode, uid_t uid, gid_t gid);
void make_directory(const char *path, mode_t mode, uid_t uid, gid_t gid);
void write_file(const char *path, const char *text);

// Prints type, mode, links, owner, group and size of a name.
void look(const char *path);
void look_at(const char *step, int descriptor);

// Prints the content of a file.
void show(const char *path);

// Prints how many bytes a descriptor's file has, and a checksum of them.
void show_bytes(const char *step, int descriptor);

// Whether two names are one inode.
bool is_same(const char *path, const char *other);

// Which times of a name `act` moves.
void watch_times(const char *step, const char *path, void (*act)(void));

// Waits until the clock of the file system has surely moved.
void tick(void);

#endif
