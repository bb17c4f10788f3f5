// Bytes: reading, writing, sizes, copies, appends by several.
#include "cases.h"
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void sizes(void) {
  write_file("f", "0123456789");
  int f = (int)MUST(open("f", O_RDWR));
  DONE(ftruncate(f, 5));
  look_at("shorter", f);
  DONE(ftruncate(f, 9));
  show_bytes("longer", f);
  DONE(truncate("f", 100000));
  show_bytes("much longer", f);
  DONE(truncate("f", -1));
  DONE(ftruncate(f, -1));
  DONE(truncate("f", INT64_MAX));
  DONE(ftruncate(f, INT64_MAX - 4096));
  show_bytes("after failures", f);
  DONE(truncate("f", 1LL << 40));
  look_at("huge", f);
  DONE(truncate("f", 3));
  show("f");
  MUST(mkdir("d", 0755));
  DONE(truncate("d", 0));
  DONE(truncate("absent", 0));
  DONE(truncate("f/x", 0));
  MUST(symlink("f", "l"));
  DONE(truncate("l", 1));
  show("f");
  MUST(mkfifo("p", 0600));
  DONE(truncate("p", 0));
}

static void positions(void) {
  char bytes[16] = "";
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  VALUE(pwrite(f, "abc", 3, 5));
  VALUE(pread(f, bytes, 16, 0));
  VALUE(pread(f, bytes, 16, 6));
  VALUE(pread(f, bytes, 16, 8));
  VALUE(pread(f, bytes, 16, 1000));
  VALUE(pread(f, bytes, 16, -1));
  VALUE(pwrite(f, "x", 1, -1));
  VALUE(lseek(f, 0, SEEK_CUR));
  VALUE(write(f, "12", 2));
  VALUE(lseek(f, 0, SEEK_CUR));
  VALUE(lseek(f, -1, SEEK_END));
  VALUE(read(f, bytes, 16));
  VALUE(read(f, bytes, 16));
  VALUE(lseek(f, 100, SEEK_CUR));
  VALUE(lseek(f, INT64_MAX, SEEK_SET));
  VALUE(pwrite(f, "x", 1, INT64_MAX));
  VALUE(pwrite(f, "x", 1, INT64_MAX - 1));
  VALUE(write(f, "", 0));
  struct iovec parts[] = {{"one", 3}, {"two", 3}};
  VALUE(pwritev(f, parts, 2, 20));
  show_bytes("all", f);
  int zero = (int)MUST(open("zero", O_CREAT | O_RDWR, 0600));
  VALUE(read(zero, bytes, 16));
  void *volatile nowhere = (void *)8;
  VALUE(write(zero, nowhere, 1));
  VALUE(pread(f, nowhere, 1, 0));
  look("zero");
}

static void holes(void) {
  struct stat status;
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(pwrite(f, "a", 1, 0));
  MUST(pwrite(f, "b", 1, 1 << 20));
  MUST(ftruncate(f, 2 << 20));
  MUST(fsync(f));
  VALUE(lseek(f, 0, SEEK_DATA));
  VALUE(lseek(f, 0, SEEK_HOLE));
  VALUE(lseek(f, 65536, SEEK_DATA));
  VALUE(lseek(f, 1 << 20, SEEK_HOLE));
  VALUE(lseek(f, (1 << 20) + 65536, SEEK_DATA));
  VALUE(lseek(f, 2 << 20, SEEK_DATA));
  VALUE(lseek(f, 2 << 20, SEEK_HOLE));
  VALUE(lseek(f, -1, SEEK_DATA));
  VALUE(lseek(f, (2 << 20) - 1, SEEK_HOLE));
  VALUE(lseek(f, 0, 9));
  MUST(fstat(f, &status));
  say("blocks", "%lld", (long long)status.st_blocks);
  show_bytes("all", f);
}

static void copies(void) {
  static char block[10000];
  memset(block, 'x', sizeof block);
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  int g = (int)MUST(open("g", O_CREAT | O_RDWR, 0600));
  for (int index = 0; index < 30; index++) MUST(write(f, block, sizeof block));
  MUST(pwrite(f, "marked", 6, 123456));
  MUST(fsync(f));
  off_t from = 0, to = 0;
  VALUE(copy_file_range(f, &from, g, &to, 300000, 0));
  say("offsets", "%lld %lld", (long long)from, (long long)to);
  show_bytes("the copy", g);
  from = 299990, to = 10;
  VALUE(copy_file_range(f, &from, g, &to, 100, 0));
  from = 300000;
  VALUE(copy_file_range(f, &from, g, &to, 100, 0));
  from = 0, to = 150000;
  VALUE(copy_file_range(f, &from, f, &to, 100000, 0));
  from = 0, to = 50;
  VALUE(copy_file_range(f, &from, f, &to, 100, 0));
  VALUE(copy_file_range(f, &from, g, &to, 100, 1));
  show_bytes("the source", f);
  VALUE(lseek(f, 0, SEEK_SET));
  VALUE(lseek(g, 0, SEEK_END));
  VALUE(copy_file_range(f, NULL, g, NULL, 4096, 0));
  VALUE(lseek(f, 0, SEEK_CUR));
  look_at("longer", g);
  int r = (int)MUST(open("g", O_RDONLY));
  int a = (int)MUST(open("g", O_WRONLY | O_APPEND));
  VALUE(copy_file_range(f, NULL, r, NULL, 10, 0));
  VALUE(copy_file_range(a, NULL, g, NULL, 10, 0));
  VALUE(copy_file_range(f, NULL, a, NULL, 10, 0));
  int d = (int)MUST(open(".", O_RDONLY));
  VALUE(copy_file_range(d, NULL, g, NULL, 10, 0));
  from = 0;
  VALUE(sendfile(g, f, &from, 5000));
  show_bytes("sent", g);
}

