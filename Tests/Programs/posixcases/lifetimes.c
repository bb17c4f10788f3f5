// What lives without a name, and where one is after its directory is gone or moved.
#include "cases.h"

static void removed_file(void) {
  char path[64], text[16] = "";
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDWR));
  snprintf(path, sizeof path, "/proc/self/fd/%d", f);
  DONE(unlink("f"));
  look_at("fstat", f);
  VALUE(pwrite(f, "more text", 9, 4));
  DONE(ftruncate(f, 8));
  DONE(fsync(f));
  DONE(fchmod(f, 0640));
  DONE(fchown(f, OWNER, GROUP));
  DONE(futimens(f, NULL));
  look_at("fstat", f);
  int g = (int)MUST(open(path, O_RDONLY));
  VALUE(read(g, text, 15));
  say("through /proc", "%s", text);
  DONE(opens(path, O_RDWR | O_TRUNC));
  look_at("fstat", f);
  write_file("f", "a new one");
  look("f");
  VALUE(pwrite(f, "old", 3, 0));
  show("f");
  show_bytes("the old one", g);
  char link[256] = "";
  MUST(readlink(path, link, 255));
  say("its name in /proc", "%s", strstr(link, "(deleted)") ? "deleted" : "there");
  DONE(close(f));
  look_at("fstat of the other descriptor", g);
}

static void removed_directory(void) {
  MUST(mkdir("d", 0755));
  int d = (int)MUST(open("d", O_RDONLY | O_DIRECTORY));
  DONE(rmdir("d"));
  look_at("fstat", d);
  DONE(openat(d, "f", O_CREAT | O_RDWR, 0600));
  DONE(mkdirat(d, "e", 0755));
  DONE(faccessat(d, ".", F_OK, 0));
  DONE(faccessat(d, "..", F_OK, 0));
  DONE(fchmod(d, 0700));
  DONE(fsync(d));
  MUST(mkdir("d", 0711));
  look_at("fstat", d);
  look("d");
  DONE(openat(d, "f", O_CREAT | O_RDWR, 0600));
}

static void working_directory(void) {
  char path[512];
  MUST(mkdir("d", 0755));
  MUST(chdir("d"));
  MUST(mkdir("e", 0755));
  DONE(rmdir("../d"));
  DONE(rmdir("../d/e"));
  DONE(rmdir("../d"));
  look(".");
  DONE(getcwd(path, sizeof path) ? 0 : -1);
  DONE(opens("f", O_CREAT | O_RDWR, 0600));
  DONE(opens(".", O_RDONLY));
  DONE(chdir(".."));
  look("d");
  DONE(mkdir("d", 0755));
  look("d");
}

static void moved_directory(void) {
  char path[512];
  MUST(mkdir("a", 0755));
  MUST(mkdir("a/b", 0755));
  MUST(mkdir("z", 0755));
  MUST(chdir("a/b"));
  write_file("f", "text");
  DONE(rename("../../a", "../../z/y"));
  show("f");
  MUST(getcwd(path, sizeof path) ? 0 : -1);
  say("where we are", "%s", strstr(path, "/z/y/b") ? "z/y/b" : path);
  DONE(opens("../../y/b/f", O_RDONLY));
  DONE(opens("g", O_CREAT | O_RDWR, 0600));
  DONE(rename("f", "../h"));
  show("../h");
  DONE(chdir(".."));
  show("h");
  DONE(opens("b/g", O_RDWR));
}

static void one_name_of_two(void) {
  write_file("f", "text");
  MUST(link("f", "g"));
  int f = (int)MUST(open("f", O_RDWR));
  DONE(unlink("f"));
  look_at("fstat", f);
  look("g");
  VALUE(pwrite(f, "TEXT", 4, 0));
  show("g");
  DONE(chmod("g", 0600));
  look_at("fstat", f);
  DONE(link("g", "f"));
  look("f");
  DONE(unlink("g"));
  look("f");
  DONE(unlink("f"));
  look_at("fstat", f);
}

static void names_again(void) {
  struct stat old, new;
  write_file("f", "old");
  int f = (int)MUST(open("f", O_RDWR));
  MUST(unlink("f"));
  write_file("f", "new");
  int g = (int)MUST(open("f", O_RDWR));
  MUST(fstat(f, &old));
  MUST(fstat(g, &new));
  say("another inode", "%d", old.st_ino != new.st_ino);
  show_bytes("old", f);
  show_bytes("new", g);
  MUST(unlink("f"));
  MUST(mkdir("f", 0755));
  show_bytes("old", f);
  show_bytes("new", g);
  look("f");
  MUST(rmdir("f"));
  MUST(symlink("g", "f"));
  look("f");
}

// As deep as no path reaches.
static void deep(void) {
  enum { DEPTH = 3000 };
  int failed = 0;
  for (int level = 0; level < DEPTH; level++)
    failed += mkdir("deep", 0755) != 0 || chdir("deep") != 0;
  say("levels that failed", "%d", failed);
  write_file("f", "at the bottom");
  show("f");
  DONE(rename("f", "g"));
  look("g");
  DONE(opens("g", O_RDWR));
  DONE(unlink("g"));
  for (int level = 0; level < DEPTH; level++)
    failed += chdir("..") != 0 || rmdir("deep") != 0;
  say("levels that failed", "%d", failed);
  look(".");
}

static void many_removed(void) {
  enum { COUNT = 150 };
  int files[COUNT], wrong = 0;
  char name[16];
  for (int index = 0; index < COUNT; index++) {
    snprintf(name, sizeof name, "f%d", index);
    write_file(name, name);
    files[index] = open(name, O_RDWR);
    wrong += unlink(name) != 0;
  }
  for (int index = 0; index < COUNT; index++) {
    struct stat status;
    char text[16] = "";
    snprintf(name, sizeof name, "f%d", index);
    wrong += fstat(files[index], &status) != 0 || status.st_nlink != 0;
    wrong += pread(files[index], text, 15, 0) < 0 || strcmp(text, name) != 0;
    close(files[index]);
  }
  say("150 open files without a name, wrong", "%d", wrong);
  look(".");
}

const struct entry lifetimes[] = {
    {"a removed file that is open", removed_file},
    {"a removed directory that is open", removed_directory},
    {"a removed working directory", working_directory},
    {"a moved working directory", moved_directory},
    {"an open file loses one of its names", one_name_of_two},
    {"a name is used again", names_again},
    {"a deep tree", deep},
    {"many removed files that are open", many_removed},
    {0},
};
