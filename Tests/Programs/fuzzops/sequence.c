// Operations: made at random, printed, parsed.
#include "fuzzops.h"
#include <linux/falloc.h>
#include <sys/mman.h>

static uint64_t state;

void seed(uint64_t value) { state = value * 6364136223846793005u + 1442695040888963407u; }

unsigned below(unsigned limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)((state * 2685821657736338717u) >> 33) % limit;
}

// Few names, so that operations meet. `l` and `e/l` are where links are made, most of all.
const char *const paths[PATHS] = {
    "a", "b", "c", "a", "b", "c", "d", "e", "d/a", "d/b", "e/a", "e/d", "d/e", "l", "e/l", "d/a/c",
    "e/d/a", "."};

static long one_of(const long *values, unsigned count) { return values[below(count)]; }
#define ONE_OF(...) \
  one_of((const long[]){__VA_ARGS__}, sizeof((const long[]){__VA_ARGS__}) / sizeof(long))

static long make_offset(void) {
  if (below(3) == 0) return below(70000);
  return ONE_OF(0, 0, 1, 511, 4095, 4096, 4097, 8192, 12288, 65536, 65535, 131072, 200000);
}

static long make_length(void) {
  if (below(3) == 0) return below(20000);
  return ONE_OF(0, 1, 2, 100, 512, 4095, 4096, 4097, 8192, 16384, 65536, 131072);
}

static long make_open_flags(void) {
  long flags = ONE_OF(O_RDONLY, O_WRONLY, O_RDWR, O_RDWR);
  if (below(2)) flags |= O_CREAT;
  if (below(8) == 0) flags |= O_EXCL;
  if (below(6) == 0) flags |= O_TRUNC;
  if (below(5) == 0) flags |= O_APPEND;
  if (below(10) == 0) flags |= O_DIRECT;
  if (below(10) == 0) flags |= O_NOFOLLOW;
  if (below(20) == 0) flags |= O_DIRECTORY;
  if (below(20) == 0) flags |= O_NOATIME;
  if (below(20) == 0) flags |= O_SYNC;
  if (below(20) == 0) flags |= O_PATH;
  if (below(30) == 0) flags |= O_TMPFILE;
  return flags;
}

static long make_allocation(void) {
  long modes[] = {0,
                  0,
                  FALLOC_FL_KEEP_SIZE,
                  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  FALLOC_FL_ZERO_RANGE,
                  FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                  FALLOC_FL_COLLAPSE_RANGE,
                  FALLOC_FL_INSERT_RANGE,
                  FALLOC_FL_PUNCH_HOLE,
                  FALLOC_FL_UNSHARE_RANGE};
  return one_of(modes, sizeof modes / sizeof *modes);
}

static long make_mode(void) {
  if (below(3) == 0) return ONE_OF(04755, 02755, 06777, 02770, 02666, 01777, 04777, 06711);
  return ONE_OF(0644, 0600, 0666, 0755, 0777, 0770, 0400, 0200, 0, 0711, 0064, 0660);
}

// Letters: f a descriptor's slot, k a mapping's, d a listing's; p a path; o flags of open(2),
// m a mode, a a mode of fallocate(2), n an offset, l a length, s a size, w a whence, x the name of
// an attribute, v a number from which a value is made, u a user, t a time, r flags of rename(2),
// P how to map, b a lock, z flags of setxattr(2), q anything small, U a umask, g flags of
// fcntl(2), W flags of pwritev2(2).
static long make_argument(char letter) {
  switch (letter) {
  case 'f': return below(SLOTS);
  case 'k': return below(MAPPINGS);
  case 'd': return below(LISTINGS);
  case 'p': return below(PATHS);
  case 'o': return make_open_flags();
  case 'm': return make_mode();
  case 'a': return make_allocation();
  case 'n': return make_offset();
  case 'l': return make_length();
  case 's': return make_offset();
  case 'w': return ONE_OF(SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, SEEK_DATA, SEEK_HOLE);
  case 'x': return below(9);
  case 'v': return below(1000);
  case 'u': return ONE_OF(-1, -1, 0, 1001, 1002);
  case 't': return ONE_OF(-2, -1, 1, 86400, 1000000000, 1400000000);
  case 'r': return ONE_OF(0, 0, 0, 1, 1, 2, 2, 3);
  case 'P': return below(8);
  case 'b': return below(12);
  case 'z': return ONE_OF(0, 0, 0, 1, 2);
  case 'U': return ONE_OF(0, 022, 022, 077, 027, 0);
  case 'g': return ONE_OF(0, O_APPEND);
  case 'W': return ONE_OF(0, 2, 4, 16, 32);
  default: return below(40);
  }
}

static int weights(void) {
  static int sum;
  if (sum == 0)
    for (int kind = 0; forms[kind].name; kind++) sum += forms[kind].weight;
  return sum;
}

struct operation make_operation(void) {
  struct operation operation = {.actor = below(5) < 3 ? 1 : below(2) ? 2 : 0};
  int place = (int)below((unsigned)weights());
  while ((place -= forms[operation.kind].weight) >= 0) operation.kind++;
  const char *letters = forms[operation.kind].letters;
  for (int index = 0; letters[index]; index++)
    operation.arguments[index] = make_argument(letters[index]);
  return operation;
}

int form_named(const char *name) {
  for (int kind = 0; forms[kind].name; kind++)
    if (strcmp(forms[kind].name, name) == 0) return kind;
  return -1;
}

void print_operation(FILE *file, const struct operation *operation) {
  const struct form *form = &forms[operation->kind];
  fprintf(file, "%d %s", operation->actor, form->name);
  for (int index = 0; form->letters[index]; index++) {
    long value = operation->arguments[index];
    if (form->letters[index] == 'p') fprintf(file, " %s", paths[value]);
    else if (strchr("omaUg", form->letters[index])) fprintf(file, " 0%lo", value);
    else fprintf(file, " %ld", value);
  }
  fprintf(file, "\n");
}

static bool parse_argument(char letter, const char *word, long *value) {
  if (letter != 'p') {
    char *end;
    *value = strtol(word, &end, 0);
    return *word && !*end;
  }
  for (int index = 0; index < PATHS; index++) {
    if (strcmp(paths[index], word) != 0) continue;
    *value = index;
    return true;
  }
  return false;
}

// `1 pwrite 0 4096 100 7`: who, what, with what.
bool parse_operation(const char *line, struct operation *operation) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", line);
  *operation = (struct operation){0};
  char *word = strtok(copy, " \n");
  if (!word) return false;
  operation->actor = atoi(word);
  if (operation->actor < 0 || operation->actor > 2 || !(word = strtok(NULL, " \n"))) return false;
  operation->kind = form_named(word);
  if (operation->kind < 0) return false;
  const char *letters = forms[operation->kind].letters;
  for (int index = 0; letters[index]; index++) {
    word = strtok(NULL, " \n");
    if (!word || !parse_argument(letters[index], word, &operation->arguments[index])) return false;
    bool is_slot = strchr("fkd", letters[index]) != NULL;
    long limit = letters[index] == 'f' ? SLOTS : letters[index] == 'k' ? MAPPINGS : LISTINGS;
    if (is_slot && (unsigned long)operation->arguments[index] >= (unsigned long)limit) return false;
  }
  return strtok(NULL, " \n") == NULL;
}
