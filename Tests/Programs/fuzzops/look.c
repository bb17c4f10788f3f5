// Looking: all that can be seen of a side, as text with a line for each thing.
//
// Inodes are numbered in the order in which they are met, so that two names of one file show as
// such.
#include "fuzzops.h"
#include <ctype.h>
#include <dirent.h>
#include <sys/xattr.h>

enum { INODES = 1024, DEEPEST = 8, NAMES = 512, UNCERTAIN = '~' };

// An inode: the how-manieth of this look it is, and its times at this look and the one before.
struct times {
  dev_t device;
  ino_t inode;
  int order;
  struct stat now, before;
  bool is_fresh, is_mapped, was_mapped, was_ever_mapped;
};
struct history {
  struct times inodes[INODES];
  int count, met;
};

static struct times *find_inode(struct history *history, const struct stat *status) {
  struct times *times = history->inodes;
  for (int index = 0; index < history->count; index++, times++)
    if (times->inode == status->st_ino && times->device == status->st_dev) break;
  if (times == history->inodes + history->count) {
    if (history->count++ == INODES) stop(__func__);
    *times = (struct times){
        .device = status->st_dev, .inode = status->st_ino, .order = -1, .is_fresh = true};
  }
  times->now = *status;
  if (times->order < 0) times->order = history->met++;
  return times;
}

static void print_time(FILE *file, const char *label, const struct timespec *now,
                       const struct timespec *before, bool is_fresh) {
  bool is_given = now->tv_sec <= 1400000000;
  if (is_given) fprintf(file, " %s=%ld.%09ld", label, (long)now->tv_sec, now->tv_nsec);
  else if (!is_fresh && (now->tv_sec != before->tv_sec || now->tv_nsec != before->tv_nsec))
    fprintf(file, " %s moved", label);
}

static void print_times(FILE *file, const struct times *times) {
  const struct stat *now = &times->now, *before = &times->before;
  bool is_fresh = !settings.is_timed || times->is_fresh;
  // What is stored through a mapping moves times when the system likes, and what goes through a
  // FIFO moves none in FUSE.
  if (times->is_mapped || times->was_mapped || S_ISFIFO(now->st_mode)) {
    fprintf(file, " %ctimes", UNCERTAIN);
    return;
  }
  print_time(file, "mtime", &now->st_mtim, &before->st_mtim, is_fresh);
  print_time(file, "ctime", &now->st_ctim, &before->st_ctim, is_fresh);
  // Links, and pages and listings that are in the kernel's cache, are read without the daemon; what
  // the daemon lists, it does not list with O_NOATIME.
  if (!settings.is_cached && !S_ISDIR(now->st_mode) && !S_ISLNK(now->st_mode))
    print_time(file, "atime", &now->st_atim, &before->st_atim, is_fresh);
}

static void print_status(FILE *file, const struct side *side, const struct stat *status) {
  static const char kinds[] = "?pc?d?b?-?l?s???";
  struct times *times = find_inode(side->history, status);
  // What had no name and has one is another inode of the same number.
  times->is_fresh |= times->before.st_nlink == 0;
  // What was stored through a mapping, the daemon writes some time, which clears set-id bits; as
  // does what was written before an ACL had the group execute the file.
  bool is_late = times->was_ever_mapped || (settings.is_kept && side->has_acl);
  char mark = settings.is_cached && is_late ? UNCERTAIN : ' ';
  fprintf(file, " #%d %c%04o%c%lu links, %d:%d", times->order, kinds[status->st_mode >> 12],
          status->st_mode & 07777, mark, (unsigned long)status->st_nlink, (int)status->st_uid,
          (int)status->st_gid);
  if (!S_ISDIR(status->st_mode)) fprintf(file, ", %ld bytes", (long)status->st_size);
  // A hole of tmpfs is none once it was read through a mapping, which moves no time.
  if (settings.has_blocks && !times->was_ever_mapped)
    fprintf(file, ", %ld blocks", (long)status->st_blocks);
  print_times(file, times);
}

