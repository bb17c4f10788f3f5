// readdir(3) and what it stands on: complete, each entry once, whatever happens meanwhile.
#include "cases.h"
#include <dirent.h>

static void fill(int count) {
  char name[32];
  for (int index = 0; index < count; index++) {
    snprintf(name, sizeof name, "entry-%05d", index);
    if (index % 50 == 7) MUST(mkdir(name, 0755));
    else if (index % 50 == 8) MUST(symlink("x", name));
    else MUST(close((int)MUST(open(name, O_CREAT | O_EXCL | O_WRONLY, 0600))));
  }
}

// What one pass over a listing saw.
struct pass {
  int entries, dots, twice, strange, wrong_inodes, wrong_types;
};

static struct pass pass_over(int count, size_t buffer_size, bool checks) {
  static unsigned char seen[20000];
  static char buffer[1 << 16];
  struct pass pass = {0};
  memset(seen, 0, sizeof seen);
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  long size;
  while ((size = MUST(getdents64(d, buffer, buffer_size))) > 0) {
    for (long at = 0; at < size;) {
      struct dirent64 *entry = (void *)(buffer + at);
      at += entry->d_reclen;
      int number;
      struct stat status;
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
        pass.dots++;
      } else if (sscanf(entry->d_name, "entry-%05d", &number) != 1 || number >= count) {
        pass.strange++;
      } else {
        pass.entries++;
        pass.twice += seen[number]++;
      }
      if (!checks) continue;
      if (lstat(entry->d_name, &status) != 0 || status.st_ino != entry->d_ino) pass.wrong_inodes++;
      else if (entry->d_type != DT_UNKNOWN && IFTODT(status.st_mode) != entry->d_type)
        pass.wrong_types++;
    }
  }
  close(d);
  return pass;
}

static void say_pass(const char *step, struct pass pass) {
  say(step, "%d entries, %d dots, %d twice, %d strange, %d wrong inodes, %d wrong types",
      pass.entries, pass.dots, pass.twice, pass.strange, pass.wrong_inodes, pass.wrong_types);
}

static void of_size(int count) {
  fill(count);
  say_pass("cold", pass_over(count, 32768, false));
  say_pass("again", pass_over(count, 32768, false));
  say_pass("with each status", pass_over(count, 32768, true));
  say_pass("with a tiny buffer", pass_over(count, 64, false));
  say_pass("with a huge buffer", pass_over(count, 1 << 16, false));
}

static void of_none(void) { of_size(0); }
static void of_one(void) { of_size(1); }
static void of_ninety_nine(void) { of_size(99); }
static void of_one_thousand(void) { of_size(1000); }
static void of_five_thousand(void) { of_size(5000); }

static void too_small(void) {
  char buffer[64];
  fill(3);
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  VALUE(getdents64(d, buffer, 20));
  VALUE(getdents64(d, buffer, 0));
  int f = (int)MUST(open("entry-00000", O_RDONLY));
  VALUE(getdents64(f, buffer, 64));
  VALUE(lseek(d, -1, SEEK_SET));
}

// Removes each entry as soon as it is listed.
static void delete_while_reading(int count, size_t buffer_size) {
  static char buffer[1 << 16];
  int removed = 0, failed = 0;
  fill(count);
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  long size;
  while ((size = MUST(getdents64(d, buffer, buffer_size))) > 0) {
    for (long at = 0; at < size;) {
      struct dirent64 *entry = (void *)(buffer + at);
      at += entry->d_reclen;
      if (entry->d_name[0] == '.') continue;
      int flags = entry->d_type == DT_DIR ? AT_REMOVEDIR : 0;
      if (unlinkat(d, entry->d_name, flags) == 0) removed++;
      else failed++;
    }
  }
  close(d);
  struct pass left = pass_over(count, 32768, false);
  say("removed while reading", "%d, failed %d, left %d", removed, failed, left.entries);
}

static void deleting(void) {
  delete_while_reading(3000, 32768);
  delete_while_reading(3000, 1024);
  delete_while_reading(300, 64);
}

static void deleting_by_readdir(void) {
  int removed = 0;
  fill(2500);
  DIR *d = opendir(".");
  struct dirent *entry;
  while ((entry = readdir(d)))
    if (entry->d_name[0] != '.' && remove(entry->d_name) == 0) removed++;
  closedir(d);
  say("removed", "%d, left %d", removed, pass_over(2500, 32768, false).entries);
}

