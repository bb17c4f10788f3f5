// Who may do what: modes, owners, groups, sticky and set-id bits, umask, times.
#include "cases.h"
#include <dirent.h>
#include <sys/time.h>
#include <sys/resource.h>
#include <time.h>

static const mode_t modes[] = {0000, 0400, 0040, 0004, 0200, 0020, 0002, 0600, 0660, 0666, 0644,
                               0604, 0066, 0111, 0755, 0750};
enum { MODE_COUNT = sizeof modes / sizeof *modes };

static void prepare_files(void) {
  char name[16];
  for (int index = 0; index < MODE_COUNT; index++) {
    snprintf(name, sizeof name, "f%04o", modes[index]);
    make_file(name, modes[index], OWNER, GROUP);
    snprintf(name, sizeof name, "d%04o", modes[index]);
    make_directory(name, 0755, OWNER, GROUP);
    int d = (int)MUST(open(name, O_RDONLY));
    int f = (int)MUST(openat(d, "f", O_CREAT | O_WRONLY, 0666));
    MUST(fchmod(f, 0666));
    MUST(fchmod(d, modes[index]));
    close(f);
    close(d);
  }
}

static char letter(int result, char yes) {
  return result == 0 ? yes : errno == EACCES ? '-' : '!';
}

static void try_files(void) {
  for (int index = 0; index < MODE_COUNT; index++) {
    char name[16], below[32];
    snprintf(name, sizeof name, "f%04o", modes[index]);
    char r = letter(opens(name, O_RDONLY), 'r');
    char w = letter(opens(name, O_WRONLY), 'w');
    char b = letter(opens(name, O_RDWR), 'b');
    char t = letter(truncate(name, 5), 't');
    char x = letter(access(name, X_OK), 'x');
    char a = letter(access(name, R_OK | W_OK), 'a');
    say(name, "%c%c%c%c%c%c", r, w, b, t, x, a);
    snprintf(name, sizeof name, "d%04o", modes[index]);
    char list = letter(opens(name, O_RDONLY | O_DIRECTORY), 'l');
    snprintf(below, sizeof below, "%s/f", name);
    struct stat status;
    char look_up = letter(stat(below, &status), 's');
    char open_it = letter(opens(below, O_RDWR), 'o');
    snprintf(below, sizeof below, "%s/new", name);
    char create = letter(opens(below, O_CREAT | O_EXCL | O_RDWR, 0600), 'c');
    char remove = letter(unlink(below), 'u');
    snprintf(below, sizeof below, "%s/e", name);
    char make = letter(mkdir(below, 0700), 'm');
    char enter = letter(chdir(name), 'x');
    if (enter == 'x') MUST(chdir(".."));
    say(name, "%c%c%c%c%c%c%c", list, look_up, open_it, create, remove, make, enter);
  }
}

static void modes_of_files(void) { for_everyone(prepare_files, try_files); }

static void prepare_one(void) {
  make_file("f", 0644, OWNER, GROUP);
  make_file("s", 06755, OWNER, GROUP);
  make_directory("d", 02775, OWNER, GROUP);
}

static void try_chmod(void) {
  DONE(chmod("f", 0600));
  DONE(chmod("f", 04711));
  DONE(chmod("f", 02755));
  look("f");
  DONE(chmod("f", 02644));
  look("f");
  DONE(chmod("f", 01644));
  look("f");
  DONE(chmod("d", 03777));
  look("d");
  DONE(chmod("d", 0700));
  look("d");
  DONE(chmod("absent", 0600));
  DONE(chmod("f/x", 0600));
  DONE(fchmodat(AT_FDCWD, "f", 0640, AT_SYMLINK_NOFOLLOW));
}

static void changing_modes(void) { for_everyone(prepare_one, try_chmod); }

static void try_chown(void) {
  DONE(chown("s", (uid_t)-1, (gid_t)-1));
  look("s");
  DONE(chown("f", OWNER, (gid_t)-1));
  DONE(chown("f", (uid_t)-1, GROUP));
  DONE(chown("f", (uid_t)-1, STRANGERS));
  look("f");
  DONE(chown("f", OTHER, GROUP));
  DONE(chown("f", OTHER, (gid_t)-1));
  look("f");
  DONE(chown("d", (uid_t)-1, STRANGERS));
  look("d");
  DONE(lchown("l", (uid_t)-1, GROUP));
  look("l");
  DONE(chown("absent", 0, 0));
}

