// Sequences of operations on a plain directory and on a view: the same must come of both.
#include "fuzzops.h"
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

// After so many differences there is enough to think about.
enum { LONGEST = 5000, MANY = 5, MANY_DROPS = 100, PATIENCE = 200 };

struct settings settings;
static struct side sides[2] = {{.name = "plain"}, {.name = "view"}};
static struct operation sequence[LONGEST];
static long runs, steps, repetitions;

static void take(struct side *side, const char *name) {
  umask(0);
  if (mkdirat(side->parent, name, 0777) != 0) stop(__func__);
  side->root = openat(side->parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (side->root < 0) stop(__func__);
  side->is_allocated = side->is_advised = side->has_acl = false;
  for (int slot = 0; slot < SLOTS; slot++) side->files[slot] = -1;
  for (int slot = 0; slot < LISTINGS; slot++) side->listings[slot] = (struct listing){.file = -1};
  forget_history(side);
}

static int open_up(const char *path, const struct stat *status, int kind, struct FTW *where) {
  (void)status, (void)where;
  if (kind == FTW_D || kind == FTW_DNR) chmod(path, 0700);
  return 0;
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *where) {
  (void)status, (void)kind;
  if (where->level > 0 && remove(path) != 0)
    printf("%s cannot be removed: %s\n", path, strerrorname_np(errno));
  return 0;
}

static void leave(struct side *side, const char *name) {
  become(0);
  for (int slot = 0; slot < SLOTS; slot++)
    if (side->files[slot] >= 0) close(side->files[slot]);
  for (int slot = 0; slot < LISTINGS; slot++)
    if (side->listings[slot].file >= 0) close(side->listings[slot].file);
  for (int slot = 0; slot < MAPPINGS; slot++)
    if (side->mappings[slot].start) {
      munmap(side->mappings[slot].start, side->mappings[slot].size);
      close(side->mappings[slot].file);
    }
  memset(side->mappings, 0, sizeof side->mappings);
  if (fchdir(side->root) != 0) stop(__func__);
  // Directories without permission hide what is in them from all but root.
  for (int turn = 0; turn < 3; turn++) nftw(".", open_up, 8, FTW_PHYS);
  nftw(".", drop, 8, FTW_PHYS | FTW_DEPTH);
  close(side->root);
  if (fchdir(side->parent) != 0 || rmdir(name) != 0)
    printf("%s: %s cannot be removed: %s\n", side->name, name, strerrorname_np(errno));
}

// MARK: Comparing

static char complaint[4096];

static void complain_of_answers(const struct answer *plain, const struct answer *view) {
  const struct answer *answers[] = {plain, view};
  size_t size = 0;
  for (int index = 0; index < 2; index++) {
    const struct answer *answer = answers[index];
    const char *error = answer->error ? strerrorname_np(answer->error) : "done";
    size += (size_t)snprintf(complaint + size, sizeof complaint - size, "%s: %ld %s %016lx\n",
                             sides[index].name, answer->value, error,
                             (unsigned long)answer->digest);
  }
}

static bool looks_same(bool is_thorough) {
  for (int index = 0; index < 2; index++) look_at_side(&sides[index], is_thorough);
  char *plain = sides[PLAIN].look, *view = sides[VIEW].look;
  size_t length, other;
  for (;; plain += length, view += other) {
    if (!*plain && !*view) return true;
    length = strcspn(plain, "\n") + 1, other = strcspn(view, "\n") + 1;
    if (!*plain || !*view || !is_same_line(plain, length, view, other)) break;
  }
  snprintf(complaint, sizeof complaint, "plain: %.*s\nview:  %.*s\n", (int)length - 1, plain,
           (int)other - 1, view);
  return false;
}

static void tick(void) {
  struct timespec before, now;
  clock_gettime(CLOCK_REALTIME_COARSE, &before);
  do {
    nanosleep(&(struct timespec){0, 500000}, NULL);
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
  } while (now.tv_nsec == before.tv_nsec && now.tv_sec == before.tv_sec);
}

static bool step(const struct operation *operation) {
  struct answer plain = {0}, view;
  const char *reason;
  steps++;
  if (operation->kind == form_named("fallocate"))
    sides[PLAIN].is_allocated = sides[VIEW].is_allocated = true;
  if (is_refused_by_views(operation, &reason)) {
    act(&sides[VIEW], operation, &view);
    open_root(&sides[PLAIN]);
    int *slot = &sides[PLAIN].files[operation->arguments[0]];
    if (strcmp(forms[operation->kind].name, "open") == 0 && *slot >= 0) close(*slot), *slot = -1;
    if (view.error != 0) return true;
    snprintf(complaint, sizeof complaint, "view: done, though %s\n", reason);
    return false;
  }
  act(&sides[PLAIN], operation, &plain);
  act(&sides[VIEW], operation, &view);
  settle(&sides[PLAIN], &sides[VIEW], operation, plain.error != 0);
  if (plain.value == view.value && plain.error == view.error && plain.digest == view.digest)
    return true;
  complain_of_answers(&plain, &view);
  return false;
}

static int run_once(const struct operation *operations, int count) {
  char name[32];
  snprintf(name, sizeof name, "run-%d-%ld", (int)getpid(), runs++);
  for (int index = 0; index < 2; index++) take(&sides[index], name);
  umask(022);
  int differs = -1;
  looks_same(true);
  for (int index = 0; index < count && differs < 0; index++) {
    const struct operation *operation = &operations[index];
    if (settings.is_timed) tick();
    bool is_last = index + 1 == count, is_look = operation->kind == form_named("look");
    bool is_thorough = is_last || (is_look && operation->arguments[0] % 2);
    if (!step(operation)) differs = index;
    else if ((is_look || is_last || settings.is_timed) && !looks_same(is_thorough)) differs = index;
  }
  for (int index = 0; index < 2; index++) leave(&sides[index], name);
  return differs;
}

// How often somebody has dropped the kernel's caches, on this whole machine.
static long count_drops(void) {
  long drops = 0, count;
  char name[64];
  FILE *counters = fopen("/proc/vmstat", "r");
  if (!counters) stop(__func__);
  while (fscanf(counters, "%63s %ld", name, &count) == 2)
    if (strcmp(name, "drop_pagecache") == 0 || strcmp(name, "drop_slab") == 0) drops += count;
  fclose(counters);
  return drops;
}

// Whether somebody has dropped them since they were counted, or is at it: a drop is counted at its
// end, which is waited for `patience` hundredths of a second.
static bool were_dropped_since(long drops, int patience) {
  while (drops == count_drops()) {
    if (patience-- == 0) return false;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  return true;
}

// Does a sequence in new directories; the number of the step after which the sides differ, or -1.
//
// Where the kernel keeps what a view's daemon does not know yet, an inode that is dropped from its
// caches comes back with the daemon's times. That is said in docs/limits.md, and is no difference:
// where others do it meanwhile, the sequence is done again.
static int run(const struct operation *operations, int count, int patience) {
  for (int turn = 0;; turn++) {
    long drops = settings.is_user ? count_drops() : 0;
    int differs = run_once(operations, count);
    if (differs < 0 || !settings.is_user || turn == MANY_DROPS) return differs;
    if (!were_dropped_since(drops, patience)) return differs;
    repetitions++;
  }
}

// MARK: Shrinking

// Whether the sequence ends in a difference, and only then.
static bool still_differs(const struct operation *operations, int count) {
  return run(operations, count, 0) == count - 1;
}

static int shrink(struct operation *operations, int count) {
  static struct operation trial[LONGEST];
  for (int size = count / 2; size > 0; size /= 2)
    for (int start = 0; start + size <= count && size < count;) {
      memcpy(trial, operations, (size_t)start * sizeof *trial);
      memcpy(trial + start, operations + start + size,
             (size_t)(count - start - size) * sizeof *trial);
      if (!still_differs(trial, count - size)) {
        start += size;
        continue;
      }
      count -= size;
      memcpy(operations, trial, (size_t)count * sizeof *trial);
    }
  return count;
}

static void report(struct operation *operations, int count) {
  printf("after %d operations:\n%s", count, complaint);
  if (!still_differs(operations, count)) printf("(not again, so all of it)\n");
  else
    for (int before = 0; before != count;) {
      before = count;
      count = shrink(operations, count);
    }
  printf("the shortest that differs:\n%s", settings.is_timed ? "# timed\n" : "");
  for (int index = 0; index < count; index++) print_operation(stdout, &operations[index]);
  run(operations, count, 0);
  printf("%s", complaint);
  fflush(stdout);
}

// MARK: The program

// Operations, and looks at a pace of their own: what is looked at is in the kernel's caches.
static bool run_seed(uint64_t number, int length) {
  seed(number);
  for (int turn = 0; turn < 10; turn++) below(2);
  static const int paces[] = {1, 1, 2, 5, 20};
  int pace = paces[below(5)], count = 0;
  settings.is_timed = below(8) == 0;
  if (settings.is_timed) length = length / 4 + 1;
  const struct operation look = {.kind = form_named("look")};
  for (int index = 0; index < length && count + 1 < LONGEST; index++) {
    sequence[count++] = make_operation();
    if (settings.is_timed || (index + 1) % pace != 0) continue;
    sequence[count] = look;
    sequence[count++].arguments[0] = below(3);
  }
  int differs = run(sequence, count, PATIENCE);
  if (differs < 0) return true;
  printf("seed %lu: ", (unsigned long)number);
  report(sequence, differs + 1);
  return false;
}

static bool replay(const char *path) {
  char line[256];
  int count = 0;
  FILE *file = fopen(path, "r");
  if (!file) fprintf(stderr, "fuzzops: %s: %s\n", path, strerror(errno)), exit(2);
  settings.is_timed = false;
  while (fgets(line, sizeof line, file)) {
    if (strcmp(line, "# timed\n") == 0) settings.is_timed = true;
    if (line[0] == '#' || line[0] == '\n') continue;
    if (count == LONGEST || !parse_operation(line, &sequence[count++]))
      fprintf(stderr, "fuzzops: %s: no operation: %s", path, line), exit(2);
  }
  fclose(file);
  int differs = run(sequence, count, PATIENCE);
  if (differs < 0) return true;
  printf("%s: ", path);
  report(sequence, differs + 1);
  return false;
}

static const char usage[] =
    "usage: fuzzops [OPTION...] PLAIN VIEW [FILE...]\n\n"
    "Does the same to two directories and compares. With FILEs, does what they say.\n\n"
    "  --seed=N      the first seed; 1 if nothing is said\n"
    "  --seconds=N   go on with further seeds for so long; one seed if nothing is said\n"
    "  --length=N    operations in a sequence; 300 if nothing is said\n"
    "  --user        everything as whoever runs this\n"
    "  --cached      the view is not in passthrough\n"
    "  --kept        nor does the view's daemon get what is written at once\n"
    "  --limited     the view has limits, which are not met\n"
    "  --blocks      compare allocated blocks too\n"
    "  --strict      no difference is meant: both directories are plain\n";

struct request {
  unsigned long seed, seconds, length;
};

static bool parse_number(const char *word, const char *name, unsigned long *number) {
  size_t length = strlen(name);
  if (strncmp(word, name, length) != 0) return false;
  char *end;
  *number = strtoul(word + length, &end, 10);
  return word[length] && !*end;
}

static int parse_options(char **words, struct request *request) {
  int index = 1;
  for (; words[index] && strncmp(words[index], "--", 2) == 0; index++) {
    const char *word = words[index];
    if (parse_number(word, "--seed=", &request->seed)) continue;
    if (parse_number(word, "--seconds=", &request->seconds)) continue;
    if (parse_number(word, "--length=", &request->length)) continue;
    if (strcmp(word, "--user") == 0) settings.is_user = true;
    else if (strcmp(word, "--cached") == 0) settings.is_cached = true;
    else if (strcmp(word, "--kept") == 0) settings.is_kept = true;
    else if (strcmp(word, "--limited") == 0) settings.is_limited = true;
    else if (strcmp(word, "--blocks") == 0) settings.has_blocks = true;
    else if (strcmp(word, "--strict") == 0) settings.is_strict = true;
    else fprintf(stderr, "%s", usage), exit(2);
  }
  if (!words[index] || !words[index + 1] || request->length >= LONGEST || request->length < 1)
    fprintf(stderr, "%s", usage), exit(2);
  return index;
}

int main(int count, char **words) {
  struct request request = {.seed = 1, .length = 300};
  (void)count;
  int first = parse_options(words, &request);
  for (int index = 0; index < 2; index++) {
    sides[index].parent = open(words[first + index], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sides[index].parent < 0) return perror(words[first + index]), 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (!settings.is_user && setgroups(0, NULL) != 0) return perror("setgroups"), 2;
  int failures = 0;
  for (char **file = words + first + 2; *file; file++) failures += !replay(*file);
  if (words[first + 2]) return failures != 0;
  time_t end = time(NULL) + (time_t)request.seconds;
  uint64_t number = request.seed;
  do failures += !run_seed(number++, (int)request.length);
  while (failures < MANY && time(NULL) < end);
  printf("%lu sequences, %ld operations, %d differences\n", (unsigned long)(number - request.seed),
         steps, failures);
  if (repetitions)
    printf("%ld times again, since others had dropped the kernel's caches\n", repetitions);
  return failures != 0;
}
