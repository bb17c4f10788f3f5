// The bundle, and code that is not the bundle's.
#include "hostile.h"

#include <sys/xattr.h>

void change_bundle(void) {
  report("bundle: write", opened(self, O_WRONLY));
  report("bundle: truncate", truncate(self, 0));
  report("bundle: create", opened(in(bundle, "new"), O_WRONLY | O_CREAT));
  report("bundle: unlink", unlink(self));
  report("bundle: rename within", rename(self, in(bundle, "other")));
  report("bundle: rename away", rename(self, in(home, "Documents/Hostile")));
  report("bundle: rename itself", rename(bundle, in(home, "tmp/x.app")));
  report("bundle: link away", link(self, in(home, "Documents/linked")));
  report("bundle: mkdir", mkdir(in(bundle, "d"), 0755));
  report("bundle: symlink", symlink("/etc/passwd", in(bundle, "s")));
  report("bundle: chmod", chmod(self, 0777));
  report("bundle: chown", chown(self, getuid(), getgid()));
  report("bundle: times", utimensat(AT_FDCWD, self, NULL, 0));
  report("bundle: xattr", setxattr(self, "user.x", "y", 1, 0));
  report("bundle: unmount", umount2(bundle, mnt_detach));
  report("bundle: remount", mount(NULL, bundle, NULL, ms_bind | ms_remount, NULL));
}

int copy_self(const char *to) {
  int from = open("/proc/self/exe", O_RDONLY);
  int file = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  char buffer[65536];
  ssize_t count = 0;
  while (from >= 0 && file >= 0 && (count = read(from, buffer, sizeof buffer)) > 0)
    if (write(file, buffer, (size_t)count) != count) count = -1;
  close(from);
  if (file < 0 || close(file) != 0 || count < 0) return -1;
  return 0;
}

int execute(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    execl(path, path, "--executed", NULL);
    _exit(errno);
  }
  return ended(child);
}

static int execute_descriptor(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    char *arguments[] = {(char *)path, "--executed", NULL}, *environment[] = {NULL};
    fexecve(file, arguments, environment);
    _exit(errno);
  }
  return ended(child);
}

static int execute_by_loader(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 2);
    const char *loader = access("/lib64/ld-linux-x86-64.so.2", X_OK) == 0
                             ? "/lib64/ld-linux-x86-64.so.2"
                             : "/lib/ld-linux-aarch64.so.1";
    execl(loader, loader, path, "--executed", NULL);
    _exit(errno);
  }
  // The loader exits with 127 when it is refused what it would map.
  int result = ended(child);
  if (result != 0) errno = EACCES;
  return result;
}

static int map_executable(const char *path) {
  int file = open(path, O_RDONLY);
  void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  int error = errno;
  close(file);
  errno = error;
  return map == MAP_FAILED ? -1 : 0;
}

static int protect_executable(const char *path) {
  int file = open(path, O_RDWR);
  void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) return -1;
  return mprotect(map, 4096, PROT_READ | PROT_EXEC);
}

void execute_what_it_wrote(void) {
  const char *places[] = {"/home/app/Documents/x", "/home/app/Library/Caches/x", "/home/app/.x",
                          "/tmp/x", "/dev/shm/x"};
  for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
    const char *place = places[index];
    char name[128];
    if (copy_self(place) != 0) {
      snprintf(name, sizeof name, "code: write %s", place);
      report(name, -1);
      continue;
    }
    struct {
      const char *way;
      int (*attempt)(const char *);
    } ways[] = {{"execute", execute},
                {"execute by descriptor", execute_descriptor},
                {"execute by loader", execute_by_loader},
                {"map", map_executable},
                {"protect", protect_executable}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
      snprintf(name, sizeof name, "code: %s %s", ways[way].way, place);
      report(name, ways[way].attempt(place));
    }
    unlink(place);
  }
  report("code: the bundle's own", execute(self));
}
