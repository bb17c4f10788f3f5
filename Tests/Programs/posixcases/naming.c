// Making and removing names.
#include "cases.h"
#include <sys/sysmacros.h>

static void directories(void) {
  DONE(mkdir("d", 0755));
  DONE(mkdir("d", 0755));
  DONE(mkdir("d/e/", 0701));
  DONE(mkdir("absent/e", 0755));
  DONE(mkdir("sticky", 01777));
  look("d");
  look("d/e");
  look("sticky");
  write_file("f", "");
  DONE(mkdir("f", 0755));
  DONE(mkdir("f/d", 0755));
  DONE(rmdir("d"));
  DONE(rmdir("f"));
  DONE(rmdir("d/e/."));
  DONE(rmdir("d/e/.."));
  DONE(rmdir("absent"));
  MUST(symlink("d/e", "l"));
  DONE(rmdir("l"));
  DONE(rmdir("l/"));
  DONE(rmdir("d/e/"));
  look("d");
  DONE(rmdir("d"));
  look("d");
  look(".");
}

static void make_d(void) { MUST(mkdir("p/d", 0755)); }
static void make_f(void) { write_file("p/f", ""); }
static void remove_d(void) { MUST(rmdir("p/d")); }
static void remove_f(void) { MUST(unlink("p/f")); }
static void link_f(void) { MUST(link("p/f", "p/g")); }
static void unlink_g(void) { MUST(unlink("p/g")); }
static void rename_g(void) { MUST(rename("p/g", "p/h")); }

static void times(void) {
  MUST(mkdir("p", 0755));
  watch_times("mkdir, parent", "p", make_d);
  watch_times("create, parent", "p", make_f);
  watch_times("link, file", "p/f", link_f);
  look("p/f");
  watch_times("unlink, parent", "p", unlink_g);
  link_f();
  watch_times("unlink, file", "p/f", unlink_g);
  look("p/f");
  link_f();
  watch_times("rename, parent", "p", rename_g);
  watch_times("rmdir, parent", "p", remove_d);
  watch_times("unlink, parent", "p", remove_f);
}

static void nodes(void) {
  DONE(mknod("file", S_IFREG | 0640, 0));
  DONE(mknod("no type", 0640, 0));
  DONE(mkfifo("fifo", 0600));
  DONE(mknod("socket", S_IFSOCK | 0755, 0));
  DONE(mknod("directory", S_IFDIR | 0755, 0));
  DONE(mknod("file", S_IFREG | 0640, 0));
  look("file");
  look("no type");
  look("fifo");
  look("socket");
  DONE(unlink("fifo"));
  DONE(unlink("socket"));
  look("fifo");
}

static void devices(void) {
  DONE(mknod("character", S_IFCHR | 0600, makedev(1, 3)));
  DONE(mknod("block", S_IFBLK | 0600, makedev(7, 0)));
  DONE(mknod("whiteout", S_IFCHR | 0600, 0));
}

static void devices_of_users(void) {
  MUST(chmod(".", 0777));
  as(&owner, devices);
}

static void links(void) {
  char target[64] = "";
  DONE(symlink("somewhere/else", "l"));
  DONE(symlink("somewhere/else", "l"));
  DONE(symlink("", "empty"));
  look("l");
  VALUE(readlink("l", target, sizeof target));
  say("target", "%s", target);
  VALUE(readlink("l", target, 3));
  write_file("f", "");
  VALUE(readlink("f", target, sizeof target));
  VALUE(readlink(".", target, sizeof target));
  VALUE(readlink("absent", target, sizeof target));
  static char text[4097], read_back[4100];
  memset(text, 'x', 4096);
  DONE(symlink(text, "too long"));
  text[4095] = 0;
  DONE(symlink(text, "longest"));
  VALUE(readlink("longest", read_back, sizeof read_back));
  say("it comes back", "%s", memcmp(text, read_back, 4095) == 0 ? "whole" : "changed");
  text[60] = 0;
  DONE(symlink(text, "short"));
  VALUE(readlink("short", read_back, sizeof read_back));
  DONE(unlink("l"));
  look("l");
  look("longest");
}