static void print_content(FILE *out, int file, const char *what) {
  static char part[1 << 16] __attribute__((aligned(4096)));
  uint64_t sum = 1;
  off_t place = 0;
  ssize_t count;
  while ((count = pread(file, part, sizeof part, place)) > 0) {
    sum = digest(sum, part, (size_t)count);
    place += count;
  }
  if (count < 0) fprintf(out, " %s: %s", what, strerrorname_np(errno));
  else fprintf(out, " %s %ld %016lx", what, (long)place, (unsigned long)sum);
}

static int by_name(const void *one, const void *other) {
  return strcmp(*(char *const *)one, *(char *const *)other);
}

// Names and values of the extended attributes, in order.
static void print_attributes(FILE *file, const char *path) {
  static char names[65536], value[65536];
  char *sorted[NAMES];
  int count = 0;
  ssize_t size = llistxattr(path, names, sizeof names);
  if (size < 0) fprintf(file, " xattrs: %s", strerrorname_np(errno));
  for (ssize_t place = 0; place < size; place += (ssize_t)strlen(names + place) + 1)
    if (count < NAMES) sorted[count++] = names + place;
  qsort(sorted, (size_t)count, sizeof *sorted, by_name);
  for (int index = 0; index < count; index++) {
    ssize_t room = lgetxattr(path, sorted[index], value, sizeof value);
    if (room < 0) fprintf(file, " %s: %s", sorted[index], strerrorname_np(errno));
    else
      fprintf(file, " %s=%ld:%08lx", sorted[index], (long)room,
              (unsigned long)digest(1, value, (size_t)room));
  }
}

struct looking {
  struct side *side;
  FILE *file;
  bool is_thorough;
};

static void look_at_directory(const struct looking *, const char *path, int depth);

static void look_at_path(const struct looking *looking, const char *path, int depth) {
  struct stat status;
  FILE *file = looking->file;
  fprintf(file, "%s:", path);
  if (lstat(path, &status) != 0) {
    fprintf(file, " %s\n", strerrorname_np(errno));
    return;
  }
  print_status(file, looking->side, &status);
  if (S_ISLNK(status.st_mode)) {
    char target[256];
    ssize_t count = readlink(path, target, sizeof target - 1);
    fprintf(file, " -> %.*s", (int)count, target);
  }
  if (looking->is_thorough) print_attributes(file, path);
  if (looking->is_thorough && S_ISREG(status.st_mode)) {
    int open_file = open(path, O_RDONLY | O_NOATIME | O_NOFOLLOW | O_CLOEXEC);
    if (open_file < 0) fprintf(file, " open: %s", strerrorname_np(errno));
    else print_content(file, open_file, "holds"), close(open_file);
  }
  fprintf(file, "\n");
  if (S_ISDIR(status.st_mode) && depth < DEEPEST) look_at_directory(looking, path, depth);
}

static void look_at_directory(const struct looking *looking, const char *path, int depth) {
  char *names[NAMES];
  int count = 0;
  int file = open(path, O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
  DIR *directory = file < 0 ? NULL : fdopendir(file);
  if (!directory) {
    fprintf(looking->file, "%s/: %s\n", path, strerrorname_np(errno));
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(directory)))
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && count < NAMES)
      names[count++] = strdup(entry->d_name);
  closedir(directory);
  qsort(names, (size_t)count, sizeof *names, by_name);
  for (int index = 0; index < count; index++) {
    char below[1024];
    snprintf(below, sizeof below, "%s/%s", path, names[index]);
    look_at_path(looking, below, depth + 1);
    free(names[index]);
  }
}

static void look_at_files(const struct looking *looking) {
  for (int slot = 0; slot < SLOTS; slot++) {
    int open_file = looking->side->files[slot];
    struct stat status;
    if (open_file < 0 || fstat(open_file, &status) != 0) continue;
    int flags = fcntl(open_file, F_GETFL);
    fprintf(looking->file, "descriptor %d:", slot);
    print_status(looking->file, looking->side, &status);
    fprintf(looking->file, ", flags %o", flags & (O_ACCMODE | O_APPEND | O_DIRECT | O_NOATIME));
    bool is_read = (flags & O_ACCMODE) != O_WRONLY && !(flags & (O_DIRECT | O_PATH));
    if (S_ISREG(status.st_mode) && !(flags & O_PATH)) {
      fprintf(looking->file, ", at %ld", (long)lseek(open_file, 0, SEEK_CUR));
      if (is_read && looking->is_thorough) print_content(looking->file, open_file, "reads");
    }
    fprintf(looking->file, "\n");
  }
}

