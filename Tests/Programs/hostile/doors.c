// What only the kernel's rights over mounts, namespaces and devices keep shut.
#include "hostile.h"

#include <grp.h>
#include <linux/mount.h>

static int join(const char *path) {
  int file = open(path, O_RDONLY);
  if (file < 0) return -1;
  return setns(file, 0);
}

// In a child, as the next, since everything else is looked for from the root.
static int change_root(const char *to) {
  pid_t child = fork();
  if (child == 0) _exit(chroot(to) == 0 ? 0 : errno);
  return ended(child);
}

static int new_user_namespace(void) {
  pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  return ended(child);
}

static int execute_from(const char *path) {
  return copy_self(path) != 0 ? -1 : execute(path);
}

static int mount_overlay(void) {
  char options[1024];
  mkdir("/home/app/tmp/upper", 0700);
  mkdir("/home/app/tmp/work", 0700);
  snprintf(options, sizeof options,
           "lowerdir=%s,upperdir=/home/app/tmp/upper,workdir=/home/app/tmp/work", bundle);
  return mount("none", bundle, "overlay", 0, options);
}

static int make_executable(void) {
  struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_NOEXEC};
  return (int)syscall(SYS_mount_setattr, AT_FDCWD, home, AT_RECURSIVE, &attributes,
                      sizeof attributes);
}

void try_doors(int is_root) {
  report("door: remount root", mount(NULL, "/", NULL, ms_bind | ms_remount, NULL));
  report("door: remount home", mount(NULL, home, NULL, ms_bind | ms_remount, NULL));
  report("door: unmount home", umount2(home, mnt_detach));
  report("door: fsopen", (int)syscall(SYS_fsopen, "tmpfs", 0));
  report("door: open_tree", (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE));
  report("door: mount proc", mount("none", "/home/app/Documents", "proc", 0, NULL));
  report("door: mount sysfs", mount("none", "/home/app/Documents", "sysfs", 0, NULL));
  report("door: mount overlay over the bundle", mount_overlay());
  report("door: make the view executable", make_executable());
  report("door: pivot_root", (int)syscall(SYS_pivot_root, "/home/app", "/home/app/tmp"));
  report("door: chroot", change_root("/usr"));
  // Root of a namespace already is what it is called there.
  report("door: setuid", is_root ? (errno = EPERM, -1) : setuid(0));
  gid_t group = 0;
  report("door: setgroups", setgroups(1, &group));
  report("door: join first process", join("/proc/1/ns/mnt"));
  report("door: user namespace", new_user_namespace());
  report("door: set host name", sethostname("evil", 4));
  report("door: sysrq", opened("/proc/sysrq-trigger", O_WRONLY));
  report("door: sysctl", opened("/proc/sys/kernel/core_pattern", O_WRONLY));
  report("door: kcore", opened("/proc/kcore", O_RDONLY));
  report("door: /dev/fuse", opened("/dev/fuse", O_RDWR));
  report("door: /dev/kmsg", opened("/dev/kmsg", O_RDWR));
  report("door: /sys", opened("/sys", O_RDONLY));
  report("door: mount tmpfs", mount("none", "/home/app/tmp", "tmpfs", 0, NULL));
  report("door: execute from it", execute_from("/home/app/tmp/x"));
}
