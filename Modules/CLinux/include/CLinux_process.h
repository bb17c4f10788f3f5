// Processes: spawning, credentials, namespaces, Unix sockets.
#pragma once
#include <sched.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>

/// F_ADD_SEALS, and the seals that keep the size of a file in memory.
#define CLINUX_ADD_SEALS 1033
#define CLINUX_SEAL_SIZE 0x6

/// Starts `path` with the descriptors 0..<count being copies of `descriptors`, and no other open;
/// no signal blocked, ignored or handled; in a session of its own if `new_session`.
///
/// 0, or an error number: also what execve says.
int clinux_spawn(pid_t *pid, const char *path, char *const arguments[],
                 char *const environment[], const int *descriptors, int count, int new_session);

/// pidfd_open(2). A descriptor that can be read once the process has ended; -1 and errno.
int clinux_pidfd_open(pid_t pid);

/// Becomes the tracer of a thread, and has it stop; the calling thread's end lets it go on. -1 and
/// errno if that can't be.
int clinux_seize(pid_t thread);

/// Whether a thread that was seized has stopped, or ended.
int clinux_has_stopped(pid_t thread);

/// A descriptor of the pid namespace that holds the one of a descriptor. -1 and errno; EPERM if the
/// caller is not in it.
int clinux_namespace_above(int processes);

/// pidfd_send_signal(2). -1 and errno on failure.
int clinux_pidfd_signal(int handle, int signal);

/// How a process ended, from waitpid's status: its exit status, or 128 + the signal's number.
int clinux_exit_status(int status);

/// This process's environment: `environ`, of which Glibc's module has two.
char **clinux_environment(void);

/// Connects to a Unix stream socket at `path`, with a time limit in milliseconds for each later
/// read and write. A descriptor, or -1 and errno.
int clinux_connect(const char *path, int timeout_ms);
