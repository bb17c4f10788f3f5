// rename(2) and its flags.
#include "cases.h"

static void plain(void) {
  write_file("f", "f");
  write_file("g", "g");
  DONE(rename("f", "h"));
  look("f");
  show("h");
  DONE(rename("h", "g"));
  show("g");
  look("g");
  DONE(rename("absent", "x"));
  DONE(rename("g", "absent/x"));
  DONE(rename("g", "g"));
  look("g");
  DONE(rename("", "x"));
  DONE(rename("g", ""));
  DONE(rename("g", "x/"));
  DONE(rename(".", "x"));
  DONE(rename("g/", "x"));
  MUST(symlink("g", "l"));
  DONE(rename("l", "m"));
  look("m");
  DONE(rename("m", "g"));
  look("g");
}

static void directories(void) {
  MUST(mkdir("d", 0755));
  MUST(mkdir("d/below", 0755));
  MUST(mkdir("empty", 0700));
  MUST(mkdir("full", 0755));
  write_file("full/f", "");
  write_file("f", "");
  DONE(rename("d", "d/below/x"));
  DONE(rename("d", "d/x"));
  DONE(rename("d/below", "d"));
  DONE(rename("d", "full"));
  DONE(rename("d", "f"));
  DONE(rename("f", "d"));
  DONE(rename("f", "d/"));
  DONE(rename("d", "d"));
  DONE(rename("d", "empty"));
  look("d");
  look("empty");
  look("empty/below");
  DONE(rename("empty", "again/"));
  look("again/below");
  DONE(rename("again/below", "up"));
  look("again");
  look(".");
  DONE(rename("up/.", "x"));
  DONE(rename("up", "again/.."));
}

static void into_another_directory(void) {
  MUST(mkdir("a", 0755));
  MUST(mkdir("b", 0755));
  MUST(mkdir("a/d", 0755));
  write_file("a/d/f", "deep");
  look("a");
  DONE(rename("a/d", "b/d"));
  look("a");
  look("b");
  show("b/d/f");
  struct stat status, parent;
  MUST(stat("b/d/..", &status));
  MUST(stat("b", &parent));
  say("its parent is b", "%d", status.st_ino == parent.st_ino);
  int d = (int)MUST(open("b/d", O_RDONLY | O_DIRECTORY));
  DONE(rename("b", "a/b"));
  DONE(faccessat(d, "../d/f", R_OK, 0));
  DONE(faccessat(d, "../../b/d/f", R_OK, 0));
  DONE(rename("a/b/d/f", "f"));
  show("f");
  DONE(rename("f", "a/b/d/g"));
  DONE(faccessat(d, "g", R_OK, 0));
}

static void hard_links(void) {
  write_file("f", "text");
  MUST(link("f", "g"));
  DONE(rename("f", "g"));
  look("f");
  look("g");
  DONE(rename("f", "h"));
  look("h");
  write_file("other", "other");
  DONE(rename("other", "g"));
  look("g");
  look("h");
  show("h");
  DONE(rename("h", "g"));
  look("g");
  show("g");
  MUST(link("g", "i"));
  MUST(mkdir("d", 0755));
  DONE(rename("i", "d/i"));
  say("d/i is g", "%d", is_same("g", "d/i"));
  look("d/i");
}

static int with(unsigned flags, const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

static void no_replace(void) {
  write_file("f", "f");
  write_file("g", "g");
  MUST(mkdir("d", 0755));
  DONE(with(RENAME_NOREPLACE, "f", "g"));
  DONE(with(RENAME_NOREPLACE, "f", "d"));
  DONE(with(RENAME_NOREPLACE, "f", "f"));
  DONE(with(RENAME_NOREPLACE, "f", "new"));
  DONE(with(RENAME_NOREPLACE, "absent", "other"));
  DONE(with(RENAME_NOREPLACE, "d", "e"));
  show("new");
  show("g");
  look("e");
}

static void exchange(void) {
  write_file("f", "file");
  write_file("g", "another");
  MUST(mkdir("d", 0755));
  MUST(mkdir("d/e", 0755));
  write_file("d/e/h", "below");
  MUST(symlink("x", "l"));
  DONE(with(RENAME_EXCHANGE, "f", "g"));
  show("f");
  show("g");
  DONE(with(RENAME_EXCHANGE, "f", "d"));
  look("f");
  show("d");
  show("f/e/h");
  look(".");
  DONE(with(RENAME_EXCHANGE, "f/e", "g"));
  look("f");
  show("f/e");
  show("g/h");
  look(".");
  DONE(with(RENAME_EXCHANGE, "l", "d"));
  look("d");
  show("l");
  DONE(with(RENAME_EXCHANGE, "l", "absent"));
  DONE(with(RENAME_EXCHANGE, "absent", "l"));
  DONE(with(RENAME_EXCHANGE, "g", "g"));
  MUST(mkdir("f/below", 0755));
  DONE(with(RENAME_EXCHANGE, "f", "f/below"));
  DONE(with(RENAME_EXCHANGE | RENAME_NOREPLACE, "l", "g"));
  DONE(with(1 << 7, "l", "g"));
  MUST(unlink("f/e"));
  write_file("f/e", "new");
  show("f/e");
}

static void whiteout(void) {
  write_file("f", "f");
  DONE(with(RENAME_WHITEOUT, "f", "g"));
  look("f");
  look("g");
}

static void open_files(void) {
  write_file("f", "text");
  write_file("g", "doomed");
  MUST(mkdir("d", 0755));
  int f = (int)MUST(open("f", O_RDWR));
  int g = (int)MUST(open("g", O_RDWR));
  DONE(rename("f", "g"));
  look_at("the moved", f);
  look_at("the replaced", g);
  VALUE(pwrite(f, "TEXT", 4, 0));
  VALUE(pwrite(g, "DOOMED AND LONGER", 17, 0));
  show("g");
  show_bytes("the replaced", g);
  DONE(rename("g", "d/h"));
  VALUE(pwrite(f, "five", 4, 4));
  show("d/h");
  DONE(fchmod(f, 0600));
  look("d/h");
  DONE(unlink("d/h"));
  look_at("the removed", f);
  VALUE(pwrite(f, "still", 5, 0));
  show_bytes("the removed", f);
}

static void atomic_saves(void) {
  int wrong = 0;
  char text[16], back[16];
  write_file("f", "0");
  int old = (int)MUST(open("f", O_RDONLY));
  for (int round = 1; round <= 100; round++) {
    snprintf(text, sizeof text, "%d", round);
    write_file("f.new", text);
    wrong += rename("f.new", "f") != 0;
    int f = open("f", O_RDONLY);
    long count = read(f, back, sizeof back);
    close(f);
    wrong += count != (long)strlen(text) || memcmp(text, back, (size_t)count) != 0;
    wrong += access("f.new", F_OK) == 0;
  }
  say("100 saves by rename, wrong", "%d", wrong);
  show_bytes("the first, still open", old);
}

const struct entry renaming[] = {
    {"rename files", plain},
    {"rename directories", directories},
    {"rename into another directory", into_another_directory},
    {"rename hard links", hard_links},
    {"rename with RENAME_NOREPLACE", no_replace},
    {"rename with RENAME_EXCHANGE", exchange},
    {"rename with RENAME_WHITEOUT", whiteout},
    {"rename open files", open_files},
    {"save by renaming", atomic_saves},
    {0},
};