static void prepare_chown(void) {
  prepare_one();
  MUST(symlink("f", "l"));
  MUST(lchown("l", OWNER, STRANGERS));
}

static void changing_owners(void) { for_everyone(prepare_chown, try_chown); }

static void prepare_set_id(void) {
  for (int index = 0; index < 8; index++) {
    char name[4] = {'u', (char)('0' + index)}, group[4] = {'g', (char)('0' + index)};
    make_file(name, 06777, OWNER, GROUP);
    make_file(group, 02767, OWNER, GROUP);
  }
}

static void strip(const char *kind) {
  static const char *const ways[] = {"write", "pwrite", "truncate", "ftruncate", "O_TRUNC",
                                     "fallocate", "write nothing", "truncate to the same size"};
  for (int index = 0; index < 8; index++) {
    char name[4] = {kind[0], (char)('0' + index)};
    int f = (int)MUST(open(name, O_WRONLY | (index == 4 ? O_TRUNC : 0)));
    if (index == 0) MUST(write(f, "x", 1));
    if (index == 1) MUST(pwrite(f, "x", 1, 20));
    if (index == 2) MUST(truncate(name, 3));
    if (index == 3) MUST(ftruncate(f, 30));
    if (index == 5) MUST(fallocate(f, 0, 0, 5000));
    if (index == 6) MUST(write(f, "", 0));
    if (index == 7) MUST(truncate(name, 10));
    struct stat status;
    MUST(fstat(f, &status));
    say(ways[index], "%04o", status.st_mode & 07777);
  }
}

static void strip_user(void) { strip("u"); }
static void strip_group(void) { strip("g"); }
static void set_id(void) { for_everyone(prepare_set_id, strip_user); }
static void set_id_of_group(void) { for_everyone(prepare_set_id, strip_group); }

static void prepare_chown_set_id(void) {
  make_file("both", 06755, OWNER, GROUP);
  make_file("group", 02644, OWNER, GROUP);
  make_file("plain", 0755, OWNER, GROUP);
  make_directory("d", 06775, OWNER, GROUP);
}

static void try_chown_set_id(void) {
  const char *const names[] = {"both", "group", "plain", "d"};
  for (int index = 0; index < 4; index++) {
    int result = chown(names[index], (uid_t)-1, GROUP);
    say_done(names[index], result);
    look(names[index]);
  }
}

static void chown_set_id(void) { for_everyone(prepare_chown_set_id, try_chown_set_id); }

static void prepare_set_group_directory(void) {
  make_directory("d", 02777, OWNER, GROUP);
  make_directory("p", 0777, OWNER, GROUP);
}

static void make_in(const char *directory) {
  MUST(chdir(directory));
  DONE(opens("f", O_CREAT | O_EXCL | O_RDWR, 0644));
  DONE(opens("g", O_CREAT | O_EXCL | O_RDWR, 02755));
  DONE(opens("u", O_CREAT | O_EXCL | O_RDWR, 06711));
  DONE(opens("t", O_CREAT | O_EXCL | O_RDWR, 01644));
  DONE(mkdir("d", 0755));
  DONE(mkdir("e", 02755));
  DONE(mkfifo("p", 0644));
  DONE(mknod("n", S_IFREG | 02755, 0));
  DONE(symlink("x", "l"));
  const char *const names[] = {"f", "g", "u", "t", "d", "e", "p", "n", "l"};
  for (int index = 0; index < 9; index++) look(names[index]);
  MUST(chdir(".."));
}

static void try_set_group_directory(void) {
  make_in("d");
  make_in("p");
}

static void set_group_directories(void) {
  for_everyone(prepare_set_group_directory, try_set_group_directory);
}