static void look_at_mappings(const struct looking *looking) {
  for (int slot = 0; slot < MAPPINGS; slot++) {
    const struct mapping *mapping = &looking->side->mappings[slot];
    struct stat status;
    if (!mapping->start) continue;
    fprintf(looking->file, "mapping %d: %016lx", slot, (unsigned long)digest_mapping(mapping));
    if (fstat(mapping->file, &status) == 0)
      print_status(looking->file, looking->side, &status);
    fprintf(looking->file, "\n");
  }
}

static void note_mapped(struct times *times) { times->is_mapped = times->was_ever_mapped = true; }

static void begin_look(struct side *side) {
  struct history *history = side->history;
  struct stat status;
  history->met = 0;
  for (int slot = 0; slot < MAPPINGS; slot++)
    if (side->mappings[slot].start && fstat(side->mappings[slot].file, &status) == 0)
      note_mapped(find_inode(history, &status));
  history->met = 0;
  for (int index = 0; index < history->count; index++) history->inodes[index].order = -1;
}

// What was not met is gone, and its number may be used again.
static void end_look(struct side *side) {
  struct history *history = side->history;
  int kept = 0;
  for (int index = 0; index < history->count; index++) {
    struct times times = history->inodes[index];
    if (times.order < 0) continue;
    times.before = times.now;
    times.was_mapped = times.is_mapped;
    times.is_mapped = times.is_fresh = false;
    history->inodes[kept++] = times;
  }
  history->count = kept;
}

void look_at_side(struct side *side, bool is_thorough) {
  if (!side->history) side->history = calloc(1, sizeof *side->history);
  free(side->look);
  struct looking looking = {side, open_memstream(&side->look, &side->look_size), is_thorough};
  become(0);
  if (!looking.file || fchdir(side->root) != 0) stop(__func__);
  begin_look(side);
  look_at_path(&looking, ".", 0);
  look_at_files(&looking);
  if (is_thorough) look_at_mappings(&looking);
  fclose(looking.file);
  end_look(side);
}

// How long the time is that `text` begins with; 0 if it begins with none.
static size_t time_length(const char *text) {
  static const char *const labels[] = {" mtime", " ctime", " atime", " ~times"};
  static const char moved[] = " moved";
  for (int index = 0; index < 4; index++) {
    size_t length = strlen(labels[index]);
    if (strncmp(text, labels[index], length) != 0) continue;
    if (text[length] == '=') return length + strcspn(text + length, " ,\n");
    return length + (strncmp(text + length, moved, strlen(moved)) == 0 ? strlen(moved) : 0);
  }
  return 0;
}

static void drop_times(char *line) {
  char *end = line;
  for (const char *place = line; *place;) {
    size_t length = time_length(place);
    if (length) place += length;
    else *end++ = *place++;
  }
  *end = 0;
}

// Whether they are the same but for set-id bits that either side may have lost or not.
static bool is_same_but_bits(const char *one, const char *other) {
  enum { BITS = 4 };
  size_t length = strlen(one);
  if (strlen(other) != length) return false;
  for (size_t place = 0; place < length; place++) {
    if (one[place] == other[place]) continue;
    bool is_mark = one[place] == UNCERTAIN || other[place] == UNCERTAIN;
    bool is_bit = place + BITS < length && isdigit((unsigned char)one[place]) &&
                  (one[place + BITS] == UNCERTAIN || other[place + BITS] == UNCERTAIN);
    if (!is_mark && !is_bit) return false;
  }
  return true;
}

// Whether two lines of looks say the same, but for what is not certain on either side: on one of
// them an inode may have the number of one that was mapped and is gone.
bool is_same_line(const char *one, size_t one_length, const char *other, size_t other_length) {
  char *lines[] = {strndup(one, one_length), strndup(other, other_length)};
  if (strstr(lines[0], " ~times") || strstr(lines[1], " ~times"))
    for (int index = 0; index < 2; index++) drop_times(lines[index]);
  bool is_same = is_same_but_bits(lines[0], lines[1]);
  for (int index = 0; index < 2; index++) free(lines[index]);
  return is_same;
}

void forget_history(struct side *side) {
  if (side->history) side->history->count = 0;
}
