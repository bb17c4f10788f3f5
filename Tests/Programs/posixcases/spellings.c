// Names are bytes.
#include "cases.h"
#include <dirent.h>

// Lists in the order of bytes, escaped.
static void say_names(void) {
  char *names[64];
  int count = 0;
  DIR *d = opendir(".");
  struct dirent *entry;
  while ((entry = readdir(d)) && count < 64) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int place = count++;
    for (; place > 0 && strcmp(names[place - 1], entry->d_name) > 0; place--)
      names[place] = names[place - 1];
    names[place] = strdup(entry->d_name);
  }
  closedir(d);
  for (int index = 0; index < count; index++) {
    char text[1100] = "";
    for (char *byte = names[index]; *byte; byte++)
      sprintf(text + strlen(text), (unsigned char)*byte > 32 && (unsigned char)*byte < 127 ? "%c" : "\\x%02x",
              (unsigned char)*byte);
    say("listed", "%zu bytes, %s", strlen(names[index]), text);
  }
}

static void lengths(void) {
  char name[1100];
  struct stat status;
  memset(name, 'n', sizeof name);
  name[255] = 0;
  DONE(opens(name, O_CREAT | O_EXCL | O_RDWR, 0600));
  DONE(stat(name, &status));
  DONE(unlink(name));
  DONE(mkdir(name, 0755));
  DONE(rename(name, "short"));
  DONE(rename("short", name));
  DONE(rmdir(name));
  memset(name, 'n', sizeof name);
  const int too_long[] = {256, 257, 1023, 1024, 1025};
  for (int index = 0; index < 5; index++) {
    name[too_long[index]] = 0;
    say("bytes", "%d", too_long[index]);
    DONE(stat(name, &status));
    DONE(opens(name, O_CREAT | O_RDWR, 0600));
    DONE(mkdir(name, 0755));
    DONE(symlink("x", name));
    DONE(unlink(name));
    DONE(rmdir(name));
    name[too_long[index]] = 'n';
  }
  write_file("f", "");
  name[256] = 0;
  DONE(link("f", name));
  DONE(rename("f", name));
  DONE(mkfifo(name, 0600));
}

static void long_paths(void) {
  static char path[5000];
  for (int index = 0; index < 4096; index += 2) memcpy(path + index, "./", 2);
  struct stat status;
  path[4094] = 0;
  DONE(stat(path, &status));
  path[4094] = '.';
  path[4096] = 0;
  DONE(stat(path, &status));
}

static void letters(void) {
  const char *const names[] = {
      "\xc3\xa9",  "e\xcc\x81", "\xff\xfe", "new\nline", "back\\slash", "quote\"'", " ",
      "\x01\x7f",  "*?[a]",     "...",      "-",         "CASE",        "case",     "\xf0\x9f\x98\x80",
      "\xed\xa0\x80", "tab\t",
  };
  enum { COUNT = sizeof names / sizeof *names };
  int wrong = 0;
  for (int index = 0; index < COUNT; index++) write_file(names[index], names[index]);
  for (int index = 0; index < COUNT; index++) {
    char text[64] = "";
    int f = open(names[index], O_RDONLY);
    wrong += read(f, text, 63) < 0 || strcmp(text, names[index]) != 0;
    close(f);
  }
  say("each has its own content, wrong", "%d", wrong);
  say_names();
  DONE(rename("\xc3\xa9", "e\xcc\x81"));
  DONE(rename("\xff\xfe", "\xfe\xff"));
  DONE(mkdir("\xc0\xaf", 0755));
  say_names();
}

static void of_255_bytes(void) {
  char name[256] = "";
  for (int index = 0; index < 85; index++) strcat(name, "\xe9\xa3\x9b");
  DONE(opens(name, O_CREAT | O_RDWR, 0600));
  say_names();
  char too_long[258];
  snprintf(too_long, sizeof too_long, "%s+", name);
  DONE(opens(too_long, O_CREAT | O_RDWR, 0600));
}

const struct entry spellings[] = {
    {"names of every length", lengths},
    {"paths of every length", long_paths},
    {"names of any bytes", letters},
    {"names of 255 bytes in few letters", of_255_bytes},
    {0},
};