static void try_masks(void) {
  static const mode_t masks[] = {0, 022, 077, 027, 0777};
  char name[16];
  MUST(chdir("p"));
  for (int index = 0; index < 5; index++) {
    umask(masks[index]);
    snprintf(name, sizeof name, "f%03o", masks[index]);
    DONE(opens(name, O_CREAT | O_RDWR, 06777));
    look(name);
    snprintf(name, sizeof name, "d%03o", masks[index]);
    DONE(mkdir(name, 0777));
    look(name);
    snprintf(name, sizeof name, "n%03o", masks[index]);
    DONE(mknod(name, S_IFIFO | 0777, 0));
    look(name);
    snprintf(name, sizeof name, "l%03o", masks[index]);
    DONE(symlink("x", name));
    look(name);
  }
}

static void masks(void) { for_everyone(prepare_set_group_directory, try_masks); }

static void prepare_sticky(void) {
  make_directory("s", 01777, 0, 0);
  make_directory("o", 01777, OTHER, STRANGERS);
  make_file("s/f", 0666, OWNER, GROUP);
  make_file("s/g", 0666, OWNER, GROUP);
  make_file("s/mine", 0666, MEMBER, GROUP);
  make_directory("s/d", 0777, OWNER, GROUP);
  make_directory("s/e", 0777, OWNER, GROUP);
  make_file("o/f", 0666, OWNER, GROUP);
}

static void try_sticky(void) {
  DONE(opens("s/new", O_CREAT | O_RDWR, 0666));
  DONE(rename("s/new", "s/mine"));
  DONE(rename("s/g", "s/renamed"));
  DONE(rename("s/d", "s/e"));
  DONE(unlink("s/f"));
  DONE(rmdir("s/e"));
  DONE(unlink("o/f"));
  DONE(opens("s/mine", O_CREAT | O_RDWR, 0666));
}

static void sticky(void) { for_everyone(prepare_sticky, try_sticky); }

static void prepare_read_only_directory(void) {
  make_directory("d", 0755, OWNER, GROUP);
  make_directory("w", 0777, OWNER, GROUP);
  make_file("d/f", 0666, OWNER, GROUP);
  make_file("w/f", 0644, OWNER, GROUP);
  make_directory("w/e", 0755, OWNER, GROUP);
}

static void try_changes(void) {
  DONE(opens("d/new", O_CREAT | O_RDWR, 0600));
  DONE(mkdir("d/new", 0700));
  DONE(symlink("x", "d/l"));
  DONE(mkfifo("d/p", 0600));
  DONE(link("w/f", "d/g"));
  DONE(link("w/f", "w/g"));
  DONE(rename("d/f", "w/h"));
  DONE(rename("w/f", "d/h"));
  DONE(rename("w/e", "d/e"));
  DONE(rename("w/e", "w/moved"));
  DONE(unlink("d/f"));
  DONE(rmdir("d/e"));
  DONE(unlink("w/f"));
}

static void other_peoples_directories(void) {
  for_everyone(prepare_read_only_directory, try_changes);
}

static const struct timespec far[] = {{1000000001, 123456789}, {1000000002, 987654321}};

static void say_times(const char *path) {
  struct stat status;
  MUST(lstat(path, &status));
  time_t now = time(NULL);
  const struct timespec *times[] = {&status.st_atim, &status.st_mtim};
  char text[2][32];
  for (int index = 0; index < 2; index++) {
    const struct timespec *time = times[index];
    if (labs(now - time->tv_sec) < 100) snprintf(text[index], 32, "now");
    else snprintf(text[index], 32, "%lld.%09ld", (long long)time->tv_sec, time->tv_nsec);
  }
  say(path, "%s %s", text[0], text[1]);
}

static void prepare_times(void) {
  make_file("f", 0644, OWNER, GROUP);
  make_file("w", 0666, OWNER, GROUP);
  make_directory("d", 0755, OWNER, GROUP);
  MUST(symlink("f", "l"));
  MUST(lchown("l", OWNER, GROUP));
  MUST(utimensat(AT_FDCWD, "f", far, 0));
  MUST(utimensat(AT_FDCWD, "w", far, 0));
}

