// The runner: each case in a directory and a process of its own.
#include "cases.h"
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

const struct actor root = {"root", 0, 0, {0}, 0};
const struct actor owner = {"owner", OWNER, GROUP, {GROUP}, 1};
const struct actor expelled = {"expelled", OWNER, STRANGERS, {0}, 0};
const struct actor member = {"member", MEMBER, STRANGERS, {GROUP}, 1};
const struct actor other = {"other", OTHER, STRANGERS, {STRANGERS}, 1};

static const struct entry *const families[] = {
    opening,     naming,   renaming, permissions, attributes, contents,  allocations,
    mappings,    locks,    listings, spellings,   lifetimes,  channels,
};

// `case` or `case [actor]`.
static char title[128];

void say(const char *step, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%s: %s = ", title, step);
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
  va_end(arguments);
}

void say_number(const char *step, long result) {
  int code = errno;
  if (result < 0) say(step, "%s", strerrorname_np(code));
  else say(step, "%ld", result);
}

void say_done(const char *step, long result) {
  int code = errno;
  say(step, "%s", result < 0 ? strerrorname_np(code) : "done");
}

long must(const char *step, long result) {
  if (result >= 0) return result;
  say(step, "cannot be prepared: %s", strerrorname_np(errno));
  _exit(1);
}

static void wait_for(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) != child) {}
  if (WIFSIGNALED(status)) say("the process", "was ended by signal %d", WTERMSIG(status));
}

void in_child(void (*act)(void)) {
  pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  wait_for(child);
}

static void become(const struct actor *who) {
  size_t length = strlen(title);
  snprintf(title + length, sizeof title - length, " [%s]", who->name);
  MUST(setgroups(who->group_count, who->groups));
  MUST(setresgid(who->gid, who->gid, who->gid));
  MUST(setresuid(who->uid, who->uid, who->uid));
}

static const struct actor *acting;
static void (*acting_prepare)(void);
static void (*acting_act)(void);

static void act_as(void) {
  become(acting);
  acting_act();
}

void as(const struct actor *who, void (*act)(void)) {
  acting = who;
  acting_act = act;
  in_child(act_as);
}

static void prepare_and_act(void) {
  MUST(mkdir(acting->name, 0755));
  MUST(chdir(acting->name));
  acting_prepare();
  act_as();
}

void for_everyone(void (*prepare)(void), void (*act)(void)) {
  const struct actor *everyone[] = {&root, &owner, &expelled, &member, &other};
  for (size_t index = 0; index < sizeof everyone / sizeof *everyone; index++) {
    acting = everyone[index];
    acting_prepare = prepare;
    acting_act = act;
    in_child(prepare_and_act);
  }
}

int opens(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int descriptor = open(path, flags, va_arg(arguments, mode_t));
  va_end(arguments);
  return descriptor < 0 ? -1 : close(descriptor);
}

void make_file(const char *path, mode_t mode, uid_t uid, gid_t gid) {
  int descriptor = (int)MUST(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600));
  MUST(write(descriptor, "0123456789", 10));
  MUST(fchown(descriptor, uid, gid));
  MUST(fchmod(descriptor, mode));
  close(descriptor);
}

void make_directory(const char *path, mode_t mode, uid_t uid, gid_t gid) {
  MUST(mkdir(path, 0700));
  MUST(chown(path, uid, gid));
  MUST(chmod(path, mode));
}

void write_file(const char *path, const char *text) {
  int descriptor = (int)MUST(open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644));
  MUST(write(descriptor, text, strlen(text)));
  close(descriptor);
}

static const char *type_of(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFREG: return "file";
  case S_IFDIR: return "directory";
  case S_IFLNK: return "link";
  case S_IFIFO: return "fifo";
  case S_IFSOCK: return "socket";
  case S_IFCHR: return "character device";
  default: return "other";
  }
}

static void say_status(const char *step, const struct stat *status) {
  // The size of a directory is the file system's own matter.
  long long size = S_ISDIR(status->st_mode) ? -1 : (long long)status->st_size;
  say(step, "%s %04o, %u links, %u:%u, %lld bytes", type_of(status->st_mode),
      status->st_mode & 07777, (unsigned)status->st_nlink, status->st_uid, status->st_gid, size);
}

void look(const char *path) {
  struct stat status;
  if (lstat(path, &status) < 0) return say_number(path, -1);
  say_status(path, &status);
}

void look_at(const char *step, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) < 0) return say_number(step, -1);
  say_status(step, &status);
}

// A line's end is shown as a slash.
void show(const char *path) {
  char text[257];
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return say_number(path, -1);
  long count = read(descriptor, text, 256);
  close(descriptor);
  if (count < 0) return say_number(path, -1);
  text[count] = 0;
  for (char *end = text; (end = strchr(end, '\n'));) *end = '/';
  say(path, "\"%s\"", text);
}

void show_bytes(const char *step, int descriptor) {
  static unsigned char buffer[1 << 16];
  uint64_t sum = 14695981039346656037u;
  off_t offset = 0;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && status.st_size > 1 << 26)
    return say(step, "%lld bytes, too many to read", (long long)status.st_size);
  while (true) {
    long count = pread(descriptor, buffer, sizeof buffer, offset);
    if (count < 0) return say_number(step, -1);
    if (count == 0) break;
    for (long index = 0; index < count; index++) sum = (sum ^ buffer[index]) * 1099511628211u;
    offset += count;
  }
  say(step, "%lld bytes, %016llx", (long long)offset, (unsigned long long)sum);
}

bool is_same(const char *path, const char *other_path) {
  struct stat one, two;
  MUST(lstat(path, &one));
  MUST(lstat(other_path, &two));
  return one.st_ino == two.st_ino && one.st_dev == two.st_dev;
}

void tick(void) { nanosleep(&(struct timespec){0, 12 * 1000 * 1000}, NULL); }

static bool differs(struct timespec one, struct timespec two) {
  return one.tv_sec != two.tv_sec || one.tv_nsec != two.tv_nsec;
}

void watch_times(const char *step, const char *path, void (*act)(void)) {
  struct stat before, after;
  MUST(lstat(path, &before));
  tick();
  act();
  if (lstat(path, &after) < 0) return say_number(step, -1);
  say(step, "%s %s", differs(before.st_mtim, after.st_mtim) ? "content" : "-",
      differs(before.st_ctim, after.st_ctim) ? "status" : "-");
}

static void run(const char *directory, const struct entry *entry) {
  pid_t child = fork();
  if (child == 0) {
    // Whoever ends the runner ends the case.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(title, sizeof title, "%s", entry->name);
    MUST(chdir(directory));
    MUST(mkdir(entry->name, 0755));
    MUST(chdir(entry->name));
    entry->run();
    _exit(0);
  }
  snprintf(title, sizeof title, "%s", entry->name);
  wait_for(child);
}

int main(int count, char **words) {
  if (count < 2) {
    fprintf(stderr, "usage: posixcases DIRECTORY [CASE]... | --list\n");
    return 2;
  }
  umask(022);
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  for (size_t family = 0; family < sizeof families / sizeof *families; family++) {
    for (const struct entry *entry = families[family]; entry->name; entry++) {
      bool isWanted = count == 2;
      for (int word = 2; word < count; word++)
        if (strcmp(words[word], entry->name) == 0) isWanted = true;
      if (strcmp(words[1], "--list") == 0) printf("%s\n", entry->name);
      else if (isWanted) run(words[1], entry);
    }
  }
  return 0;
}
