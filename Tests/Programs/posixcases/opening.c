// The flags of open(2).
#include "cases.h"

static void existing(void) {
  DONE(opens("absent", O_RDONLY));
  DONE(opens("new", O_CREAT | O_RDWR, 0640));
  look("new");
  DONE(opens("new", O_CREAT | O_RDWR, 0600));
  look("new");
  DONE(opens("new", O_CREAT | O_EXCL | O_RDWR, 0640));
  DONE(opens("new", O_RDONLY | O_DIRECTORY));
  DONE(opens("new/", O_RDONLY));
  DONE(opens("new/below", O_RDONLY));
  DONE(opens("new/below", O_CREAT | O_RDWR, 0600));
  DONE(opens("absent/below", O_CREAT | O_RDWR, 0600));
  DONE(opens("fresh/", O_CREAT | O_RDWR, 0600));
  DONE(opens("", O_RDONLY));
  DONE(opens("modes", O_CREAT | O_EXCL | O_WRONLY, 0));
  look("modes");
  DONE(opens("read only", O_CREAT | O_EXCL | O_WRONLY, 0444));
  DONE(opens("read only", O_RDWR));
}

static void directories(void) {
  MUST(mkdir("d", 0755));
  DONE(opens("d", O_RDONLY));
  DONE(opens("d", O_RDONLY | O_DIRECTORY));
  DONE(opens("d", O_WRONLY));
  DONE(opens("d", O_RDWR));
  DONE(opens("d", O_RDONLY | O_CREAT, 0600));
  DONE(opens("d", O_RDONLY | O_TRUNC));
  DONE(opens("d/", O_RDONLY));
  DONE(opens("d", O_PATH));
  DONE(opens("d", O_CREAT | O_EXCL | O_RDWR, 0600));
  int d = (int)MUST(open("d", O_RDONLY));
  char byte;
  VALUE(read(d, &byte, 1));
  VALUE(write(d, "x", 1));
  VALUE(pread(d, &byte, 1, 0));
  DONE(ftruncate(d, 0));
}

static void truncating(void) {
  write_file("f", "0123456789");
  DONE(opens("f", O_RDONLY | O_TRUNC));
  look("f");
  write_file("f", "0123456789");
  DONE(opens("f", O_WRONLY | O_TRUNC));
  look("f");
  write_file("f", "0123456789");
  DONE(opens("f", O_CREAT | O_TRUNC | O_RDWR, 0600));
  look("f");
  int f = (int)MUST(open("f", O_RDWR));
  MUST(write(f, "abcdef", 6));
  DONE(opens("f", O_WRONLY | O_TRUNC));
  look_at("fstat of the first", f);
  VALUE(write(f, "gh", 2));
  look_at("fstat of the first", f);
  show_bytes("the file", f);
}

static void trunc_it(void) { MUST(opens("f", O_WRONLY | O_TRUNC)); }

static void truncating_times(void) {
  write_file("f", "0123456789");
  watch_times("O_TRUNC of ten bytes", "f", trunc_it);
  watch_times("O_TRUNC of nothing", "f", trunc_it);
}

static void appending(void) {
  write_file("f", "one\n");
  int f = (int)MUST(open("f", O_WRONLY | O_APPEND));
  int g = (int)MUST(open("f", O_RDWR | O_APPEND));
  VALUE(write(f, "two\n", 4));
  VALUE(write(g, "three\n", 6));
  VALUE(pwrite(g, "four\n", 5, 0));
  VALUE(lseek(f, 0, SEEK_CUR));
  VALUE(lseek(g, 0, SEEK_SET));
  VALUE(write(g, "five\n", 5));
  show("f");
  int h = (int)MUST(open("f", O_WRONLY));
  VALUE(fcntl(h, F_SETFL, O_APPEND));
  VALUE(write(h, "six\n", 4));
  VALUE(fcntl(h, F_SETFL, 0));
  VALUE(pwrite(h, "ONE", 3, 0));
  show("f");
  VALUE(fcntl(f, F_GETFL) & (O_APPEND | O_ACCMODE));
  int i = (int)MUST(open("created", O_CREAT | O_APPEND | O_WRONLY, 0600));
  MUST(write(i, "a", 1));
  int j = (int)MUST(open("created", O_CREAT | O_APPEND | O_WRONLY, 0600));
  MUST(write(j, "b", 1));
  MUST(write(i, "c", 1));
  show("created");
}

