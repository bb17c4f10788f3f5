// Times single operations, for scripts/bench: benchops DIRECTORY COUNT JOB prints lines of a row,
// a tab and seconds. A job finds what an earlier one has left in the same directory.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FOLDERS = 20, BLOCK = 4096, FILE_SIZE = 64 << 20 };

static char path[256], other[256];
static char block[1 << 20];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void need(int isRight, const char *what) {
  if (isRight) return;
  fprintf(stderr, "benchops: %s: %s\n", what, strerror(errno));
  exit(1);
}

static const char *name(const char *prefix, long number) {
  snprintf(path, sizeof path, "d%ld/%s%ld", number % FOLDERS, prefix, number);
  return path;
}

#define TIMED(row, count, body)                        \
  do {                                                 \
    double start = now();                              \
    for (long i = 0; i < (count); i++) { body; }       \
    printf("%s\t%.9f\n", row, now() - start);          \
  } while (0)

static void files(long count) {
  for (long i = 0; i < FOLDERS; i++) {
    snprintf(path, sizeof path, "d%ld", i);
    need(mkdir(path, 0755) == 0, path);
  }
  TIMED("create a file", count, {
    int file = open(name("f", i), O_CREAT | O_EXCL | O_WRONLY, 0644);
    need(file >= 0 && close(file) == 0, path);
  });
  TIMED("create, write 1 KiB, close", count, {
    int file = open(name("w", i), O_CREAT | O_EXCL | O_WRONLY, 0644);
    need(file >= 0 && write(file, block, 1024) == 1024 && close(file) == 0, path);
  });
  TIMED("mkdir", count, need(mkdir(name("m", i), 0755) == 0, path));
}

static void cold(long count) {
  struct stat status;
  TIMED("stat, cold mount", count, need(stat(name("f", i), &status) == 0, path));
}

static void known(long count) {
  struct stat status;
  for (long i = 0; i < count; i++) need(stat(name("f", i), &status) == 0, path);
  TIMED("stat, warm", count, need(stat(name("f", i), &status) == 0, path));
  for (long i = 0; i < count; i++) need(stat(name("none", i), &status) != 0, path);
  TIMED("stat of what is not there, again", count, need(stat(name("none", i), &status) != 0, path));
  TIMED("open and close", count, {
    int file = open(name("f", i), O_RDONLY);
    need(file >= 0 && close(file) == 0, path);
  });
  TIMED("open, read 1 KiB, close", count, {
    int file = open(name("w", i), O_RDONLY);
    need(file >= 0 && read(file, block, 1024) == 1024 && close(file) == 0, path);
  });
  TIMED("chmod", count, need(chmod(name("f", i), 0600) == 0, path));
  TIMED("rename", count, {
    snprintf(other, sizeof other, "d%ld/r%ld", i % FOLDERS, i);
    need(rename(name("f", i), other) == 0, path);
  });
  double start = now();
  for (int half = 0; half < 2; half++) {
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child != 0) continue;
    for (long i = half; i < count; i += 2) {
      int file = open(name("w", i), O_RDONLY);
      need(file >= 0 && read(file, block, 1024) == 1024 && close(file) == 0, path);
    }
    _exit(0);
  }
  for (int half = 0; half < 2; half++) {
    int status = 1;
    need(wait(&status) > 0 && status == 0, "a child");
  }
  printf("open, read 1 KiB, close, by two at once\t%.9f\n", now() - start);
}

static void gone(long count) {
  TIMED("rmdir", count, need(rmdir(name("m", i)) == 0, path));
  TIMED("unlink", count, need(unlink(name("r", i)) == 0, path));
  for (long i = 0; i < count; i++) need(unlink(name("w", i)) == 0, path);
}

static void data(long count) {
  int file = open("data", O_CREAT | O_RDWR, 0644);
  need(file >= 0, "data");
  for (long at = 0; at < FILE_SIZE; at += (long)sizeof block)
    need(pwrite(file, block, sizeof block, at) == (ssize_t)sizeof block, "data");
  unsigned long place = 1;
  TIMED("write 4 KiB at random", count, {
    place = place * 6364136223846793005ul + 1442695040888963407ul;
    need(pwrite(file, block, BLOCK, (off_t)((place >> 33) % (FILE_SIZE / BLOCK)) * BLOCK) == BLOCK,
         "data");
  });
  TIMED("read 4 KiB, warm, at random", count, {
    place = place * 6364136223846793005ul + 1442695040888963407ul;
    need(pread(file, block, BLOCK, (off_t)((place >> 33) % (FILE_SIZE / BLOCK)) * BLOCK) == BLOCK,
         "data");
  });
  TIMED("read 128 KiB, warm", count / 8, {
    need(pread(file, block, 131072, (i * 131072) % FILE_SIZE) == 131072, "data");
  });
  char *map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, file, 0);
  need(map != MAP_FAILED, "mmap");
  volatile char sum = 0;
  TIMED("first touch of a mapped page", FILE_SIZE / BLOCK, sum = (char)(sum + map[i * BLOCK]));
  munmap(map, FILE_SIZE);
  close(file);
  file = open("log", O_CREAT | O_WRONLY | O_APPEND, 0644);
  need(file >= 0, "log");
  TIMED("append 100 bytes", count, need(write(file, block, 100) == 100, "log"));
  close(file);
}

static void list(const char *directory, const char *row) {
  double start = now();
  DIR *stream = opendir(directory);
  need(stream != NULL, directory);
  long entries = 0;
  while (readdir(stream)) entries++;
  closedir(stream);
  need(entries > 2, directory);
  printf("%s\t%.9f\n", row, now() - start);
}

int main(int argc, char **argv) {
  need(argc == 4 && chdir(argv[1]) == 0, argc > 1 ? argv[1] : "usage");
  long count = atol(argv[2]);
  const char *job = argv[3];
  if (!strcmp(job, "files")) files(count);
  else if (!strcmp(job, "cold")) cold(count);
  else if (!strcmp(job, "known")) known(count);
  else if (!strcmp(job, "gone")) gone(count);
  else if (!strcmp(job, "data")) data(count);
  else if (!strcmp(job, "list")) {
    list(".", "list many files, cold mount");
    list(".", "list them again");
  } else need(0, job);
  return 0;
}