// Entries that are there all the time are seen exactly once, whatever else comes and goes.
static void changing(void) {
  static char buffer[512];
  static unsigned char seen[1000];
  char name[32];
  int twice = 0, missed = 0, round = 0;
  fill(1000);
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  long size;
  while ((size = MUST(getdents64(d, buffer, sizeof buffer))) > 0) {
    for (long at = 0; at < size;) {
      struct dirent64 *entry = (void *)(buffer + at);
      at += entry->d_reclen;
      int number;
      if (sscanf(entry->d_name, "entry-%05d", &number) == 1) twice += seen[number]++;
    }
    // A file system that lists the new at the end would never come to it.
    if (round == 100) continue;
    snprintf(name, sizeof name, "new-%d", round);
    MUST(close((int)MUST(open(name, O_CREAT | O_WRONLY, 0600))));
    if (round % 2) MUST(unlink(name));
    round++;
  }
  for (int number = 0; number < 1000; number++) missed += !seen[number];
  say("a thousand that stay", "twice %d, missed %d", twice, missed);
}

static void positions(void) {
  enum { COUNT = 400 };
  static long places[COUNT + 2];
  static char names[COUNT + 2][32];
  int total = 0, wrong = 0;
  fill(COUNT);
  DIR *d = opendir(".");
  struct dirent *entry;
  for (; total < COUNT + 2; total++) {
    places[total] = telldir(d);
    if (!(entry = readdir(d))) break;
    strcpy(names[total], entry->d_name);
  }
  for (int index = total - 1; index >= 0; index -= 3) {
    seekdir(d, places[index]);
    entry = readdir(d);
    wrong += !entry || strcmp(entry->d_name, names[index]) != 0;
  }
  rewinddir(d);
  entry = readdir(d);
  wrong += !entry || strcmp(entry->d_name, names[0]) != 0;
  closedir(d);
  say("seekdir", "%d places, %d wrong", total, wrong);
}

static void rewinding(void) {
  fill(10);
  DIR *d = opendir(".");
  int count = 0;
  while (readdir(d)) count++;
  write_file("late", "");
  rewinddir(d);
  while (readdir(d)) count++;
  say("with one more the second time", "%d", count);
  MUST(unlink("late"));
  rewinddir(d);
  count = 0;
  while (readdir(d)) count++;
  say("without it", "%d", count);
}

static void fresh_entries(void) {
  int wrong = 0;
  for (int round = 0; round < 50; round++) {
    fill(round);
    if (pass_over(round, 32768, true).entries != round) wrong++;
    for (int index = 0; index < round; index++) {
      char name[32];
      snprintf(name, sizeof name, "entry-%05d", index);
      MUST(remove(name));
    }
    if (pass_over(round, 32768, true).entries != 0) wrong++;
  }
  say("50 times filled and emptied, wrong", "%d", wrong);
}

static void removed_directory(void) {
  char buffer[1024];
  MUST(mkdir("d", 0755));
  int d = (int)MUST(open("d", O_RDONLY | O_DIRECTORY));
  MUST(rmdir("d"));
  VALUE(getdents64(d, buffer, sizeof buffer));
}

static void parents(void) {
  MUST(mkdir("a", 0755));
  MUST(mkdir("a/b", 0755));
  struct stat here, parent;
  MUST(chdir("a/b"));
  MUST(stat(".", &here));
  MUST(stat("..", &parent));
  DIR *d = opendir(".");
  struct dirent *entry;
  while ((entry = readdir(d))) {
    ino_t want = strcmp(entry->d_name, ".") == 0 ? here.st_ino : parent.st_ino;
    say(entry->d_name, "%s", entry->d_ino == want ? "right" : "wrong");
  }
  closedir(d);
}

const struct entry listings[] = {
    {"list nothing", of_none},
    {"list one entry", of_one},
    {"list 99 entries", of_ninety_nine},
    {"list 1000 entries", of_one_thousand},
    {"list 5000 entries", of_five_thousand},
    {"list with a buffer that is too small", too_small},
    {"remove entries while listing", deleting},
    {"remove entries while listing by readdir", deleting_by_readdir},
    {"make entries while listing", changing},
    {"telldir and seekdir", positions},
    {"rewinddir", rewinding},
    {"list what was just made", fresh_entries},
    {"list a removed directory", removed_directory},
    {"dots have the right inodes", parents},
    {0},
};