static int set(const char *path, struct timespec access, struct timespec content, int flags) {
  struct timespec times[] = {access, content};
  return utimensat(AT_FDCWD, path, times, flags);
}

static void try_times(void) {
  const struct timespec omit = {0, UTIME_OMIT}, now = {0, UTIME_NOW};
  DONE(set("f", omit, omit, 0));
  say_times("f");
  DONE(set("f", far[1], omit, 0));
  say_times("f");
  DONE(set("f", omit, far[0], 0));
  say_times("f");
  DONE(set("f", now, omit, 0));
  DONE(set("f", omit, now, 0));
  DONE(set("f", now, now, 0));
  say_times("f");
  DONE(utimensat(AT_FDCWD, "w", NULL, 0));
  say_times("w");
  DONE(set("w", far[0], far[1], 0));
  DONE(set("w", now, far[1], 0));
  say_times("w");
  DONE(set("l", far[0], far[1], AT_SYMLINK_NOFOLLOW));
  DONE(set("d", far[0], far[1], 0));
  DONE(set("f", (struct timespec){-1, 0}, (struct timespec){-1000, 5}, 0));
  DONE(set("f", (struct timespec){1, 1000000000}, far[0], 0));
  DONE(set("absent", now, now, 0));
}

static void times(void) { for_everyone(prepare_times, try_times); }

static void set_both(void) { MUST(utimensat(AT_FDCWD, "f", far, 0)); }
static void set_none(void) {
  MUST(set("f", (struct timespec){0, UTIME_OMIT}, (struct timespec){0, UTIME_OMIT}, 0));
}
static void change_mode(void) { MUST(chmod("f", 0600)); }
static void change_owner(void) { MUST(chown("f", OWNER, GROUP)); }
static void append_one(void) {
  int f = (int)MUST(open("f", O_WRONLY | O_APPEND));
  MUST(write(f, "x", 1));
  close(f);
}
static void write_none(void) {
  int f = (int)MUST(open("f", O_WRONLY | O_APPEND));
  MUST(write(f, "x", 0));
  close(f);
}
static void same_size(void) { MUST(truncate("f", 5)); }
static void grow(void) { MUST(truncate("f", 50)); }
static void just_open(void) { MUST(opens("f", O_RDWR)); }

static void moved_times(void) {
  write_file("f", "text");
  watch_times("utimensat of both", "f", set_both);
  watch_times("utimensat of none", "f", set_none);
  watch_times("chmod", "f", change_mode);
  watch_times("chown", "f", change_owner);
  watch_times("write", "f", append_one);
  watch_times("write of nothing", "f", write_none);
  watch_times("truncate to the same size", "f", same_size);
  watch_times("truncate", "f", grow);
  watch_times("open", "f", just_open);
  say_times("f");
  MUST(set("f", (struct timespec){0, 0}, (struct timespec){-1, 999999999}, 0));
  say_times("f");
  MUST(set("f", (struct timespec){4294967296, 1}, (struct timespec){2147483648, 2}, 0));
  say_times("f");
  MUST(mkdir("d", 0755));
  MUST(set("d", far[0], far[1], 0));
  say_times("d");
  MUST(symlink("f", "l"));
  MUST(set("l", far[1], far[0], AT_SYMLINK_NOFOLLOW));
  say_times("l");
  int f = (int)MUST(open("f", O_RDONLY));
  DONE(futimens(f, far));
  say_times("f");
}

static void prepare_write_times(void) {
  make_file("f", 0666, OWNER, GROUP);
  MUST(utimensat(AT_FDCWD, "f", far, 0));
}

static void try_write_times(void) {
  int f = (int)MUST(open("f", O_RDWR));
  MUST(pwrite(f, "x", 1, 0));
  say_times("f");
  DONE(futimens(f, far));
  say_times("f");
  MUST(close(f));
  say_times("f");
}

static void times_of_writers(void) { for_everyone(prepare_write_times, try_write_times); }

