// Attempts to get out of a container, each with a name and a number.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// sys/mount.h and linux/mount.h cannot both be included.
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);
int umount2(const char *target, int flags);
enum { ms_remount = 32, ms_bind = 4096, ms_recursive = 16384, mnt_detach = 2 };

// Makes an attempt, of which an expression is the result, and says what has come of it. While it is
// made the process has the attempt's number for its name: that is how the log tells of it.
#define report(name, expression) (begin_attempt(), end_attempt(name, expression))

// In the place of an errno: where the kernel has ended the process by SIGSYS, and where something
// that would have been of use is not so.
enum { was_killed = 4000, was_not_so };

void begin_attempt(void);
void end_attempt(const char *name, int result);

// What is known of the host, by name; "" if it was not told.
const char *host(const char *name);

// The program's own path, and its bundle's directory.
extern char self[512], bundle[512];
// The home directory.
extern const char *home;

// A path below a directory, in memory of which four are used in turn.
const char *in(const char *directory, const char *name);
// Opens and closes a file; -1 if it can't be opened.
int opened(const char *path, int flags);
// Waits for a child, whose exit status is an errno; -1 if that is not 0.
int ended(pid_t child);
int write_text(const char *path, const char *text);
// Writes a copy of this program.
int copy_self(const char *to);
int execute(const char *path);

void change_bundle(void);
void execute_what_it_wrote(void);
void change_structure(void);
void leave_by_paths(void);
void make_strange_files(void);
void reach_processes(void);
void reach_others(void);
void try_system_calls(void);
void try_doors(int is_root);
void look_for_traces(const char *identifier, const char *secret);
