// Credentials of one thread: what a request creates is its caller's.
//
// All of these are raw system calls: libc's setters would reach every thread.
#pragma once
#include <sys/types.h>

/// Gives this thread a umask and working directory of its own, once. -1 and errno on failure.
int clinux_thread_unshare(void);

/// Makes this thread create files as `uid` and `gid` under `mask`; the permission to do so is not
/// touched, since SECBIT_NO_SETUID_FIXUP is set.
void clinux_thread_assume(uid_t uid, gid_t gid, mode_t mask);

/// Sets this thread's umask only.
void clinux_thread_mask(mode_t mask);

/// Undoes clinux_thread_assume.
void clinux_thread_resume(void);

/// For a process with all capabilities, before any thread exists: changes of fsuid keep the
/// capabilities, supplementary groups are dropped, and CAP_FSETID leaves the effective set, so that
/// the backing file system clears set-id bits as it does for everyone. -1 and errno on failure.
int clinux_process_prepare_credentials(void);

/// Lets this thread, and those that it starts from now on, act in a group that no file has (1), or
/// in root's again (0).
///
/// The kernel leaves a set-group-ID bit without execution where a member of the file's group
/// writes; in root's the daemon would be one for each file of root's group.
void clinux_process_act_as_stranger(int is_stranger);

/// Raises (1) or drops (0) CAP_FSETID in this thread's effective set.
void clinux_thread_fsetid(int raised);