enum { WRITERS = 4, RECORDS = 300, RECORD = 64 };
static int append_writer;

static void append_records(void) {
  char record[RECORD];
  int f = (int)MUST(open("f", O_CREAT | O_WRONLY | O_APPEND, 0600));
  for (int number = 0; number < RECORDS; number++) {
    memset(record, '.', RECORD);
    int length = snprintf(record, RECORD, "%d %d", append_writer, number);
    record[length] = '.';
    record[RECORD - 1] = '\n';
    if (write(f, record, RECORD) != RECORD) say("append", "failed");
  }
}

static void check_records(void) {
  static char all[WRITERS * RECORDS * RECORD + 1];
  int next[WRITERS] = {0}, wrong = 0;
  int f = (int)MUST(open("f", O_RDONLY));
  long count = 0, more;
  while ((more = read(f, all + count, sizeof all - (size_t)count)) > 0) count += more;
  for (long at = 0; at + RECORD <= count; at += RECORD) {
    int writer = -1, number = -1;
    sscanf(all + at, "%d %d", &writer, &number);
    if (writer < 0 || writer >= WRITERS || next[writer]++ != number) wrong++;
  }
  say("appended by four", "%ld bytes, %d out of order", count, wrong);
}

static void appends(void) {
  pid_t children[WRITERS];
  for (append_writer = 0; append_writer < WRITERS; append_writer++) {
    children[append_writer] = fork();
    if (children[append_writer] == 0) {
      append_records();
      _exit(0);
    }
  }
  for (int index = 0; index < WRITERS; index++) waitpid(children[index], NULL, 0);
  check_records();
}

static void two_descriptors(void) {
  char text[32] = "";
  struct stat status;
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  int g = (int)MUST(open("f", O_RDWR));
  MUST(write(f, "first", 5));
  MUST(stat("f", &status));
  say("size at once", "%lld", (long long)status.st_size);
  VALUE(read(g, text, 32));
  VALUE(pwrite(g, "FIRST AND", 9, 0));
  VALUE(pread(f, text, 32, 0));
  say("seen by the other", "%s", text);
  DONE(ftruncate(g, 2));
  VALUE(pread(f, text, 32, 0));
  VALUE(write(f, "x", 1));
  show_bytes("all", f);
  int h = dup(f);
  VALUE(lseek(h, 0, SEEK_CUR));
  DONE(close(f));
  VALUE(write(h, "y", 1));
  show_bytes("all", g);
}

static void large_blocks(void) {
  size_t size = 5 << 20;
  unsigned char *bytes = malloc(size);
  uint32_t state = 1;
  for (size_t index = 0; index < size; index++) {
    state = state * 1664525 + 1013904223;
    bytes[index] = (unsigned char)(state >> 24);
  }
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  VALUE(write(f, bytes, size));
  VALUE(pwrite(f, bytes, 1000003, 77777));
  show_bytes("all", f);
  VALUE(pread(f, bytes, size, 1));
  DONE(posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED));
  show_bytes("all", f);
  look_at("status", f);
}

static uint32_t random_state = 12345;
static long below(long limit) {
  random_state = random_state * 1664525 + 1013904223;
  return (long)(random_state >> 8) % limit;
}

// What a program that checks itself against a copy in memory does, always in the same order.
static void random_operations(void) {
  enum { SIZE = 300000 };
  static unsigned char model[SIZE], bytes[SIZE];
  long length = 0, wrong = 0;
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  for (int step = 0; step < 1500; step++) {
    long offset = below(SIZE - 70000);
    long count = below(below(8) == 0 ? 70000 : 3000) + 1;
    switch (below(5)) {
    case 0:
    case 1:
      for (long index = 0; index < count; index++) bytes[index] = (unsigned char)(step + index);
      wrong += pwrite(f, bytes, (size_t)count, offset) != count;
      memcpy(model + offset, bytes, (size_t)count);
      if (offset + count > length) length = offset + count;
      break;
    case 2: {
      long size = below(SIZE);
      wrong += ftruncate(f, size) != 0;
      if (size < length) memset(model + size, 0, (size_t)(length - size));
      length = size;
      break;
    }
    case 3:
      wrong += fallocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count) != 0;
      memset(model + offset, 0, (size_t)count);
      break;
    default: {
      long expected = offset >= length ? 0 : length - offset < count ? length - offset : count;
      long got = pread(f, bytes, (size_t)count, offset);
      wrong += got != expected || memcmp(bytes, model + offset, (size_t)expected) != 0;
    }
    }
  }
  say("1500 random operations, wrong", "%ld", wrong);
  show_bytes("all", f);
}

const struct entry contents[] = {
    {"truncate and ftruncate", sizes},
    {"read and write at positions", positions},
    {"holes", holes},
    {"copy_file_range", copies},
    {"append from four processes", appends},
    {"two descriptors of one file", two_descriptors},
    {"large blocks", large_blocks},
    {"random operations", random_operations},
    {0},
};
