// fallocate(2).
#include "cases.h"
#include <linux/fs.h>
#include <sys/ioctl.h>

static int fresh(void) {
  static char block[16384];
  memset(block, 'x', sizeof block);
  unlink("f");
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(write(f, block, sizeof block));
  MUST(fsync(f));
  return f;
}

static void after(int f) {
  struct stat status;
  MUST(fsync(f));
  MUST(fstat(f, &status));
  say("size and blocks", "%lld %lld", (long long)status.st_size, (long long)status.st_blocks);
  show_bytes("all", f);
  close(f);
}

static void modes(void) {
  int f = fresh();
  DONE(fallocate(f, 0, 10000, 30000));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_KEEP_SIZE, 10000, 30000));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192));
  VALUE(lseek(f, 0, SEEK_HOLE));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 5000));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_ZERO_RANGE, 1000, 30000));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 1000, 30000));
  after(f);
}

static void shifts(void) {
  int f = fresh();
  DONE(fallocate(f, FALLOC_FL_COLLAPSE_RANGE, 4096, 4096));
  after(f);
  f = fresh();
  DONE(fallocate(f, FALLOC_FL_INSERT_RANGE, 4096, 4096));
  after(f);
}

static void refusals(void) {
  int f = fresh();
  DONE(fallocate(f, 0, -1, 100));
  DONE(fallocate(f, 0, 0, 0));
  DONE(fallocate(f, 0, 0, -1));
  DONE(fallocate(f, 0, INT64_MAX, 100));
  DONE(fallocate(f, 0, INT64_MAX - 10, 5));
  DONE(fallocate(f, FALLOC_FL_PUNCH_HOLE, 0, 4096));
  DONE(fallocate(f, 1 << 20, 0, 4096));
  DONE(-posix_fallocate(f, 0, 20000));
  int d = (int)MUST(open(".", O_RDONLY));
  DONE(fallocate(d, 0, 0, 4096));
  after(f);
}

static void allocate(void) {
  int f = (int)MUST(open("f", O_RDWR));
  MUST(fallocate(f, 0, 0, 100000));
  close(f);
}
static void allocate_silently(void) {
  int f = (int)MUST(open("f", O_RDWR));
  MUST(fallocate(f, FALLOC_FL_KEEP_SIZE, 0, 200000));
  close(f);
}
static void punch(void) {
  int f = (int)MUST(open("f", O_RDWR));
  MUST(fallocate(f, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 4096));
  close(f);
}

static void times(void) {
  close(fresh());
  watch_times("fallocate", "f", allocate);
  watch_times("fallocate that keeps the size", "f", allocate_silently);
  watch_times("fallocate that punches", "f", punch);
}

static void clones(void) {
  int f = fresh();
  int g = (int)MUST(open("g", O_CREAT | O_RDWR, 0600));
  DONE(ioctl(g, FICLONE, f));
  show_bytes("the clone", g);
}

const struct entry allocations[] = {
    {"fallocate", modes},
    {"fallocate that shifts", shifts},
    {"fallocate that is refused", refusals},
    {"fallocate moves times", times},
    {"clone a file", clones},
    {0},
};