static void following(void) {
  write_file("f", "target");
  MUST(mkdir("d", 0755));
  MUST(symlink("f", "to file"));
  MUST(symlink("d", "to directory"));
  MUST(symlink("absent", "to nothing"));
  MUST(symlink("around", "round"));
  MUST(symlink("round", "around"));
  DONE(opens("to file", O_RDONLY));
  DONE(opens("to file", O_RDONLY | O_NOFOLLOW));
  DONE(opens("to directory", O_RDONLY | O_NOFOLLOW));
  DONE(opens("to directory", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
  DONE(opens("to directory/", O_RDONLY | O_NOFOLLOW));
  DONE(opens("to file", O_PATH | O_NOFOLLOW));
  DONE(opens("to nothing", O_RDONLY));
  DONE(opens("to nothing", O_CREAT | O_EXCL | O_RDWR, 0600));
  DONE(opens("to nothing", O_CREAT | O_RDWR, 0600));
  look("absent");
  DONE(opens("round", O_RDONLY));
  DONE(opens("round", O_CREAT | O_RDWR, 0600));
  DONE(opens("to directory/../f", O_RDONLY));
}

static void paths(void) {
  write_file("f", "text");
  int p = (int)MUST(open("f", O_PATH));
  char byte;
  look_at("fstat", p);
  VALUE(read(p, &byte, 1));
  VALUE(write(p, "x", 1));
  DONE(fchmod(p, 0600));
  DONE(ftruncate(p, 0));
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", p);
  DONE(opens(path, O_RDWR));
  DONE(chmod(path, 0600));
  look("f");
  MUST(symlink("f", "l"));
  int l = (int)MUST(open("l", O_PATH | O_NOFOLLOW));
  look_at("fstat of a link", l);
  char target[16] = "";
  VALUE(readlinkat(l, "", target, sizeof target - 1));
  say("its target", "%s", target);
  MUST(mkdir("d", 0755));
  int d = (int)MUST(open("d", O_PATH));
  DONE(mkdirat(d, "below", 0755));
  DONE(fchdir(d));
  look("below");
}

static void unnamed(void) {
  DONE(opens(".", O_TMPFILE | O_RDWR, 0600));
  DONE(opens(".", O_TMPFILE | O_RDONLY, 0600));
  write_file("f", "");
  DONE(opens("f", O_TMPFILE | O_RDWR, 0600));
}

static void direct(void) {
  void *memory = NULL;
  MUST(-posix_memalign(&memory, 4096, 8192));
  char *bytes = memory;
  memset(bytes, 'a', 8192);
  int f = (int)MUST(open("f", O_CREAT | O_RDWR | O_DIRECT, 0600));
  VALUE(pwrite(f, bytes, 8192, 0));
  VALUE(pread(f, bytes, 4096, 4096));
  VALUE(pread(f, bytes, 4096, 8192));
  VALUE(pread(f, bytes, 8192, 4096));
  int g = (int)MUST(open("f", O_RDWR));
  VALUE(pwrite(g, "bb", 2, 4095));
  VALUE(pread(f, bytes, 8192, 0));
  say("across the border", "%.4s", bytes + 4094);
  memset(bytes, 'c', 4096);
  VALUE(pwrite(f, bytes, 4096, 0));
  char here[4];
  VALUE(pread(g, here, 4, 4094));
  say("through the cache", "%.4s", here);
  look("f");
  VALUE(fcntl(f, F_GETFL) & O_DIRECT);
}

static void direct_unaligned(void) {
  void *memory = NULL;
  MUST(-posix_memalign(&memory, 4096, 8192));
  char *bytes = memory;
  memset(bytes, 'a', 8192);
  int f = (int)MUST(open("f", O_CREAT | O_RDWR | O_DIRECT, 0600));
  VALUE(pwrite(f, bytes + 1, 512, 0));
  VALUE(pwrite(f, bytes, 100, 0));
  VALUE(pwrite(f, bytes, 512, 100));
  VALUE(pread(f, bytes + 1, 512, 0));
}

static void synchronous(void) {
  int f = (int)MUST(open("f", O_CREAT | O_RDWR | O_SYNC, 0600));
  int g = (int)MUST(open("f", O_WRONLY | O_DSYNC));
  VALUE(write(f, "one", 3));
  VALUE(pwrite(g, "two", 3, 3));
  show("f");
  DONE(fsync(f));
  DONE(fdatasync(f));
  int r = (int)MUST(open("f", O_RDONLY));
  DONE(fsync(r));
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  DONE(fsync(d));
  DONE(fdatasync(d));
  DONE(sync_file_range(f, 0, 0, SYNC_FILE_RANGE_WRITE));
}

static void access_modes(void) {
  write_file("f", "text");
  char byte;
  int r = (int)MUST(open("f", O_RDONLY));
  int w = (int)MUST(open("f", O_WRONLY));
  VALUE(write(r, "x", 1));
  VALUE(read(w, &byte, 1));
  DONE(ftruncate(r, 0));
  DONE(fallocate(r, 0, 0, 4096));
  DONE(opens("f", O_ACCMODE));
  VALUE(lseek(r, -1, SEEK_SET));
  VALUE(lseek(r, 10, SEEK_END));
  VALUE(read(r, &byte, 1));
  DONE(opens("f", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

const struct entry opening[] = {
    {"open what is there and what is not", existing},
    {"open directories", directories},
    {"open with O_TRUNC", truncating},
    {"open with O_TRUNC moves times", truncating_times},
    {"open with O_APPEND", appending},
    {"open through symbolic links", following},
    {"open with O_PATH", paths},
    {"open with O_TMPFILE", unnamed},
    {"open with O_DIRECT", direct},
    {"open with O_DIRECT and unaligned buffers", direct_unaligned},
    {"open with O_SYNC and fsync", synchronous},
    {"open for reading or writing only", access_modes},
    {0},
};
