// Traces of another app, wherever one may look.
#include "hostile.h"

#include <dirent.h>

static const char *identifier, *secret;

static void look_into(const char *path) {
  static char text[1 << 16];
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return;
  ssize_t count;
  while ((count = read(file, text, sizeof text)) > 0)
    if (memmem(text, (size_t)count, identifier, strlen(identifier)) ||
        memmem(text, (size_t)count, secret, strlen(secret))) {
      printf("found: %s\n", path);
      break;
    }
  close(file);
}

static void walk(const char *path, int depth) {
  DIR *directory = depth < 12 ? opendir(path) : NULL;
  if (!directory) return;
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    char below[2048], target[2048];
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name);
    // The system's programs are no app's, and /proc is looked through process by process.
    if (!strcmp(below, "/usr") || !strcmp(below, "/proc")) continue;
    if (strstr(entry->d_name, identifier)) printf("found: %s\n", below);
    struct stat status;
    if (lstat(below, &status) != 0) continue;
    if (S_ISLNK(status.st_mode)) {
      ssize_t length = readlink(below, target, sizeof target - 1);
      if (length > 0) target[length] = 0;
      if (length > 0 && strstr(target, identifier)) printf("found: %s\n", below);
    }
    if (S_ISREG(status.st_mode)) look_into(below);
    if (S_ISDIR(status.st_mode)) walk(below, depth + 1);
  }
  closedir(directory);
}

static void look_at_processes(void) {
  const char *files[] = {"cmdline", "environ", "mountinfo", "mounts", "maps", "comm", "cgroup"};
  for (int pid = 1; pid < 200; pid++) {
    char path[256], target[2048];
    for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
      snprintf(path, sizeof path, "/proc/%d/%s", pid, files[index]);
      // Its own arguments are what it was told.
      if (pid == getpid() && !strcmp(files[index], "cmdline")) continue;
      if (pid == 1 && !strcmp(files[index], "cmdline")) continue;
      look_into(path);
    }
    snprintf(path, sizeof path, "/proc/%d/root/home", pid);
    walk(path, 8);
    for (int number = 0; number < 64; number++) {
      snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
      ssize_t length = readlink(path, target, sizeof target - 1);
      if (length > 0) target[length] = 0;
      if (length > 0 && number > 2 && target[0] == '/' && strncmp(target, "/home/app", 9) &&
          strncmp(target, "/proc", 5))
        printf("found: %s\n", path);
    }
  }
  look_into("/proc/keys");
  look_into("/proc/locks");
  look_into("/proc/net/unix");
}

void look_for_traces(const char *other, const char *word) {
  identifier = other;
  secret = word;
  walk("/", 0);
  look_at_processes();
}