static void read_it(void) {
  char byte;
  int f = (int)MUST(open("f", O_RDONLY));
  MUST(read(f, &byte, 1));
  close(f);
}
static void read_nothing(void) {
  char byte;
  int f = (int)MUST(open("f", O_RDONLY));
  MUST(pread(f, &byte, 1, 1000));
  close(f);
}
static void list_it(void) {
  char buffer[512];
  int d = (int)MUST(open("d", O_RDONLY));
  MUST(getdents64(d, buffer, sizeof buffer));
  close(d);
}
static void read_link(void) {
  char text[8];
  MUST(readlink("l", text, sizeof text));
}

static void say_access(const char *step, const char *path, void (*act)(void)) {
  struct stat before, after;
  const struct timespec old[] = {{1000000000, 0}, {1000000001, 0}};
  MUST(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW));
  MUST(lstat(path, &before));
  act();
  MUST(lstat(path, &after));
  say(step, "%s", before.st_atim.tv_sec == after.st_atim.tv_sec ? "stays" : "moves");
}

static void access_times(void) {
  write_file("f", "text");
  MUST(mkdir("d", 0755));
  MUST(symlink("x", "l"));
  int f = (int)MUST(open("f", O_RDWR));
  MUST(fsync(f));
  MUST(posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED));
  say_access("read", "f", read_it);
  say_access("read again", "f", read_it);
  say_access("read beyond the end", "f", read_nothing);
  say_access("list", "d", list_it);
  say_access("list again", "d", list_it);
  say_access("read a link", "l", read_link);
  say_access("read a link again", "l", read_link);
}

static void prepare_unreadable(void) {
  make_file("f", 0600, OWNER, GROUP);
  make_directory("d", 0700, OWNER, GROUP);
  make_file("d/f", 0644, OWNER, GROUP);
  MUST(symlink("d/f", "l"));
}

static void try_unreadable(void) {
  look("f");
  look("d/f");
  DONE(access("l", F_OK));
  DONE(access("f", F_OK));
  DONE(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS));
  DONE(chdir("d"));
  DONE(truncate("f", 0));
}

static void unreadable(void) { for_everyone(prepare_unreadable, try_unreadable); }

// The limit holds for the lines that are printed too, so each step has it for itself.
static void limit_size(rlim_t size) {
  MUST(setrlimit(RLIMIT_FSIZE, &(struct rlimit){size, RLIM_INFINITY}));
}
#define LIMITED(call)                              \
  do {                                             \
    limit_size(4096);                              \
    long result = (long)(call);                    \
    int code = errno;                              \
    limit_size(RLIM_INFINITY);                     \
    errno = code;                                  \
    say_number(#call, result);                     \
  } while (0)

static void size_limit(void) {
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  char bytes[100] = "x";
  LIMITED(pwrite(f, bytes, 100, 4090));
  LIMITED(pwrite(f, bytes, 100, 4096));
  LIMITED(ftruncate(f, 4097));
  LIMITED(truncate("f", 5000));
  LIMITED(fallocate(f, 0, 0, 8192));
  look("f");
}

static void executing(void) {
  make_file("f", 0755, 0, 0);
  make_file("g", 0644, 0, 0);
  DONE(access("f", X_OK));
  DONE(access("g", X_OK));
  DONE(execl("f", "f", NULL));
  DONE(execl("g", "g", NULL));
  DONE(execl(".", ".", NULL));
  int f = (int)MUST(open("f", O_RDONLY));
  DONE(fexecve(f, (char *[]){"f", NULL}, (char *[]){NULL}));
}

const struct entry permissions[] = {
    {"permissions by modes", modes_of_files},
    {"chmod", changing_modes},
    {"chown", changing_owners},
    {"set-id bits are cleared by writers", set_id},
    {"a set-group-id bit without execution", set_id_of_group},
    {"set-id bits are cleared by chown", chown_set_id},
    {"set-group-id directories", set_group_directories},
    {"umask", masks},
    {"sticky directories", sticky},
    {"changes in others' directories", other_peoples_directories},
    {"utimensat", times},
    {"what moves times", moved_times},
    {"times of writers", times_of_writers},
    {"what moves the time of access", access_times},
    {"unreadable files and directories", unreadable},
    {"RLIMIT_FSIZE", size_limit},
    {"execution where the mount forbids it", executing},
    {0},
};
