// What a daemon needs of the kernel: its device, its locks, its socket, its threads.
#pragma once
#include <stdint.h>
#include <sys/types.h>

/// mount(2). -1 and errno on failure.
int clinux_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data);

/// Raises the soft limits of open files and of the size of a file to the hard ones; that of open
/// files, or -1 and errno.
long clinux_raise_open_files(void);

/// flock(2) LOCK_EX | LOCK_NB. -1 and errno on failure.
int clinux_lock(int descriptor);

/// A listening Unix stream socket at `path`, of mode 0600, in place of what was there. -1 and errno
/// on failure.
int clinux_listen(const char *path);

/// Accepts a connection whose reads and writes never wait; says who is at the other end. -1 and
/// errno on failure, EAGAIN where nobody waits.
int clinux_accept(int listener, uid_t *uid);

/// Blocks HUP, INT, TERM, PIPE and XFSZ for this thread and those that it starts; a signalfd of
/// TERM.
int clinux_block_signals(void);

/// Runs `body(argument)` on a detached thread. An error number, or 0.
int clinux_start_thread(void *(*body)(void *), void *argument);

/// A new session without a terminal, in `/`; never fails for a process that leads no group.
void clinux_leave_session(void);

/// Gives back the pages of code that are mapped from files: they are read again where they run.
void clinux_leave_start_behind(void);

/// _exit(2).
_Noreturn void clinux_exit(int status);

/// The name of a process, at most 15 bytes and a NUL; its length, 0 if it is gone. `pid` may be a
/// thread's and becomes its process's.
int clinux_command_name(int *pid, char name[16]);

/// The time as RFC 3339 in UTC with milliseconds, such as 2026-11-30T02:45:43.123Z; its length.
int clinux_format_time(int64_t seconds, int64_t nanoseconds, char text[32]);

/// The local time as RFC 3164 has it, such as "Nov 30 02:45:43"; its length.
int clinux_format_syslog_time(int64_t seconds, char text[32]);

/// A datagram socket that never waits. -1 and errno on failure.
int clinux_datagram_socket(void);

/// Sends a datagram to the socket at `path`. -1 and errno on failure, EAGAIN where it is full.
int clinux_send_datagram(int socket, const char *path, const void *bytes, unsigned long count);

/// Starts a process that is a copy of this one and shares its table of descriptors, so that what it
/// opens stays open when it ends.
///
/// Only for a process of one thread. Its number, 0 in the new one, -1 and errno.
pid_t clinux_clone_sharing_descriptors(void);

/// Blocks CHLD; a signalfd of CHLD and TERM, for `clinux_watch`. -1 and errno.
int clinux_signals_of_children(void);

/// Waits until a child of this process has ended, TERM has come, `bell` can be read, which it then
/// is, or the time is over: 1, 2, 3, 0.
///
/// `status` is waitpid's.
int clinux_watch(pid_t child, int signals, int bell, int milliseconds, int *status);

/// What a thread of another process is doing, as /proc shows it.
struct clinux_thread {
  /// Its state: R, S, D, ...; 0 if there is no such thread.
  char state;
  /// Whether it waits for another thread; also where nobody lets us see that it does not.
  int waits_for_thread;
  /// How long it has run in the program and in the kernel, in the clock's ticks.
  unsigned long program_time, kernel_time;
};

/// Looks at a thread.
struct clinux_thread clinux_look_at_thread(pid_t process, pid_t thread);

/// An eventfd(2) that never waits. -1 and errno.
int clinux_bell(void);

/// Rings an eventfd(2).
void clinux_ring(int bell);

/// close_range(2), in this table that others may share.
void clinux_close_range(unsigned first, unsigned last);

/// Has what is open stay open in the next program, or not: all descriptors from 3.
void clinux_keep_on_exec(int keep);

/// Becomes another program, which has everything open. An error number, if it can't.
int clinux_become(const char *path, char *const arguments[], char *const environment[]);

/// Sets by how much the kernel would rather end this process than others; what it was, or -2000.
int clinux_set_oom_score(int score);

/// What a guardian stands on, in memory that is shared with the worker.
struct clinux_guard {
  /// Not 0 where the worker has ended because its view is gone.
  const int32_t *ended;
  /// Where the time of its death goes, in microseconds of the monotonic clock.
  int64_t *death;
};

/// Starts a process that shares this one's descriptors, waits for the end of the process behind
/// `worker`, and then becomes this program anew. Its number, or -1 and errno.
///
/// It does nothing between that needs memory or a lock, which other threads may hold here.
pid_t clinux_start_guardian(int worker, struct clinux_guard guard, char *const arguments[],
                            char *const environment[]);

/// Waits until any of three descriptors can be read: bits 1, 2, 4; -1 and errno.
int clinux_wait_three(int first, int second, int third);

/// Names this process for people: at most 15 bytes.
void clinux_set_name(const char *name);
