// mmap(2): what is written through memory is the file, and the other way about.
#include "cases.h"
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static char *map(int file, int protection, int flags, size_t size) {
  char *memory = mmap(NULL, size, protection, flags, file, 0);
  if (memory == MAP_FAILED) MUST(-1);
  return memory;
}

static void shared(void) {
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(ftruncate(f, 10000));
  char *memory = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 12288);
  memcpy(memory + 5000, "mapped", 6);
  char bytes[8] = "";
  VALUE(pread(f, bytes, 6, 5000));
  say("read", "%s", bytes);
  MUST(pwrite(f, "written", 7, 6000));
  say("memory", "%.7s", memory + 6000);
  DONE(msync(memory, 12288, MS_SYNC));
  DONE(msync(memory, 12288, MS_ASYNC));
  int g = (int)MUST(open("f", O_RDONLY));
  show_bytes("another descriptor", g);
  memcpy(memory + 9999, "zz", 2);
  DONE(msync(memory, 12288, MS_SYNC));
  show_bytes("nothing beyond the end", g);
  MUST(ftruncate(f, 5002));
  say("memory after the cut", "%.6s", memory + 5000);
  MUST(ftruncate(f, 10000));
  show_bytes("longer again", g);
  DONE(munmap(memory, 12288));
}

static void private(void) {
  write_file("f", "the file");
  int f = (int)MUST(open("f", O_RDWR));
  char *memory = map(f, PROT_READ | PROT_WRITE, MAP_PRIVATE, 4096);
  memcpy(memory, "THE", 3);
  show("f");
  say("memory", "%s", memory);
  MUST(pwrite(f, "FILE", 4, 4));
  say("memory", "%s", memory);
}

static void after_close(void) {
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(ftruncate(f, 8192));
  char *memory = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 8192);
  MUST(close(f));
  MUST(rename("f", "g"));
  memcpy(memory + 100, "after close", 11);
  DONE(msync(memory, 8192, MS_SYNC));
  f = (int)MUST(open("g", O_RDONLY));
  show_bytes("renamed", f);
  MUST(unlink("g"));
  memcpy(memory + 5000, "after unlink", 12);
  DONE(msync(memory, 8192, MS_SYNC));
  show_bytes("removed", f);
  MUST(munmap(memory, 8192));
  show_bytes("unmapped", f);
}

static void refused(void) {
  write_file("f", "text");
  int r = (int)MUST(open("f", O_RDONLY));
  int w = (int)MUST(open("f", O_WRONLY));
#define TRIES(file, protection, flags) \
  say_done(#file ", " #protection ", " #flags, \
           mmap(NULL, 4096, protection, flags, file, 0) == MAP_FAILED ? -1 : 0)
  TRIES(r, PROT_READ, MAP_SHARED);
  TRIES(r, PROT_READ | PROT_WRITE, MAP_SHARED);
  TRIES(r, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  TRIES(w, PROT_READ, MAP_SHARED);
  TRIES(w, PROT_WRITE, MAP_SHARED);
  TRIES(r, PROT_READ | PROT_EXEC, MAP_PRIVATE);
  TRIES(r, PROT_READ | PROT_EXEC, MAP_SHARED);
#undef TRIES
  int d = (int)MUST(open(".", O_RDONLY));
  say_done("a directory", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, d, 0) == MAP_FAILED ? -1 : 0);
  char *memory = map(r, PROT_READ, MAP_PRIVATE, 4096);
  DONE(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

static sigjmp_buf back;
static void jump(int number) { siglongjmp(back, number); }

static void beyond(void) {
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDWR));
  char *memory = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 8192);
  signal(SIGBUS, jump);
  if (sigsetjmp(back, 1) == 0) say("byte", "%d", memory[4095]);
  if (sigsetjmp(back, 1) == 0) say("byte", "%d", memory[4096]);
  else say("beyond the file's last page", "SIGBUS");
  MUST(ftruncate(f, 5000));
  if (sigsetjmp(back, 1) == 0) say("byte of the grown file", "%d", memory[4096]);
  else say("byte of the grown file", "SIGBUS");
}

static char *watched;
static void store(void) {
  watched[0] ^= 1;
  MUST(msync(watched, 4096, MS_SYNC));
}

static void times(void) {
  write_file("f", "text");
  int f = (int)MUST(open("f", O_RDWR));
  watched = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 4096);
  watch_times("store and msync", "f", store);
}

static char *common;
static void store_in_child(void) { memcpy(common + 10, "child", 5); }

static void between_processes(void) {
  int f = (int)MUST(open("f", O_CREAT | O_RDWR, 0600));
  MUST(ftruncate(f, 4096));
  common = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 4096);
  in_child(store_in_child);
  say("memory", "%s", common + 10);
  char bytes[8] = "";
  VALUE(pread(f, bytes, 5, 10));
  say("file", "%s", bytes);
}

static void listing_between(void) {
  char *text = malloc(8193);
  memset(text, 't', 8192);
  text[8192] = 0;
  write_file("f", text);
  int f = (int)MUST(open("f", O_RDWR));
  char *memory = map(f, PROT_READ | PROT_WRITE, MAP_SHARED, 8192);
  int d = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
  char listing[4096];
  MUST(getdents64(d, listing, sizeof listing));
  signal(SIGBUS, jump);
  if (sigsetjmp(back, 1) == 0) say("after a listing", "%c%c", memory[0], memory[8191]);
  else say("after a listing", "SIGBUS");
}

const struct entry mappings[] = {
    {"map shared", shared},
    {"map private", private},
    {"map and unmap after the name is gone", after_close},
    {"map what may not be mapped", refused},
    {"map beyond the end", beyond},
    {"map and store moves times", times},
    {"map in two processes", between_processes},
    {"map and list and touch", listing_between},
    {0},
};