static void hard_links(void) {
  write_file("f", "text");
  MUST(mkdir("d", 0755));
  MUST(symlink("f", "l"));
  DONE(link("f", "g"));
  DONE(link("f", "g"));
  DONE(link("f", "d/g"));
  DONE(link("d", "e"));
  DONE(link("absent", "x"));
  DONE(link("f", "absent/x"));
  DONE(link("l", "link to link"));
  DONE(linkat(AT_FDCWD, "l", AT_FDCWD, "link to file", AT_SYMLINK_FOLLOW));
  look("f");
  look("link to link");
  look("link to file");
  say("g is f", "%d", is_same("f", "g"));
  say("d/g is f", "%d", is_same("f", "d/g"));
  write_file("d/g", "longer text");
  look("f");
  look("g");
  MUST(chmod("g", 0600));
  look("d/g");
  DONE(unlink("f"));
  look("f");
  look("g");
  show("d/g");
  write_file("f", "another");
  look("f");
  look("g");
  say("g is the new f", "%d", is_same("f", "g"));
  DONE(unlink("g"));
  DONE(unlink("link to file"));
  look("d/g");
  show("d/g");
}

static void links_by_descriptor(void) {
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDWR));
  DONE(linkat(f, "", AT_FDCWD, "g", AT_EMPTY_PATH));
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", f);
  DONE(linkat(AT_FDCWD, path, AT_FDCWD, "h", AT_SYMLINK_FOLLOW));
  look("f");
  MUST(unlink("f"));
  MUST(unlink("g"));
  MUST(unlink("h"));
  look_at("fstat without a name", f);
  DONE(linkat(f, "", AT_FDCWD, "g", AT_EMPTY_PATH));
  DONE(linkat(AT_FDCWD, path, AT_FDCWD, "h", AT_SYMLINK_FOLLOW));
}

static void unlinking(void) {
  write_file("f", "text");
  MUST(mkdir("d", 0755));
  DONE(unlink("absent"));
  DONE(unlink("d"));
  DONE(unlink("d/"));
  DONE(unlink("f/"));
  DONE(unlink("f/x"));
  DONE(unlink("."));
  DONE(unlink(""));
  DONE(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR));
  DONE(unlink("f"));
  DONE(unlink("f"));
  DONE(opens("f", O_CREAT | O_EXCL | O_RDWR, 0600));
  look("f");
}

static void again_and_again(void) {
  int wrong = 0;
  for (int round = 0; round < 200; round++) {
    struct stat status;
    int f = open("f", O_CREAT | O_EXCL | O_RDWR, 0600);
    wrong += f < 0 || fstat(f, &status) != 0 || status.st_size != 0 || status.st_nlink != 1;
    wrong += write(f, "text", 4) != 4 || stat("f", &status) != 0 || status.st_size != 4;
    close(f);
    wrong += unlink("f") != 0 || stat("f", &status) == 0;
    wrong += mkdir("f", 0700) != 0 || stat("f", &status) != 0 || !S_ISDIR(status.st_mode);
    wrong += rmdir("f") != 0;
    wrong += symlink("x", "f") != 0 || lstat("f", &status) != 0 || !S_ISLNK(status.st_mode);
    wrong += unlink("f") != 0;
  }
  say("200 rounds of three kinds at one name, wrong", "%d", wrong);
}

const struct entry naming[] = {
    {"make and remove directories", directories},
    {"names move times", times},
    {"make nodes", nodes},
    {"make device nodes", devices},
    {"make device nodes as a user", devices_of_users},
    {"make symbolic links", links},
    {"make hard links", hard_links},
    {"make hard links of descriptors", links_by_descriptor},
    {"unlink", unlinking},
    {"make and remove again and again", again_and_again},
    {0},
};
