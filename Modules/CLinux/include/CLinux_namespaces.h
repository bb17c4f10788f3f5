// Namespaces: what a child does between fork and exec to leave its caller's world.
#pragma once
#include <stdint.h>
#include <sys/types.h>

/// What one step of a child does; the fields of clinux_step that it uses stand behind it.
enum clinux_step_kind {
  CLINUX_STEP_UNSHARE,           ///< unshare(set)
  CLINUX_STEP_MAP_ROOT,          ///< uid 0 and gid 0 of the new user namespace are uid and gid
  CLINUX_STEP_SLAVE,             ///< nothing that is mounted from here on is seen outside
  CLINUX_STEP_BIND,              ///< the mount at path onto other, attributes set; with those
                                 ///< below it if recursive
  CLINUX_STEP_SHOW,              ///< path and all mounts below it, private and with the attributes
                                 ///< in set each, onto other
  CLINUX_STEP_BIND_BENEATH,      ///< the same onto the directory other below base, no link followed
  CLINUX_STEP_LEND,              ///< the inode of device at path and all mounts below it, private,
                                 ///< onto other below base, no link followed to either
  CLINUX_STEP_FILESYSTEM,        ///< type onto path with the MS_ flags in set, and options
  CLINUX_STEP_ATTRIBUTES,        ///< attributes set on the mount at path
  CLINUX_STEP_DIRECTORY,         ///< a directory at path with mode
  CLINUX_STEP_FILE,              ///< a file at path with mode and content
  CLINUX_STEP_LINK,              ///< a symbolic link at path to other
  CLINUX_STEP_IDENTITY,          ///< uid and gid, no other group, no capability
  CLINUX_STEP_DIRECTORY_BENEATH, ///< a directory at other below base, no link followed; what is
                                 ///< in its way stays
  CLINUX_STEP_STREAMS,           ///< descriptor uid becomes each of 0 to 2 whose bit is in mode,
                                 ///< and is closed
  CLINUX_STEP_SCOPE,             ///< as clinux_keep_from_abstract_sockets
  CLINUX_STEP_OWNER,             ///< what is made from here on at a path belongs to uid and gid
};

/// One step; unused fields are zero.
struct clinux_step {
  int kind;
  int recursive;
  const char *path;
  const char *other;
  const char *base;
  const char *type;
  const char *options;
  const uint8_t *content;
  size_t content_size;
  uint64_t set;
  uint64_t device; ///< major number in the upper half
  uint64_t inode;
  uint32_t mode;
  uid_t uid;
  gid_t gid;
};

/// What went wrong in the child: the number of the step, or the number of steps if it was execve.
struct clinux_step_failure {
  int32_t step;
  int32_t error;
};

/// Only those who came from the caller are reached by sockets without a file from here on: by
/// Landlock's scope, where the kernel has it (Linux 6.12). Sets no_new_privs.
int clinux_keep_from_abstract_sockets(void);

/// Sets every signal to its default and blocks none: what a program expects that is executed next.
int clinux_forget_signals(void);

/// Forks a child that leads a session of its own, dies with the calling thread, handles and blocks
/// no signal, takes `steps` in order, and executes `program` with `descriptors` as 3, 4, …,
/// besides 0 to 2, and no other open.
///
/// The child's pid, its pidfd in `handle`; or -1 with `failure`, the child gone.
pid_t clinux_spawn_through(const char *program, char *const arguments[],
                           char *const environment[], const struct clinux_step *steps,
                           int step_count, const int *descriptors, int descriptor_count,
                           int *handle, struct clinux_step_failure *failure);
