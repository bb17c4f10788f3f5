// Extended attributes, POSIX ACLs, and what ioctl(2) knows of files.
#include "cases.h"
#include <endian.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

static void say_names(const char *step, long count, const char *names) {
  if (count < 0) return say_number(step, -1);
  // The order is the file system's.
  const char *sorted[64];
  int total = 0;
  for (long at = 0; at < count && total < 64; at += (long)strlen(names + at) + 1) {
    int place = total++;
    for (; place > 0 && strcmp(sorted[place - 1], names + at) > 0; place--)
      sorted[place] = sorted[place - 1];
    sorted[place] = names + at;
  }
  char text[1024] = "";
  for (int index = 0; index < total; index++) {
    strcat(text, sorted[index]);
    strcat(text, " ");
  }
  say(step, "%ld bytes: %s", count, text);
}

static void say_list(const char *path) {
  char names[4096];
  say_names(path, llistxattr(path, names, sizeof names), names);
}

static void plain(void) {
  char value[64];
  write_file("f", "");
  DONE(setxattr("f", "user.a", "one", 3, 0));
  DONE(setxattr("f", "user.a", "two", 3, XATTR_CREATE));
  DONE(setxattr("f", "user.b", "two", 3, XATTR_REPLACE));
  DONE(setxattr("f", "user.b", "two", 3, XATTR_CREATE));
  DONE(setxattr("f", "user.a", "three", 5, XATTR_REPLACE));
  DONE(setxattr("f", "user.empty", "", 0, 0));
  DONE(setxattr("f", "user.x", "x", 1, XATTR_CREATE | XATTR_REPLACE));
  DONE(setxattr("f", "user.x", "x", 1, 64));
  VALUE(getxattr("f", "user.a", value, sizeof value));
  say("value", "%.5s", value);
  VALUE(getxattr("f", "user.a", NULL, 0));
  VALUE(getxattr("f", "user.a", value, 4));
  VALUE(getxattr("f", "user.a", value, 5));
  VALUE(getxattr("f", "user.empty", value, sizeof value));
  VALUE(getxattr("f", "user.none", value, sizeof value));
  VALUE(getxattr("f", "user.none", NULL, 0));
  VALUE(listxattr("f", NULL, 0));
  VALUE(listxattr("f", value, 3));
  say_list("f");
  DONE(removexattr("f", "user.a"));
  DONE(removexattr("f", "user.a"));
  say_list("f");
  DONE(setxattr("absent", "user.a", "", 0, 0));
  int f = (int)MUST(open("f", O_RDONLY));
  DONE(fsetxattr(f, "user.c", "c", 1, 0));
  VALUE(fgetxattr(f, "user.c", value, sizeof value));
  MUST(unlink("f"));
  DONE(fsetxattr(f, "user.d", "d", 1, 0));
  VALUE(fgetxattr(f, "user.d", value, sizeof value));
  DONE(fremovexattr(f, "user.d"));
}

static void sizes(void) {
  static char value[70000], back[70000];
  memset(value, 'v', sizeof value);
  write_file("f", "");
  DONE(setxattr("f", "user.half", value, 2000, 0));
  VALUE(getxattr("f", "user.half", back, sizeof back));
  say("it comes back", "%s", memcmp(value, back, 2000) == 0 ? "whole" : "changed");
  DONE(setxattr("f", "user.huge", value, 65537, 0));
  DONE(setxattr("f", "", "x", 1, 0));
  DONE(setxattr("f", "user.", "x", 1, 0));
  char name[300] = "user.";
  memset(name + 5, 'n', 250);
  DONE(setxattr("f", name, "x", 1, 0));
  VALUE(getxattr("f", name, back, sizeof back));
  name[255] = 'n';
  DONE(setxattr("f", name, "x", 1, 0));
  VALUE(getxattr("f", name, back, sizeof back));
  VALUE(listxattr("f", back, sizeof back));
  VALUE(listxattr("f", back, 65536));
  VALUE(getxattr("f", "user.half", back, 1999));
  DONE(setxattr("f", "user.\xff\xfe", "\x00\x01", 2, 0));
  VALUE(getxattr("f", "user.\xff\xfe", back, sizeof back));
}

// Of a file that is new, of one that has been written to, and of one that was given them again.
static void capabilities(void) {
  // VFS_CAP_REVISION_2, with CAP_NET_BIND_SERVICE permitted.
  static const uint32_t words[5] = {0x02000000, 1u << 10, 0, 0, 0};
  static const char capability[] = "security.capability";
  char value[64];
  write_file("f", "x");
  VALUE(getxattr("f", capability, value, sizeof value));
  DONE(setxattr("f", capability, words, sizeof words, 0));
  VALUE(getxattr("f", capability, value, sizeof value));
  MUST(link("f", "other"));
  VALUE(getxattr("other", capability, value, sizeof value));
  write_file("f", "y");
  VALUE(getxattr("f", capability, value, sizeof value));
  write_file("f", "z");
  DONE(setxattr("other", capability, words, sizeof words, XATTR_CREATE));
  VALUE(getxattr("f", capability, value, sizeof value));
  DONE(removexattr("f", capability));
  VALUE(getxattr("f", capability, NULL, 0));
  DONE(setxattr("f", capability, words, sizeof words, 0));
  VALUE(getxattr("f", capability, NULL, 0));
}

