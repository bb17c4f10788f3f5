#include "CLinux_credentials.h"
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_thread_unshare(void) {
  static __thread int done;
  if (done) return 0;
  if (unshare(CLONE_FS) != 0) return -1;
  done = 1;
  return 0;
}

void clinux_thread_assume(uid_t uid, gid_t gid, mode_t mask) {
  syscall(SYS_setfsgid, gid);
  syscall(SYS_setfsuid, uid);
  umask(mask);
}

void clinux_thread_mask(mode_t mask) { umask(mask); }

// The group in which this process acts for itself. Set before the threads that read it exist.
static gid_t own_group;

void clinux_thread_resume(void) {
  syscall(SYS_setfsuid, 0);
  syscall(SYS_setfsgid, own_group);
}

void clinux_process_act_as_stranger(int is_stranger) {
  // Nobody's: the last that is valid.
  own_group = is_stranger ? (gid_t)-2 : 0;
  syscall(SYS_setfsgid, own_group);
}

void clinux_thread_fsetid(int raised) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2];
  if (syscall(SYS_capget, &header, sets) != 0) return;
  unsigned bit = 1u << CAP_FSETID;
  if (raised && !(sets[0].permitted & bit)) return;
  sets[0].effective = raised ? sets[0].effective | bit : sets[0].effective & ~bit;
  syscall(SYS_capset, &header, sets);
}

int clinux_process_prepare_credentials(void) {
  int bits = prctl(PR_GET_SECUREBITS);
  if (bits < 0 || prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) != 0) return -1;
  if (setgroups(0, NULL) != 0) return -1;
  clinux_thread_fsetid(0);
  return 0;
}
