// Joining a container that others have made.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// user, mnt, ipc, uts, cgroup, net, pid.
#define CLINUX_NAMESPACES 7

/// Opens the namespaces of a process, in the order above; one that the kernel does not have is -1,
/// and so is the network if it is the caller's own.
///
/// -1 and errno on failure, and then none is open.
int clinux_open_namespaces(pid_t pid, int files[CLINUX_NAMESPACES]);

/// How to join.
struct clinux_join {
  const int *namespaces;          ///< as clinux_open_namespaces has opened them
  uid_t uid;                      ///< whom root becomes
  gid_t gid;
  int streams[3];                 ///< what becomes 0, 1 and 2; nothing else stays open
  int has_terminal;               ///< whether 0 becomes the terminal that it is controlled by
  int is_scoped;                  ///< whether it is kept from sockets without a file of others
  const void *filter;             ///< a seccomp program
  size_t filter_size;             ///< in bytes
  const char *directory;          ///< the working directory, inside
  const char *program;            ///< what is executed, inside
  char *const *arguments;
  char *const *environment;
};

/// Who was started; or with a negative pid what could not be done, and why.
struct clinux_join_report {
  pid_t pid;
  int error;
  char what[24];
};

/// Executes a program in a container, as the app, with no capability, and behind the filter.
///
/// A process that has joined and waits for the program, and that ends with its status (128 and the
/// signal's number if one has ended it); its pidfd in `handle`, the program's pid in `inside`. It
/// dies with the calling thread, and the program with it. -1 with `report` on failure.
pid_t clinux_join(const struct clinux_join *join, int *handle, pid_t *inside,
                  struct clinux_join_report *report);