static void prepare(void) {
  make_file("f", 0664, OWNER, GROUP);
  MUST(setxattr("f", "user.set", "value", 5, 0));
  MUST(setxattr("f", "trusted.set", "value", 5, 0));
  make_file("secret", 0600, OWNER, GROUP);
  MUST(setxattr("secret", "user.set", "value", 5, 0));
  make_directory("d", 01777, 0, 0);
  make_file("t", 0666, OWNER, GROUP);
  MUST(symlink("f", "l"));
  MUST(lchown("l", OWNER, GROUP));
  MUST(mknod("p", S_IFIFO | 0666, 0));
}

static void act(void) {
  char value[64];
  say_list("f");
  DONE(setxattr("f", "user.a", "x", 1, 0));
  DONE(removexattr("f", "user.set"));
  VALUE(getxattr("secret", "user.set", value, sizeof value));
  DONE(setxattr("f", "trusted.a", "x", 1, 0));
  VALUE(getxattr("f", "trusted.set", value, sizeof value));
  DONE(setxattr("f", "security.test", "x", 1, 0));
  VALUE(getxattr("f", "security.test", value, sizeof value));
  DONE(setxattr("f", "system.other", "x", 1, 0));
  DONE(setxattr("f", "other.a", "x", 1, 0));
  DONE(setxattr("f", "noname", "x", 1, 0));
  VALUE(getxattr("f", "other.a", value, sizeof value));
  DONE(lsetxattr("l", "user.a", "x", 1, 0));
  DONE(lsetxattr("l", "trusted.a", "x", 1, 0));
  VALUE(lgetxattr("l", "user.a", value, sizeof value));
  say_list("l");
  DONE(setxattr("p", "user.a", "x", 1, 0));
  DONE(setxattr("d", "user.a", "x", 1, 0));
  DONE(setxattr("t", "user.a", "x", 1, 0));
  say_list("secret");
}

static void by_everyone(void) { for_everyone(prepare, act); }

static void set_one(void) { MUST(setxattr("f", "user.a", "one", 3, 0)); }
static void set_same(void) { MUST(setxattr("f", "user.a", "one", 3, XATTR_REPLACE)); }
static void remove_one(void) { MUST(removexattr("f", "user.a")); }

static void times(void) {
  write_file("f", "");
  watch_times("setxattr", "f", set_one);
  watch_times("setxattr of the same", "f", set_same);
  watch_times("removexattr", "f", remove_one);
}

// An ACL in the form of the xattr: (tag, permissions, id) in words of their own.
struct acl_entry {
  uint16_t tag, permissions;
  uint32_t id;
};
enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP_TAG = 8, MASK = 16, OTHERS = 32 };
#define NOBODY 0xffffffffu
#define ACCESS "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"

static int set_acl(const char *path, const char *kind, const struct acl_entry *entries, int count) {
  uint32_t bytes[1 + 2 * 16];
  bytes[0] = htole32(2);
  for (int index = 0; index < count; index++) {
    const struct acl_entry *entry = &entries[index];
    bytes[1 + 2 * index] = htole32(entry->tag | (uint32_t)entry->permissions << 16);
    bytes[2 + 2 * index] = htole32(entry->id);
  }
  return setxattr(path, kind, bytes, 4 + 8 * (size_t)count, 0);
}

static void say_acl(const char *path, const char *kind) {
  uint32_t bytes[64];
  char text[512] = "", step[64];
  snprintf(step, sizeof step, "%s of %s", strrchr(kind, '_') + 1, path);
  long count = getxattr(path, kind, bytes, sizeof bytes);
  if (count < 0) return say_number(step, -1);
  for (long index = 1; index + 1 < count / 4 + 1; index += 2) {
    char entry[64];
    uint32_t word = le32toh(bytes[index]);
    snprintf(entry, sizeof entry, " %u:%d:%o", word & 0xffff, (int)le32toh(bytes[index + 1]),
             word >> 16);
    strcat(text, entry);
  }
  say(step, "%ld bytes:%s", count, text);
}

static const struct acl_entry extended[] = {
    {USER_OBJ, 7, NOBODY}, {USER, 6, MEMBER},  {GROUP_OBJ, 4, NOBODY},
    {MASK, 7, NOBODY},     {OTHERS, 0, NOBODY}};
