// A program of a bundle whose functions lie a chunk apart, so that most of it is not read while it
// runs. It answers a line for each that it reads:
//
//   call N   what function N returns, 1000 + N; or SIGBUS
//   where N  where that function begins in the program's file
//   map P    maps the file P and says how long it is
//   look N   the byte at N of what was mapped; or SIGBUS
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A function at the beginning of a chunk of its own, if the linker keeps pages as large as chunks.
#define FAR(n) \
  __attribute__((noinline, noipa, aligned(65536))) int far##n(void) { return 1000 + n; }
#define TEN(m) \
  FAR(m##0) FAR(m##1) FAR(m##2) FAR(m##3) FAR(m##4) FAR(m##5) FAR(m##6) FAR(m##7) FAR(m##8) \
  FAR(m##9)
#define NAMES(m) \
  far##m##0, far##m##1, far##m##2, far##m##3, far##m##4, far##m##5, far##m##6, far##m##7, \
  far##m##8, far##m##9

TEN(1) TEN(2) TEN(3) TEN(4)

// Functions 10 to 49.
static int (*const functions[])(void) = {NAMES(1), NAMES(2), NAMES(3), NAMES(4)};

static sigjmp_buf back;

static void on_bus(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}

// Where an address lies in the file that is mapped there.
static uintmax_t place(uintptr_t address) {
  char line[512];
  uintptr_t start, end;
  uintmax_t offset, found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxMAX, &start, &end, &offset) == 3 &&
        start <= address && address < end)
      found = offset + (address - start);
  }
  if (maps) fclose(maps);
  return found;
}

static const volatile unsigned char *mapped;

static long map(const char *path) {
  struct stat status;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &status) != 0) return -1;
  void *memory = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return -1;
  mapped = memory;
  return status.st_size;
}

static void answer(const char *word, const char *rest) {
  int number = atoi(rest);
  if (strcmp(word, "map") == 0) {
    printf("%ld\n", map(rest));
  } else if (strcmp(word, "where") == 0) {
    printf("%" PRIuMAX "\n", place((uintptr_t)functions[number - 10]));
  } else if (sigsetjmp(back, 1) != 0) {
    printf("SIGBUS\n");
  } else if (strcmp(word, "call") == 0) {
    printf("%d\n", functions[number - 10]());
  } else {
    printf("%d\n", mapped[number]);
  }
  fflush(stdout);
}

int main(void) {
  char word[16], rest[4096];
  struct sigaction action = {.sa_handler = on_bus};
  sigaction(SIGBUS, &action, NULL);
  while (scanf("%15s %4095[^\n]", word, rest) == 2) answer(word, rest);
  return 0;
}