static const struct acl_entry minimal[] = {
    {USER_OBJ, 6, NOBODY}, {GROUP_OBJ, 6, NOBODY}, {OTHERS, 4, NOBODY}};
static const struct acl_entry broken[] = {{USER_OBJ, 6, NOBODY}, {USER, 6, MEMBER}};

static void acls(void) {
  write_file("f", "text");
  MUST(mkdir("d", 0755));
  say_acl("f", ACCESS);
  say_acl("d", DEFAULT);
  DONE(set_acl("f", ACCESS, extended, 5));
  say_acl("f", ACCESS);
  look("f");
  say_list("f");
  DONE(chmod("f", 0640));
  say_acl("f", ACCESS);
  DONE(set_acl("f", ACCESS, minimal, 3));
  say_acl("f", ACCESS);
  look("f");
  DONE(set_acl("f", ACCESS, broken, 2));
  DONE(set_acl("f", DEFAULT, extended, 5));
  DONE(set_acl("d", DEFAULT, extended, 5));
  say_acl("d", DEFAULT);
  look("d");
  DONE(removexattr("d", DEFAULT));
  DONE(removexattr("d", DEFAULT));
  say_acl("d", DEFAULT);
  DONE(set_acl("f", ACCESS, extended, 5));
  DONE(removexattr("f", ACCESS));
  say_acl("f", ACCESS);
  look("f");
  MUST(symlink("f", "l"));
  VALUE(lgetxattr("l", ACCESS, NULL, 0));
}

static void prepare_acl(void) {
  make_directory("d", 0777, 0, 0);
  make_file("d/f", 0600, OWNER, GROUP);
  MUST(set_acl("d/f", ACCESS, extended, 5));
  make_directory("d/e", 0700, OWNER, GROUP);
  MUST(set_acl("d/e", ACCESS, extended, 5));
  make_directory("inheriting", 0777, 0, 0);
  MUST(set_acl("inheriting", DEFAULT, extended, 5));
  make_directory("g", 02775, OWNER, GROUP);
  make_file("s", 02755, OWNER, GROUP);
}

static void act_acl(void) {
  DONE(opens("d/f", O_RDONLY));
  DONE(opens("d/f", O_RDWR));
  DONE(opens("d/e", O_RDONLY | O_DIRECTORY));
  DONE(opens("d/e/f", O_CREAT | O_RDWR, 0600));
  DONE(access("d/f", W_OK));
  DONE(chmod("d/f", 0600));
  DONE(opens("d/f", O_RDWR));
  DONE(set_acl("d/f", ACCESS, extended, 5));
  DONE(set_acl("g", ACCESS, extended, 5));
  look("g");
  DONE(set_acl("s", ACCESS, extended, 5));
  look("s");
  DONE(set_acl("g", DEFAULT, extended, 5));
  look("g");
}

static void enforced(void) { for_everyone(prepare_acl, act_acl); }

static void act_inherit(void) {
  MUST(chdir("inheriting"));
  umask(077);
  DONE(opens("f", O_CREAT | O_RDWR, 0666));
  DONE(opens("h", O_CREAT | O_RDWR, 0600));
  DONE(mkdir("d", 0777));
  DONE(mknod("p", S_IFIFO | 0666, 0));
  DONE(symlink("x", "l"));
  look("f");
  look("h");
  look("d");
  look("p");
  say_acl("f", ACCESS);
  say_acl("h", ACCESS);
  say_acl("d", ACCESS);
  say_acl("d", DEFAULT);
  say_acl("p", ACCESS);
  DONE(mkdir("d/deeper", 0755));
  say_acl("d/deeper", DEFAULT);
  look("d/deeper");
}

static void inherited(void) { for_everyone(prepare_acl, act_inherit); }

static void flags(void) {
  int bits = 0;
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDONLY)), d = (int)MUST(open(".", O_RDONLY));
  DONE(ioctl(f, FS_IOC_GETFLAGS, &bits));
  bits |= FS_NODUMP_FL;
  DONE(ioctl(f, FS_IOC_SETFLAGS, &bits));
  DONE(ioctl(d, FS_IOC_GETFLAGS, &bits));
}

static void extents(void) {
  struct fiemap map = {.fm_length = FIEMAP_MAX_OFFSET, .fm_flags = FIEMAP_FLAG_SYNC};
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDONLY));
  DONE(ioctl(f, FS_IOC_FIEMAP, &map));
}

const struct entry attributes[] = {
    {"extended attributes", plain},
    {"extended attributes of every size", sizes},
    {"extended attributes by everyone", by_everyone},
    {"extended attributes move times", times},
    {"capabilities", capabilities},
    {"ACLs", acls},
    {"ACLs are enforced", enforced},
    {"ACLs are inherited", inherited},
    {"flags of files", flags},
    {"extents of files", extents},
    {0},
};
